"""Appendices A.3 and A.4: how the corollaries prove the PL inequality of L0."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.errors import length, symmetric_eigenvalues
from deqcheck.linalg.rational import common_square
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.cor1 import Corollary1
from deqcheck.theorems.kawaguchi2021.cor2 import Corollary2, logistic
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# The length of the v with which the inequality of A.4 is tried as printed.
SHORT = 2.0**-20
# A bound on the derivative of p (1 - p) in q: 1/(6 sqrt(3)) is the largest value.
THIRD = 0.1


class Convexity(Statement):
    """Square loss and rank Phi = min(m, n) (A.3): for m <= n the Hessian 2 (Phi Phi^T kron I) is at
    least 2 sigma_min(Phi)^2 I, which is its smallest eigenvalue; for m > n
    |grad L0(W)|^2/2 >= 2 sigma_min(Phi)^2 L0(W) for every W, an equality where the
    singular values of Phi are equal. Logistic
    loss, rank Phi = m (A.4): at every W of the ball
    v^T H v >= (2 tau + rho(R)) sigma_min(Phi)^2 |v|^2 for every v. In each case
    |grad L0|^2/2 >= kappa (L0 - L*_{0,R}) with the same constant.

    Judged at W = Z. Printed, A.4 has no |v|^2: the inequality is tried with the eigenvector v of
    the smallest eigenvalue, of length 2^-20.
    """

    id = "kawaguchi2021/convexity"
    title = "Strong convexity of the outer loss"
    cite = cite("Appendices A.3 and A.4")
    losses = (*Corollary1.losses, *Corollary2.losses)
    dynamics = (STATIC,)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    uses = ("kawaguchi2021/hessian",)
    erratum = (
        "The last bound of A.4 on v^T H v lacks the factor |v|^2: for Phi = y = 1, tau = 1/2, R "
        "infinite and W = 0, H = 5/4 and (2 tau + rho) sigma_min^2 = 1, but v = 1/2 has "
        "v^T H v = 5/16."
    )

    full_rank = Check("Phi has full rank", "rank_Phi >= min(m, n)", "Corollary 1")
    rank_m = Check("Phi has rank m", "rank_Phi >= m", "Corollary 2")
    in_ball = Check("W lies in the ball", "norm1_Z < R", "Definition 1")
    strong = Check(
        "smallest eigenvalue of the Hessian", "lambda_min_H == 2*sigma_min^2", "A.3, m <= n"
    )
    steep = Check("slope of the loss", "slope^2/2 >= 2*sigma_min^2*loss", "A.3, m > n")
    even = Check(
        "slope of the loss, equal singular values", "slope^2/2 == 2*sigma_min^2*loss", "A.3, m > n"
    )
    curved = Check(
        "smallest eigenvalue of the Hessian",
        "lambda_min_H >= (2*tau + rho_R)*sigma_min^2",
        "A.4, corrected",
    )
    any_v = Check("v^T H v for any v", "v_H_v >= (2*tau + rho_R)*sigma_min^2", "A.4")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        outer = p.model.outer
        rank = outer.factored.measured_rank
        if p.loss in Corollary1.losses:
            yield self.full_rank(rank_Phi=rank, m=p.model.m, n=p.model.n)
            return
        yield self.rank_m(rank_Phi=rank, m=p.model.m)
        if math.isfinite(outer.R):
            yield self.in_ball(norm1_Z=p.start.measure("norm1.Z"), R=given(outer.R))

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        square = p.loss in Corollary1.losses
        yield from self._square(p, state) if square else self._logistic(p, state)

    def _square(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        Phi = p.model.outer.factored
        if p.model.m <= p.model.n:
            gram = state.matrices.Phi @ state.matrices.Phi.T
            yield self.strong(lambda_min_H=(2 * gram).eigenvalue(0), sigma_min=Phi.last)
            return
        near = Phi.largest.low <= Phi.last.high
        equal = near and common_square(p.model.outer.Phi.T) is not None
        check = self.even if equal else self.steep
        slope, loss = state.measure("norm.Q"), state.residual**2
        yield check(slope=slope, sigma_min=Phi.last, loss=loss)

    def _logistic(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        outer = logistic(p.model)
        q = state.Z[0] @ outer.Phi
        moved = (state.Z_radius + 4 * EPS * p.model.m * length(state.Z)) * length(outer.Phi)
        smallest = _smallest(p, outer.second(q), THIRD * moved)
        constants = {
            "tau": given(outer.tau),
            "rho_R": outer.rho_R,
            "sigma_min": outer.factored.last,
        }
        if self.printed:
            yield self.any_v(f"|v| = {SHORT:g}", v_H_v=SHORT**2 * smallest, **constants)
        else:
            yield self.curved(lambda_min_H=smallest, **constants)


def _smallest(p: Problem, weights: np.ndarray, radius: float = 0.0) -> Measured:
    """lambda_min(Phi diag(weights) Phi^T), which is that of its Kronecker product with I; weights
    known up to the radius and their own rounding."""
    Phi = p.model.outer.Phi
    size = length(Phi) ** 2
    rounding = 8 * EPS * (p.model.n + 4) * float(weights.max())
    return symmetric_eigenvalues((Phi * weights) @ Phi.T, (radius + rounding) * size)[0]
