"""Theorem 3.3.5: linear rate of gradient descent, as printed and repaired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, chosen, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check, Constant
from deqcheck.theorems.hieu2022.common import Training, cite, consecutive
from deqcheck.theorems.hieu2022.radii import RADII, Within, WithRadii, row
from deqcheck.theorems.hieu2022.setting import Problem

SMALL_STEP_KAPPA, KAPPA = 20.0, 10.0


class RoomForParameters(WithRadii):
    """The rows (3.16)."""

    room_for_symmetric = row("room for A", "16*X*r0*lU*lu*lA/(m^2*R_A)", "(3.16)")
    room_for_skew = row("room for B", "16*X*r0*lU*lu/(m^2*R_B)", "(3.16)")
    room_for_inputs = row("room for U", "8*X*r0*lu/(m*R_U)", "(3.16)")
    room_for_outputs = row("room for u", "8*X*r0*lU/(m*R_u)", "(3.16)")

    def rows(self) -> Sequence[Check]:
        return (self.room_for_symmetric, self.room_for_inputs, self.room_for_outputs)


class Condition2(RoomForParameters):
    """The rows (3.16) to (3.18), in both editions."""

    constants = {
        **RADII,
        "kappa": Constant(
            "margin of (3.18): 10 (default) is repair B, 20 or more is repair A with its smaller "
            "step",
            above=0,
        ),
    }

    room_for_features_printed = row(
        "room for Z", "8*X^2*r0*lu*(1 + 6*lU^2*lA^2 + 4*lU^2)", "(3.17)", 3
    )
    room_for_features = row(
        "room for Z", "16*X^2*r0*lu/m^2*(1 + 4*lU^2*(lA^2+1)/m^2)", "(3.17), repaired", 3
    )
    room_for_rest_printed = row(
        "room for the rest",
        "20*X^2*(lu^2 + 4*lu^2*lU^2*lA^2 + 4*lu^2*lU^2 + lU^2)",
        "(3.18)",
    )
    room_for_rest = row(
        "room for the rest",
        "kappa*X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4)",
        "(3.18), repaired",
    )
    proven = Check("a repair with a proof", "kappa >= 10", "(3.18), repaired")

    @property
    def kappa(self) -> float:
        return float(self.fixed.get("kappa", KAPPA))

    def extras(self) -> dict[str, float]:
        return {"kappa": self.kappa}

    def values(self, p: Problem) -> dict[str, Any]:
        return {**super().values(p), "kappa": chosen(self.kappa)}

    def rows(self) -> Sequence[Check]:
        last = (self.room_for_features_printed, self.room_for_rest_printed)
        repaired = (self.room_for_features, self.room_for_rest)
        return (*super().rows(), *(last if self.printed else repaired))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if not self.printed:
            yield self.proven(kappa=chosen(self.kappa))


class DescentCondition(Condition2):
    """Condition 2 with the bound on the step.

    Repair A is the thesis' own expansion with the lost powers of m restored; repair B splits
    e(k+1) = (I - step Z^T Z) e(k) + (Z(k+1) - Z(k))^T u(k+1) and allows far larger steps.
    """

    step_printed = Check(
        "step size",
        "step <= min(4/lambda0^2, 1/(X^2*(lu^2 + 4*lU^2*lu^2 + 4*lU^2*lu^2*lA^2 + lU^2)), "
        "1/(2*X*lambda0*lU*lu*lA), 1/(6*lambda0^2*lu^2*lA^2))",
        "Theorem 3.3.5",
    )
    small_step = Check(
        "step size",
        "step <= lambda0^2/(8*(X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4 + lU^2/m^2))^2)",
        "repair A",
    )
    large_step = Check("step size", "step <= m^2/(X^2*lU^2)", "repair B")

    @property
    def step_check(self) -> Check:
        if self.printed:
            return self.step_printed
        return self.small_step if self.kappa >= SMALL_STEP_KAPPA else self.large_step

    def step_rows(self) -> Sequence[Check]:
        return (self.step_check,)

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.step_check(**self.values(p))

    def admissible_step(self, p: Problem) -> Measured:
        return self.step_check.formula.sides({**self.values(p), "step": given(0)})[1]


class Theorem335(DescentCondition, Within, Training):
    """Gradient descent from independent features (n >= N, lambda0 = sigma_min(Z(0)) > 0) that
    satisfies Condition 2 for some radii multiplies the loss by at most 1 - step lambda0^2/4 in
    every step, sigma_min(Z) stays above lambda0/2, and every parameter stays within its radius.

    lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u; X = |X|_F, r0 = |yhat(0) - y|.
    """

    id = "hieu2022/thm3.3.5"
    title = "Linear rate of gradient descent under Condition 2"
    cite = cite("Theorem 3.3.5", "(3.16)-(3.18)")
    uses = ("hieu2022/condition2", "hieu2022/prop5", "hieu2022/lem3.3.4", "hieu2022/chain")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "lambda0^2 <= |X|^2 |U|^2/(m^2 N), so (3.18) cannot hold when 20 N m^2 >= 1: the printed "
        "theorem is vacuous there. Otherwise it is false: n = N = d = 1, m = 0.1, A = B = 0, "
        "U = 1, u = 0, x = 1, y = 0.05, all radii 0.1 and step 0.03 satisfy every condition, and "
        "L(1)/L(0) = 4 where at most 0.25 is claimed. The powers of m that the proof lost are "
        "restored, and (3.17) needs 16 in place of 8. Of the four entries of the printed bound on "
        "the step the third is never the smallest. In the proof eta^2 [C_11 - ...] must be "
        "2 eta [...], and the sketch's lambda_0/4 is lambda_0^2/4."
    )

    kept = Check("the features stay independent", "sigma >= lambda0/2", "Proposition 6")
    contraction = Check(
        "each step contracts the loss",
        "gap_next/gap <= 1 - step*lambda0^2/4",
        "Theorem 3.3.5",
        contracts=True,
    )
    rate = Check(
        "loss below its geometric bound",
        "gap/gap_0 <= (1 - step*lambda0^2/4)^k",
        "Theorem 3.3.5",
        decays=True,
    )

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {
            **super().quantities(p),
            "largest_step": self.admissible_step(p),
            "factor": 1 - given(p.step) * p.start.sigma_min_Z**2 / 4,
        }

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        common = {"step": p.step, "lambda0": p.start.sigma_min_Z}
        yield self.decay(self.rate, run, **common)
        if run.gap.value[0] > 0:
            pairs = consecutive(p, run)
            yield self.contraction.sampled(run.k[:-1], run.t[:-1], **pairs, **common)
        yield self.features(p, run)
        yield from self.within(p, run)
