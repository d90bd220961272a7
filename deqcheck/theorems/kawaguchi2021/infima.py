"""Section 3.1.1: the infima of L0 and of L over balls, and without one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from deqcheck.linalg.errors import norm1
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import IDENTITY_RESOLUTION
from deqcheck.records.measured import EPS, Measured, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.drawn import number
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.cor2 import Corollary2, logistic
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

DRAWS = 20
# R-bar is so much more than ||B*||_1/(1 - gamma), because the ball is open.
ROOM = 2.0
# A W so near to the edge of the ball is still Z of parameters of the ball, at A = DIAGONAL I.
EDGE, DIAGONAL = 0.999, 30.0
# Smaller curvatures leave the range of floating-point numbers.
SMALLEST_RHO = 1e-300


class Infima(Statement):
    """With L*_{0,R} the infimum of L0 over ||W||_1 < R and L*_R that of L over all A and
    ||B||_1 < (1 - gamma) R: L*_{0,R} <= L*_R, since ||Z||_1 <= ||B||_1/(1 - gamma); a larger ball
    has no larger infimum; and if a minimiser (A*, B*) exists, L*_R = L* for every
    R > ||B*||_1/(1 - gamma). For the logistic loss the curvature rho(R) falls as R grows
    (Appendix C).

    Judged with the radius of the loss of the case, twice that radius and none; R-bar with A* = A
    and B* = W* U for a minimiser W* of L0. The infima come from minimisation with a duality gap,
    and are compared up to that.

    The remark is more than the paper says: every W of the ball is Z = B U^-1 for some B with
    ||B||_1 < (1 - gamma) R, namely B = W U at A = s I with s large, as U tends to (1 - gamma) I. So
    L*_{0,R} = L*_R.
    """

    id = "kawaguchi2021/infima"
    title = "Infima over balls"
    cite = cite("Section 3.1.1, Appendices A.1.7 and C")
    dynamics = (STATIC,)
    uses = ("kawaguchi2021/norms",)

    inside = Check(
        f"lowest of {DRAWS} parameters of the ball", "loss >= infimum_0R", "A.1.7, L*_{0,R} <= L*_R"
    )
    smaller = Check(
        "a larger ball has no larger infimum", "infimum_larger - infimum_0R <= noise", "Appendix C"
    )
    covered = Check(
        "a ball that holds a minimiser", "deviation <= noise", "Section 3.1.1, L*_R = L*"
    )
    flatter = Check("a larger ball has less curvature", "rho_larger <= rho_R", "Appendix C")
    reached = Check("every W of the ball is reached", "norm1_B < (1-gamma)*R", "L*_{0,R} = L*_R")

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        outer = p.model.outer
        here = outer.infimum
        yield self.inside(loss=_lowest(p) + here, infimum_0R=here)
        for R in () if math.isinf(outer.R) else (2 * outer.R, math.inf):
            larger = outer.of_radius(R).infimum
            yield self.smaller(
                f"radius {R:g}",
                infimum_larger=larger.value,
                infimum_0R=here.value,
                noise=_both(p, larger, here),
            )
        W = outer.minimiser()
        if W is not None:
            # For B* = 0 any radius serves.
            R = ROOM * float(np.abs(W @ state.U).sum(axis=0).max()) / (1 - p.model.gamma) or 1.0
            yield self.covered(f"R-bar = {R:g}", **_covering(p, R))
        if p.loss in Corollary2.losses and math.isfinite(outer.R):
            yield from self._curvature(p)

    def _curvature(self, p: Problem) -> Iterable[Claim]:
        outer = logistic(p.model)
        rho = outer.rho_R
        if rho.low > SMALLEST_RHO:
            yield self.flatter(rho_larger=outer.of_radius(2 * outer.R).rho_R, rho_R=rho)

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        R = p.model.outer.R
        if math.isinf(R):
            return
        W = rng(p.seed, "kawaguchi2021/infima/W").normal(size=p.start.Z.shape)
        W *= EDGE * R / np.abs(W).sum(axis=0).max()
        state = p.model.at({"A": DIAGONAL * np.eye(p.model.m), "B": p.start.B})
        # Each column of U has 1-norm below 2; m roundings in each entry of the product.
        B = norm1(W @ state.U, 4 * EPS * p.model.m * 2 * R)
        yield self.reached(norm1_B=B, gamma=measured(p.model.gamma), R=R)


def _lowest(p: Problem) -> Measured:
    """The smallest gap of those that can be told from 0; at a start at rest there is none."""
    gaps = [state.gap for state in _drawn(p)]
    told = [gap for gap in gaps if gap.low > 0 or gap.exact] or gaps
    return min(told, key=lambda gap: float(gap.value))


def _drawn(p: Problem) -> Iterator[DelmState]:
    """A and B around the start; in a ball B of random directions and sizes."""
    stream, outer = rng(p.seed, "kawaguchi2021/infima"), p.model.outer
    for _ in range(number(DRAWS)):
        A, B = (p.theta0[n] + stream.normal(size=p.theta0[n].shape) for n in "AB")
        if math.isfinite(outer.R):
            B = stream.uniform() * (1 - p.model.gamma) * outer.R / np.abs(B).sum(axis=0).max() * B
        yield p.model.at({"A": A, "B": B})


def _covering(p: Problem, R: float) -> dict[str, Measured]:
    there, free = (p.model.outer.of_radius(r).infimum for r in (R, math.inf))
    return {
        "deviation": Measured(abs(float(there.value) - float(free.value))),
        "noise": _both(p, there, free),
    }


def _both(p: Problem, a: Measured, b: Measured) -> Measured:
    """What is not known of the difference of two infima; where that is much of the loss, nothing
    is."""
    lost = float(a.error + b.error + EPS * (abs(a.value) + abs(b.value)))
    size = abs(float(a.value)) + abs(float(b.value)) + abs(float(p.start.gap.value))
    return Measured(lost) if lost <= IDENTITY_RESOLUTION * size else Measured(math.nan)
