"""Theorem 1: linear rate of the gradient flow for any loss with a PL inequality."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import FLOW, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite


class Theorem1(ExponentialBounds):
    """Along the gradient flow of a deep equilibrium linear model whose outer loss L0 satisfies
    |grad L0|^2/2 >= kappa (L0 - L0*), the loss falls to its infimum at least like
    exp(-2 kappa lambda_T T), where lambda_T is the infimum of lambda_min(D_t) until T.
    """

    id = "kawaguchi2021/thm1"
    title = "Linear rate of the flow for a loss with a PL inequality"
    cite = cite("Theorem 1", "(6)-(8)")
    dynamics = (FLOW,)
    constants = {"kappa": "PL constant of the outer loss; default: the best one that is proven"}

    positive = Check("kappa is positive", "kappa > 0", "(6)")
    polyak = Check("PL inequality of the outer loss", "kappa <= kappa_best", "(6)")

    def kappa(self, p: Problem) -> Measured:
        if "kappa" in self.fixed:
            return measured(self.fixed["kappa"])
        return p.model.outer.pl.kappa

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        best = p.model.outer.pl.kappa
        yield self.positive(kappa=self.kappa(p))
        if "kappa" in self.fixed:
            yield self.polyak(kappa=self.kappa(p), kappa_best=best)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        return self.bound_curves(p, run)
