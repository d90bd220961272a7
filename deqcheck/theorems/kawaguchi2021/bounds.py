"""The three exponential bounds of Theorem 1 and its corollaries, with a general PL constant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check, Cite, Statement

PAPER = "Kawaguchi 2021"


def cite(number: str, equations: str = "") -> Cite:
    return Cite(PAPER, number, equations)


class ExponentialBounds(Statement):
    """gap(T) <= gap(0) exp(-2 kappa lambda_T T), in three strengths; subclasses give kappa."""

    models = ("delm",)
    tracks: ClassVar[tuple[str, ...]] = ("lambda_min_D",)
    infima = ("lambda_min_D",)

    floor = Check("lambda_T above its floor", "lambda_T >= 1/(m*(1+gamma)^2)", "(33)")
    independent = Check(
        "bound for any initialisation",
        "gap/gap_0 <= exp(-2*kappa*t/(m*(1+gamma)^2))",
        "(7)",
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

    def kappa(self, p: Problem) -> Measured:
        raise NotImplementedError

    def quantities(self, p: Problem) -> dict[str, Measured]:
        rate = 2 * self.kappa(p) * p.start.lambda_independent
        return {
            "kappa": self.kappa(p),
            "rate_independent": rate,
            "time_to_1e-6": 13.815510557964274 / rate,
        }

    def bound_curves(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        kappa, series = self.kappa(p), run.series["lambda_min_D"]
        common = {"gap": run.gap, "gap_0": run.gap[0], "kappa": kappa}
        model = {"m": p.model.m, "gamma": p.model.gamma}
        infimum = series.infimum_until(run.t)
        yield self.floor(lambda_T=infimum[-1], **model)
        yield self.independent.along(run, **common, **model)
        yield self.dependent.along(run, **common, lambda_T=infimum)
        yield self.integrated.along(run, **common, integral=series.integral_until(run.t))
