"""The last display of Section 3.3.3: all bounds together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, chosen
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.hieu2022.common import cite, consecutive
from deqcheck.theorems.hieu2022.onestep import C11, C12, FROM_Z, WHOLE
from deqcheck.theorems.hieu2022.setting import Problem
from deqcheck.theorems.hieu2022.thm335 import SMALL_STEP_KAPPA, DescentCondition

# What is added to 1 in each line, with the powers of m that are lost.
LINES = (
    f"(step^2*{C11}^2 + 2*step^3*lambda0^2*{C11}*{C12} + step^4*lambda0^2*{C12}^2"
    f" + 2*step*({C11} - lU^2*X^2) + 2*step^2*lambda0^2*{C12} - step*lambda0^2/2)",
    f"(5*step*{C11} - 2*step*lU^2*X^2 + 3*step^2*lambda0^2*{C12} - step*lambda0^2/2)",
    f"(5*step*{C11} - step*lambda0^2/2)",
)
WITH_M = f"((step*{WHOLE})^2 + 2*step*{FROM_Z} - step*lambda0^2/2)"


class AllBounds(DescentCondition):
    """Under Condition 2 and its bound on the step, by Lemmas 3.3.8 to 3.3.10,
    L(k+1)/L(k) <= 1 + step^2 C11^2 + 2 step^3 lambda0^2 C11 C12 + step^4 lambda0^2 C12^2
    + 2 step (C11 - lU^2 |X|^2) + 2 step^2 lambda0^2 C12 - step lambda0^2/2
    <= 1 + 5 step C11 - 2 step lU^2 |X|^2 + 3 step^2 lambda0^2 C12 - step lambda0^2/2
    <= 1 + 5 step C11 - step lambda0^2/2 <= 1 - step lambda0^2/4.
    As printed the second and the later inequalities follow from the conditions; the first rests on
    two lemmas that have lost their powers of m.

    Corrected, in the same order: L(k+1)/L(k) <= 1 + (step C)^2 + 2 step C' - step lambda0^2/2 with
    C' = |X|^2 (lu^2/m^2 + 4 lu^2 lU^2 (1 + lA^2)/m^4), C = C' + |X|^2 lU^2/m^2, under
    lambda0^2 >= 20 C' and step <= lambda0^2/(8 C^2) (repair A of Theorem 3.3.5): the second term
    is at most step lambda0^2/8 and the third step lambda0^2/10, together below
    step lambda0^2/4.
    """

    id = "hieu2022/chain"
    title = "All bounds on one step together"
    cite = cite("end of Section 3.3.3")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    searches = ()
    uses = ("hieu2022/condition2", "hieu2022/lem3.3.8-3.3.10", "hieu2022/prop5")
    erratum = (
        "The first inequality fails for small m: n = N = d = 1, m = 0.1, A = B = 0, U = x = 1, "
        "u = 0, y = 0.05, radii 0.1 and step 0.03 satisfy every condition, and L(1)/L(0) = 4, "
        "where it claims -0.49. Of the line before it eta^2 [C_11 - lU^2 + ...] must be "
        "2 eta [C_11 - lU^2 |X|^2 + ...]; eta^4 lambda_0^2 C_12^2 must be eta^4 lambda_0^4 C_12^2."
    )

    first_printed = Check("by the three lemmas", f"gap_next/gap <= 1 + {LINES[0]}", "third line")
    second_printed = Check("by the step", f"{LINES[0]} <= {LINES[1]}", "fourth line")
    third_printed = Check("by the step again", f"{LINES[1]} <= {LINES[2]}", "fifth line")
    fourth_printed = Check("by Condition 2", f"{LINES[2]} <= -(step*lambda0^2/4)", "(3.18)")
    first = Check("by the three lemmas, corrected", f"gap_next/gap <= 1 + {WITH_M}", "third line")
    second = Check("by Condition 2 and the step", f"{WITH_M} <= -(step*lambda0^2/4)", "last line")

    repaired = Check("margin of repair A", "kappa >= 20", "(3.18), repaired")

    @property
    def kappa(self) -> float:
        return float(self.fixed.get("kappa", SMALL_STEP_KAPPA))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if not self.printed:
            yield self.repaired(kappa=chosen(self.kappa))

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        values: dict[str, Any] = self.values(p)
        check = self.first_printed if self.printed else self.first
        if run.gap.value[0] > 0:
            pairs = consecutive(p, run)
            yield check.sampled(run.k[:-1], run.t[:-1], **pairs, **values)
        printed = (self.second_printed, self.third_printed, self.fourth_printed)
        for rest in printed if self.printed else (self.second,):
            yield rest(**values)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {**super().quantities(p), "largest_step": self.admissible_step(p)}
