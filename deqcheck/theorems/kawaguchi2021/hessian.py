"""The Hessian of the square loss: the remark of section 3.1.3, and appendix A.3."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.errors import length
from deqcheck.linalg.kron import unvec, vec
from deqcheck.linalg.rational import products, rows_of
from deqcheck.linalg.spectra import eliminated, exact_rank
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Up to this order Phi Phi^T is formed and eliminated in rational numbers.
EXACT_ORDER = 24
# Up to this order the Kronecker product is formed.
DENSE_ORDER = 400


class Hessian(Statement):
    """For the square loss the Hessian of vec(W) -> L0(W) is 2 (Phi Phi^T kron I), and its rank is
    rank(Phi Phi^T) my = rank(Phi) my: less than m my in the over-parameterised case m > n, so that
    L0 is not strongly convex there.

    The Hessian is compared with the difference of two gradients, which for a quadratic function is
    exact up to rounding. Ranks are those of the matrices as given, by elimination in rational
    numbers.
    """

    id = "kawaguchi2021/hessian"
    title = "The Hessian of the square loss and its rank"
    cite = cite("Section 3.1.3, Appendix A.3")
    losses = ("square",)
    dynamics = (STATIC,)

    formula = Check("difference of gradients", "deviation <= noise", "A.3")
    rank = Check("rank of the Hessian", "rank_H == rank_Phi*my", "Section 3.1.3")
    deficient = Check("it is deficient, m > n", "rank_H < m*my", "Section 3.1.3")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.model.m > EXACT_ORDER:
            yield (
                f"m = {p.model.m}: ranks are found by exact elimination, for m up to {EXACT_ORDER}"
            )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        model, Phi = p.model, p.model.outer.Phi
        yield self.formula(**_difference(p, state))
        if model.m > EXACT_ORDER:
            return
        rank_H = model.my * len(eliminated(products(rows_of(Phi))).pivots)
        yield self.rank(rank_H=rank_H, rank_Phi=exact_rank(Phi), my=model.my)
        if model.m > model.n:
            yield self.deficient(rank_H=rank_H, m=model.m, my=model.my)


def _difference(p: Problem, state: DelmState) -> dict[str, float]:
    """grad L0(Z + E) - grad L0(Z) against 2 (Phi Phi^T kron I) vec(E), for a drawn E."""
    outer = p.model.outer
    Phi, shape = outer.Phi, state.Z.shape
    E = rng(p.seed, "kawaguchi2021/hessian").normal(size=shape)
    moved = (outer.slopes(state.Z + E) - outer.slopes(state.Z)) @ Phi.T
    gram = 2 * Phi @ Phi.T
    if state.Z.size <= DENSE_ORDER:
        claimed = unvec(np.kron(gram, np.eye(p.model.my)) @ vec(E), shape)
    else:
        claimed = E @ gram
    size, there, away = (length(a) for a in (Phi, state.Z, E))
    # Sums of m and of n products; the outputs at Z and at Z + E cancel.
    scale = size * (size * (2 * there + away) + 2 * length(outer.Y))
    return {
        "deviation": length(moved - claimed),
        "noise": 8 * EPS * (p.model.m + p.model.n) * scale,
    }
