"""The exponential bounds of Theorem 1 and its corollaries, with a general PL constant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given, measured, sqrt
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

PAPER = "Kawaguchi 2021"


def cite(number: str, equations: str = "") -> Cite:
    return Cite(PAPER, number, equations)


# Then U and D are constant numbers and the loss is a parabola in B.
ONE_FEATURE = "m = 1 and the square loss"


def has_one_feature(p: Problem) -> bool:
    return p.model.m == 1 and p.loss == "square" and math.isinf(p.model.outer.R)


class ExponentialBounds(Statement):
    """gap(T) <= gap(0) exp(-2 kappa lambda_T T) for every T such that the ball is not left until
    then; subclasses give kappa."""

    models = ("delm",)
    until_broken = True
    tracks: ClassVar[tuple[str, ...]] = ("lambda_min_D", "norm1.B", "norm1.Z", "norm.Q")
    infima = ("lambda_min_D",)

    positive = Check("kappa is positive", "kappa > 0", "Definition 1")
    weights_in_ball = Check("B stays in its ball", "norm1_B < (1-gamma)*R", "Theorem 1")
    map_in_ball = Check("Z stays in the ball", "norm1_Z < R", "A.1.7")
    floor = Check("lambda_T above its floor", "lambda_T >= 1/(m*(1+gamma)^2)", "(33)")
    independent = Check(
        "bound for any initialisation",
        "gap/gap_0 <= exp(-2*kappa*t/(m*(1+gamma)^2))",
        "(7) with (33)",
        decays=True,
    )
    dependent = Check(
        "bound with lambda_T", "gap/gap_0 <= exp(-2*kappa*lambda_T*t)", "(7)", decays=True
    )
    integrated = Check(
        "bound with the integral of lambda_min(D)",
        "gap/gap_0 <= exp(-2*kappa*integral)",
        "(7), integrated",
        decays=True,
    )
    at_rest = Check("the loss stays at its infimum", "gap <= gap_0", "(7)")

    def gap(self, p: Problem, run: Trajectory) -> Measured:
        """Of the loss above the infimum that the statement speaks of: L*_{0,R}, over the ball."""
        return run.gap

    def first_gap(self, p: Problem) -> Measured:
        return p.start.gap

    def kappa(self, p: Problem) -> Measured:
        return p.model.outer.pl.kappa

    def reason(self, p: Problem) -> str:
        """Where kappa is from."""
        return p.model.outer.pl.reason

    def notes(self, p: Problem) -> Iterable[str]:
        yield f"kappa: {self.reason(p)}"
        kappa = self.kappa(p)
        if kappa.exact and kappa.value == 0:
            yield "kappa = 0: the bound does not fall"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.positive(kappa=self.kappa(p))

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        """Printed: ||B_t||_1 < (1 - gamma) R; the proof needs only ||Z_t||_1 < R."""
        R = p.model.outer.R
        if math.isinf(R):
            return
        B, Z = run.series["norm1.B"], run.series["norm1.Z"]
        if self.printed:
            yield self.weights_in_ball.sampled(B.k, B.t, norm1_B=B.value, gamma=p.model.gamma, R=R)
        else:
            yield self.map_in_ball.sampled(Z.k, Z.t, norm1_Z=Z.value, R=R)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        kappa, start = self.kappa(p), p.start
        rate = 2 * kappa * start.lambda_independent
        if rate.exact and rate.value == 0:
            return {"kappa": kappa, "rate_independent": rate}
        # Path length <= sqrt(2 gap/(kappa lambda)), so B never leaves the ball of this radius.
        path = sqrt(2 * self.first_gap(p) / (kappa * start.lambda_independent))
        sufficient = (start.measure("norm1.B") + sqrt(p.model.my) * path) / (
            1 - given(p.model.gamma)
        )
        return {
            "kappa": kappa,
            "rate_independent": rate,
            "time_to_1e-6": measured(math.log(1e6), 1e-14) / rate,
            "radius_sufficient": sufficient,
        }

    def guaranteed_rate(self, p: Problem) -> Measured | None:
        return self.quantities(p)["rate_independent"]

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        infimum = run.series["lambda_min_D"].infimum_until(run.t)
        model = {"m": p.model.m, "gamma": given(p.model.gamma)}
        yield self.floor(lambda_T=infimum[-1], **model)
        gap = self.gap(p, run)
        if _rests(gap):
            # 0/0 is no number: the flow starts at the infimum and stays there.
            yield self.at_rest.along(run, gap=gap, gap_0=gap[0])
            return
        common = self._common(p, run)
        yield self.independent.along(run, **common, **model)
        bound = self.dependent.along(run, **common, lambda_T=infimum)
        yield bound.known_equal(ONE_FEATURE) if has_one_feature(p) and p.step == 0 else bound

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim | Curve]:
        """The proof gives the integral of lambda_min(D_t) before it takes the infimum; the theorem
        does not state it."""
        if run is None or len(run.k) < 2 or _rests(self.gap(p, run)):
            return
        integral = run.series["lambda_min_D"].integral_until(run.t)
        yield self.integrated.along(run, **self._common(p, run), integral=integral)

    def _common(self, p: Problem, run: Trajectory) -> dict[str, Measured]:
        gap = self.gap(p, run)
        return {"gap": gap, "gap_0": gap[0], "kappa": self._kappa_along(p, run)}

    def _kappa_along(self, p: Problem, run: Trajectory) -> Measured:
        """Where no constant is proven: the smallest |grad L0|^2/(2 gap) seen on the way."""
        kappa = self.kappa(p)
        if np.isfinite(kappa.error):
            return kappa
        slope = run.series["norm.Q"]
        # A quantity is sampled between the recorded times as well, the gap is not.
        _, ours, theirs = np.intersect1d(slope.t, run.t, return_indices=True)
        seen = slope.value[ours] ** 2 / (2 * run.gap[theirs])
        return seen[int(np.argmin(seen.value))]


def _rests(gap: Measured) -> bool:
    """Whether the run starts at the infimum, exactly."""
    return gap[0].exact and float(gap[0].value) == 0
