"""Section 5.1: the scaled initialisation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, maximum, sqrt
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.constants import NAMES, Chosen, Program
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.thm4_4 import DescentConditions


class ScaledStart(DescentConditions):
    """With b = 0, a nonnegative A, |A| = |W|, gamma = 1/(2 (|W| + 1)) and C1 = C2 = C3 = 1, the
    conditions (24)-(26) on a1 = sigma_N(Phi) imply those of Theorem 4.4. They hold after W and A
    have been multiplied by a large enough beta, if gamma follows; with gamma fixed they need not,
    since gamma (beta |A| + 1) < 1 must stay true.
    """

    id = "gao2022/sec5.1"
    title = "The scaled initialisation meets Theorem 4.4"
    cite = cite("Section 5.1", "(24)-(26)")
    dynamics = (STATIC,)
    constants = {}
    searches = ()

    b_zero = Check("b = 0", "norm_b == 0", "Section 5.1")
    nonnegative = Check("no entry of A is negative", "smallest_A >= 0", "Section 5.1")
    same_norm = Check("|A| = |W|", "norm_A == norm_W", "Section 5.1")
    gamma_rule = Check("gamma = 1/(2 lambda2)", "gamma == 1/(2*(norm_W+1))", "Section 5.1")
    features = Check("Phi has full row rank", "a1 > 0", "Section 5.1")
    scale_24 = Check("beta against the labels", "4/9*a1^2 >= 16*(norm_W+1)*X_fro*norm_y", "(24)")
    scale_25 = Check("beta against the drift", "(2*a1/3)^3 >= 128*X_fro^2*norm_y", "(25)")
    scale_26 = Check("beta against one step", "(2*a1/3)^2 >= 128*X_fro^2", "(26)")
    regular = Check("alpha0 from Phi", "alpha0 >= 2*a1/3", "Lemma 5.1")

    def choose(self, p: Problem, program: Program) -> Chosen:
        C = dict.fromkeys(NAMES, 1.0)
        return Chosen(C, max(program.log_ratios(self.conditions(), C)))

    def values(self, p: Problem) -> dict[str, Any]:
        s = p.start
        return {
            **super().values(p),
            "a1": s.sigma_min_Phi,
            "norm_y": errors.frobenius(p.model.y),
            "smallest_A": float(s.A.min()),
        }

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        values = self.values(p)
        for check in (self.b_zero, self.nonnegative, self.same_norm, self.gamma_rule):
            yield check(**values)
        yield self.features(**values)
        note = f"W and A times {self.smallest_scale(p).value:.6g} would do, if gamma follows"
        yield self.scale_24(note, **values)
        yield self.scale_25(**values)
        yield self.scale_26(**values)

    def smallest_scale(self, p: Problem) -> Measured:
        """The smallest factor on W and A for (24)-(26): (24) is a quadratic in it."""
        v = self.values(p)
        a, K, w = 2 * v["a1"] / 3, 16 * v["X_fro"] * v["norm_y"], v["norm_W"]
        quadratic = (K * w + sqrt((K * w) ** 2 + 4 * a**2 * K)) / (2 * a**2)
        cubic = (128 * v["X_fro"] ** 2 * v["norm_y"]) ** (1 / 3) / a
        return maximum(quadratic, cubic, sqrt(128) * v["X_fro"] / a)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {
            **super().quantities(p),
            "smallest_scale": self.smallest_scale(p),
            "largest_step": self.largest_step(p),
        }

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        values = self.values(p)
        for check in (self.well_posed, self.regular, self.first, self.second, self.third):
            yield check(**values)
