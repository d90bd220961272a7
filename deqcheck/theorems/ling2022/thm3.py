"""Theorem 3: the limit of the population kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.records.tower import Again
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.assumptions import BELOW, assumption_2, distinct
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.exact_kernel import off_diagonal
from deqcheck.theorems.ling2022.kernel import PopulationKernel, population_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement, without_sigma

LAYERS = 20
# The differences K - K^(l) are judged while they are this much larger than their radius.
RESOLVED = 1e7


class Theorem3(Statement):
    """Under Assumptions 1 and 2, K^(l) converges, |K - K^(l)|_F = O(n sqrt(l) sigma_w^l), and
    lambda_min(K) > 0. Of Assumption 1 only sigma_w^2 < 1/8 concerns K. The order is judged with the
    constant 2, which is always enough by the corrected edition: explicit and sharp, for any
    sigma_w^2 in (0, 1), 0 <= K_ij - K^(l)_ij <= sigma_w^(2l)/(1 - sigma_w^2) with equality on the
    diagonal, because d(p Q(c/p)) = (sin th/pi) dp + Q'(cos th) dc with weights that add up to at
    most 1; and lambda_min(K) > 0 if no two samples agree: opposite ones do no harm.
    """

    id = "ling2022/thm3"
    uses = ("ling2022/lem3", "ling2022/thm3-steps")
    title = "Limit of the population kernel and its smallest eigenvalue"
    cite = cite("Theorem 3", "(14)")
    models = MODELS
    dynamics = (STATIC,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed rate is valid and loose by a square: the difference falls like sigma_w^(2l), "
        "between sqrt(n) sigma_w^(2l)/(1 - sigma_w^2) and n sigma_w^(2l)/(1 - sigma_w^2)."
    )

    positive = Check("sigma_w is positive", "sigma_w2 > 0", "strict bounds")
    # Squared: the root of sigma_w^2 = 0 would be rounded.
    loose = Check("distance from the limit", "distance^2 <= (2*n)^2*l*sigma_w2^l", "(i), squared")
    diagonal = Check("on the diagonal", "difference == sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    below = Check("off the diagonal", "largest < sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    rising = Check("the kernel rises", "smallest > 0", "(i), sharp")
    upper = Check("distance from the limit", "distance < n*sigma_w2^l/(1 - sigma_w2)", "(i), sharp")
    lower = Check(
        "distance from the limit, below", "distance > sqrt(n)*sigma_w2^l/(1 - sigma_w2)", "(i)"
    )
    definite = Check("the limit is positive definite", "lambda_star > 0", "(ii)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s2 = p.model.sigma_w2
        if s2 is not None:
            yield (BELOW if self.printed else self.positive)(sigma_w2=given(s2))
        yield from assumption_2(p) if self.printed else distinct(p)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        kernel = population_kernel(p.model)
        if kernel is None or (kernel.s2 == 0 and not self.printed):
            return
        rows = list(_rows(kernel))
        if self.printed:
            checks = [self.loose]
        elif kernel.n == 1:
            checks = [self.diagonal]
        else:
            checks = [self.diagonal, self.below, self.rising, self.upper, self.lower]
        for check in checks:
            yield _tightest(check(f"tightest at l = {row['l']}", **row) for row in rows)
        yield self.definite(lambda_star=kernel.lambda_star)


def _rows(kernel: PopulationKernel) -> Iterable[dict[str, Any]]:
    """What there is to say about K - K^(l) while it has digits left; l = 1 in any case."""
    # Without memory every layer is the limit: the same numbers.
    radius = 2 * kernel.entry_radius if kernel.s2 else 0.0
    off = ~np.eye(kernel.n, dtype=bool)
    for layer, K in enumerate(kernel.layers(LAYERS)):
        if layer == 1 or (layer > 1 and kernel.s2**layer > RESOLVED * radius):
            D = kernel.K - K if kernel.s2 else np.zeros_like(K)
            again = kernel.again
            node = exact.minus(again.K, again.layer(layer)) if kernel.s2 else exact.array(D)
            largest, smallest = (
                Again(edge, Again(off_diagonal, node)) for edge in (exact.largest, exact.smallest)
            )
            yield {
                "l": layer,
                "n": kernel.n,
                "sigma_w2": given(kernel.s2),
                "difference": Measured(D[0, 0], radius, again=exact.entry(node, 0)),
                "largest": Measured(D[off].max(initial=-np.inf), radius, again=largest),
                "smallest": Measured(D[off].min(initial=np.inf), radius, again=smallest),
                "distance": errors.frobenius(D, kernel.n * radius, node),
            }


def _tightest(claims: Iterable[Claim]) -> Claim:
    """The one with the least room between its sides, relative to the larger one."""

    def room(c: Claim) -> float:
        size = max(abs(c.left.value), abs(c.right.value)) or 1.0
        apart = (c.right.value - c.left.value) / size
        return float(
            -abs(apart) if c.relation == "==" else apart if c.relation[0] == "<" else -apart
        )

    return min(claims, key=room)
