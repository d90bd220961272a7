"""Corollary 2: the logistic loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from deqcheck.models.delm.model import DelmModel
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.setting import Problem

if TYPE_CHECKING:
    from deqcheck.losses.logistic import LinearLogistic


def logistic(model: DelmModel) -> LinearLogistic:
    """The outer loss of a model with the logistic loss."""
    return cast("LinearLogistic", model.outer)


class Corollary2(ExponentialBounds):
    """For the logistic loss with quadratic term tau and features of rank m, Theorem 1 holds with
    kappa = (2 tau + rho(R)) sigma_min(Phi)^2, rho(R) the infimum of p (1 - p) over the ball. With
    R infinite and tau = 0 kappa is 0, and all it says is that the loss does not rise (A.4). The
    corrected edition needs no rank and weighs every sample by its own infimum:
    kappa = lambda_min(sum_i (2 tau + rho_i(R)) phi_i phi_i^T) on the range of Phi.
    """

    id = "kawaguchi2021/cor2"
    title = "Linear rate of the flow for the logistic loss"
    cite = cite("Corollary 2", "Section 3.1.3")
    losses = ("logistic",)
    dynamics = (FLOW,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Sound until the ball is left, but Appendix C's claim that some finite R always serves is "
        "false for separable labels: there ||B_t|| grows without bound and every ball is left "
        "(Phi = [[1,2,-1],[0,1,-1]], y = (1,1,0), A = B = 0, gamma = 1/2, R = 1: at t = 0.28). The "
        "last bound of A.4 on v^T Hess v lacks the factor |v|^2."
    )
    uses = ("kawaguchi2021/thm1", "kawaguchi2021/def1", "kawaguchi2021/convexity")

    full_rank = Check("Phi has rank m", "rank_Phi >= m", "Corollary 2")

    def kappa(self, p: Problem) -> Measured:
        """The proof works as well with the curvature of each sample by itself."""
        outer = logistic(p.model)
        if not self.printed:
            return outer.pl.kappa
        return (2 * outer.tau + outer.rho_R) * outer.factored.last**2

    def reason(self, p: Problem) -> str:
        return "(2 tau + rho(R)) sigma_min(Phi)^2" if self.printed else super().reason(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.printed:
            yield self.full_rank(rank_Phi=p.model.outer.factored.measured_rank, m=p.model.m)
