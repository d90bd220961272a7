"""Conditions 1 and 2 of the thesis: whether there are radii for which every row holds."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.records.measured import chosen
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC
from deqcheck.theorems.hieu2022.common import cite
from deqcheck.theorems.hieu2022.radii import WithRadii
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.thm331 import Condition1
from deqcheck.theorems.hieu2022.thm335 import Condition2


class Met(WithRadii):
    """The rows alone, with the radii of the case or else the best ones: every right side is a
    posynomial in the radii, so the smallest possible worst ratio decides whether any will do."""

    dynamics = (STATIC,)
    searches = ()

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return ()

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from self.row_claims(p)


class ConditionOne(Met, Condition1):
    """Condition 1 on the start: there are radii R_A, R_B, R_U, R_u > 0 with the rows (3.8) and
    (3.9), where lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u and
    lambda0 = sigma_min(Z(0)), which is 0 for fewer units than samples.

    It is met for u(0) = 0, lambda0 > 0 and small enough labels: with R_A = max(|A|, 1),
    R_U = |U| and R_u proportional to the labels the row of R_u is an equality, and the right sides
    of all others fall like the square of the labels. `bounds --search` on Theorem 3.3.1 finds how
    small.
    """

    id = "hieu2022/condition1"
    title = "Room for every parameter"
    cite = cite("Condition 1", "(3.8), (3.9)")
    condition_in = (CORRECTED,)


class ConditionTwo(Met, Condition2):
    """Condition 2 on the start: there are radii R_A, R_B, R_U, R_u > 0 with the rows (3.16) to
    (3.18), as printed or in the repaired form that Theorem 3.3.5 needs, where
    lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u and lambda0 = sigma_min(Z(0)), which is
    0 for fewer units than samples. The repaired form is met for u(0) = 0, lambda0 > 0 and small
    enough labels.
    """

    id = "hieu2022/condition2"
    title = "Room for every parameter, and small sensitivities"
    cite = cite("Condition 2", "(3.16)-(3.18)")
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    condition_in = (PRINTED, CORRECTED)
    erratum = (
        "lambda0^2 <= |Z|^2/N <= |X|^2 |U|^2/(m^2 N), while (3.18) asks for lambda0^2 >= "
        "20 |X|^2 lU^2 with lU > |U|: no instance with 20 N m^2 >= 1 satisfies it, and with the "
        "lost power of m restored none does for any m."
    )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from super().claims(p, state)
        if not self.printed:
            yield self.proven(kappa=chosen(self.kappa))
