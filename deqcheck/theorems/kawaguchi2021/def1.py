"""Definition 1: the PL inequality of the outer loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.constant import best, ceiling
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement


class Definition1(Statement):
    """L0 satisfies the PL inequality with radius R and parameter kappa > 0 if
    |grad L0(W)|^2/2 >= kappa (L0(W) - L*_{0,R}) for every W with ||W||_1 < R, L*_{0,R} the infimum
    of L0 there.

    R is that of the loss of the case, kappa a constant of the case; without one it is the best one
    that is proven, and the question is whether there is any. A kappa is proven to serve, or
    excluded by a W of the ball at which the inequality fails, or left open. The remark tells the
    smallest |grad L0|^2/(2 (L0 - L*_{0,R})) of the points that were tried: no kappa above it
    serves.
    """

    id = "kawaguchi2021/def1"
    title = "The outer loss satisfies a PL inequality"
    cite = cite("Definition 1", "Section 3.1.1")
    dynamics = (STATIC,)
    condition_in = (CORRECTED,)
    constants = {"kappa": "PL constant of the outer loss; default: the best one that is proven"}

    positive = Check("kappa is positive", "kappa > 0", "Definition 1")
    polyak = Check("it serves everywhere in the ball", "kappa <= kappa_best", "Definition 1")
    tried = Check("it serves where the loss is flattest", "kappa <= quotient", "Definition 1")

    def faults(self) -> Iterable[str]:
        return self.not_positive()

    def _kappa(self, p: Problem) -> Measured:
        return measured(self.fixed["kappa"]) if "kappa" in self.fixed else p.model.outer.pl.kappa

    def notes(self, p: Problem) -> Iterable[str]:
        yield f"proven: {p.model.outer.pl.reason}"

    def quantities(self, p: Problem) -> Mapping[str, Measured]:
        return {"kappa_proven": p.model.outer.pl.kappa}

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        kappa = self._kappa(p)
        yield self.positive(kappa=kappa)
        if "kappa" in self.fixed:
            note, largest = best(p, kappa)
            yield self.polyak(note, kappa=kappa, kappa_best=largest)

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        kappa = self._kappa(p)
        if kappa.value != 0:
            yield self.tried(kappa=kappa, quotient=ceiling(p))
