"""Theorem 1: linear rate of the gradient flow for any loss with a PL inequality."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check, Constant
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.constant import best
from deqcheck.theorems.kawaguchi2021.setting import Problem


class Theorem1(ExponentialBounds):
    """Along the gradient flow of a deep equilibrium linear model whose outer loss L0 satisfies
    |grad L0|^2/2 >= kappa (L0 - L*_{0,R}) on ||W||_1 < R, and for every T such that
    ||B_t||_1 < (1 - gamma) R on [0, T], the loss falls to its infimum at least like
    exp(-2 kappa lambda_T T), where lambda_T >= 1/(m (1 + gamma)^2) is the infimum of
    lambda_min(D_t) until T. The corrected edition asks only for ||Z_t||_1 < R.

    Without a constant of the case kappa is the best one that is proven. A larger one may serve: it
    is excluded where some W of the ball breaks the inequality, and left open otherwise.
    """

    id = "kawaguchi2021/thm1"
    title = "Linear rate of the flow for a loss with a PL inequality"
    cite = cite("Theorem 1", "(6)-(8), Definition 1")
    dynamics = (FLOW,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Sound where the flow exists: for that the loss must have a continuous derivative, the "
        "text asks for a derivative only. The proof uses only ||Z_t||_1 < R, which "
        "||B_t||_1 < (1 - gamma) R implies and which often holds for a far smaller R."
    )
    uses = ("kawaguchi2021/def1", "kawaguchi2021/infima", "kawaguchi2021/norms", "kawaguchi2021/D")
    constants = {
        "kappa": Constant(
            "PL constant of the outer loss; default: the best one that is proven",
            for_all=True,
            above=0,
        )
    }

    polyak = Check("PL inequality of the outer loss", "kappa <= kappa_best", "Definition 1")

    def kappa(self, p: Problem) -> Measured:
        return measured(self.fixed["kappa"]) if "kappa" in self.fixed else super().kappa(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if "kappa" in self.fixed:
            kappa = self.kappa(p)
            note, largest = best(p, kappa)
            yield self.polyak(note, kappa=kappa, kappa_best=largest)

    def reason(self, p: Problem) -> str:
        return "of the case" if "kappa" in self.fixed else super().reason(p)
