"""Corollary 1: the square loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from deqcheck.models.delm.model import DelmModel
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.kawaguchi2021.bounds import ExponentialBounds, cite
from deqcheck.theorems.kawaguchi2021.setting import Problem

if TYPE_CHECKING:
    from deqcheck.losses.square import LinearSquare


class Corollary1(ExponentialBounds):
    """For the square loss and features of full rank, Theorem 1 holds with
    kappa = 2 sigma_min(Phi)^2 and R infinite: there is no ball, and L* is the infimum over all W,
    whatever radius the loss of a case has. The corrected edition needs no rank: the smallest
    non-zero singular value takes the place of sigma_min.
    """

    id = "kawaguchi2021/cor1"
    title = "Linear rate of the flow for the square loss"
    cite = cite("Corollary 1", "Section 3.1.3")
    losses = ("square",)
    dynamics = (FLOW,)
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The rank condition is not needed: with P the projector on the row space of Phi, "
        "|grad L0|^2 = 4 |(W Phi - Y) P Phi^T|^2 >= 4 sigma_pos(Phi)^2 (L0 - L0*), so "
        "kappa = 2 sigma_pos(Phi)^2 serves for every Phi other than 0."
    )
    uses = ("kawaguchi2021/thm1", "kawaguchi2021/def1", "kawaguchi2021/convexity")

    full_rank = Check("Phi has full rank", "rank_Phi >= min(m, n)", "Corollary 1")
    some_rank = Check("Phi is not zero", "rank_Phi >= 1", "Corollary 1, corrected")

    def kappa(self, p: Problem) -> Measured:
        """The proof works as well with the smallest singular value that is not zero."""
        Phi = p.model.outer.factored
        return 2 * (Phi.last if self.printed else Phi.smallest_positive) ** 2

    def reason(self, p: Problem) -> str:
        return "2 sigma_min(Phi)^2" if self.printed else super().reason(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        rank = p.model.outer.factored.measured_rank
        if self.printed:
            yield self.full_rank(rank_Phi=rank, m=p.model.m, n=p.model.n)
        else:
            yield self.some_rank(rank_Phi=rank)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        return ()

    def gap(self, p: Problem, run: Trajectory) -> Measured:
        return run.gap + _square(p.model).raised

    def first_gap(self, p: Problem) -> Measured:
        return p.start.gap + _square(p.model).raised


def _square(model: DelmModel) -> LinearSquare:
    """The outer loss of a model with the square loss."""
    return cast("LinearSquare", model.outer)
