"""Theorem 1: linear rate of the gradient flow for any loss with a PL inequality."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.setting import Problem


class Theorem1(ExponentialBounds):
    """Along the gradient flow of a deep equilibrium linear model whose outer loss L0 satisfies
    |grad L0|^2/2 >= kappa (L0 - L0*) on ||W||_1 < R, and while ||B_t||_1 < (1 - gamma) R, the loss
    falls to its infimum at least like exp(-2 kappa lambda_T T), where lambda_T is the infimum of
    lambda_min(D_t) until T. The corrected edition asks only for ||Z_t||_1 < R.
    """

    id = "kawaguchi2021/thm1"
    title = "Linear rate of the flow for a loss with a PL inequality"
    cite = cite("Theorem 1", "(6)-(8)")
    dynamics = (FLOW,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Sound. The proof uses only ||Z_t||_1 < R, which ||B_t||_1 < (1 - gamma) R implies and "
        "which often holds for a far smaller R."
    )
    constants = {"kappa": "PL constant of the outer loss; default: the best one that is proven"}

    polyak = Check("PL inequality of the outer loss", "kappa <= kappa_best", "(6)")

    def kappa(self, p: Problem) -> Measured:
        return measured(self.fixed["kappa"]) if "kappa" in self.fixed else super().kappa(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if "kappa" in self.fixed:
            yield self.polyak(kappa=self.kappa(p), kappa_best=p.model.outer.pl.kappa)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        return self.bound_curves(p, run)
