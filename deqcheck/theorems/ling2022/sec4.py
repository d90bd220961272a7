"""Section 4: the model without memory."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.theorems.base import CORRECTED, STATIC, Check
from deqcheck.theorems.ling2022.common import cite
from deqcheck.theorems.ling2022.setting import Problem
from deqcheck.theorems.ling2022.thm2 import SmallestEigenvalue


class SimpleCase(SmallestEigenvalue):
    """sigma_w = 0, where the equilibrium is the one layer relu(U X): lambda_0 >= m lambda/2 with
    probability at least 1 - t, lambda = lambda_min(K^(1)), for widths m of the order (n/lambda)^2
    log(n/t), under Assumptions 1 and 2. Without layers to come no net is needed, and the logarithm
    has no lambda in it: Bernstein's inequality for each entry of G/m with error lambda/(2 n) and a
    union bound over the n^2 entries. The constant of the order is C, which the paper does not give;
    for t <= 1/2 the default is enough.
    """

    id = "ling2022/sec4"
    title = "Smallest eigenvalue of the Gram matrix without memory"
    cite = cite("Section 4, simple case")
    dynamics = (STATIC,)
    editions = (CORRECTED,)
    uses = ("ling2022/thm5-fixed",)

    memoryless = Check("sigma_w is 0", "sigma_w2 == 0", "section 4")
    wide = Check("width", "m >= C*(n/lambda_star)^2*log(n/risk)", "section 4")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if p.model.sigma_w2 is not None:
            yield self.memoryless(sigma_w2=p.model.sigma_w2)
        yield from self.width_hypotheses(p)
