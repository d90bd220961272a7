"""The Hessian of the square loss: the remark of section 3.1.3, and appendix A.3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from deqcheck.linalg import exact
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.linalg.rational import products, rows_of
from deqcheck.linalg.spectra import eliminated, exact_rank
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import given
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
        if p.model.outer.factored.relative:
            yield (
                "the case asks for a numerical rank of Phi, and ranks are found by exact "
                "elimination: leave out `rank`"
            )

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        model, Phi = p.model, p.model.outer.Phi
        yield self.formula(**_difference(p, state).vanishes())
        if model.m > EXACT_ORDER or model.outer.factored.relative:
            return
        again = exact.rank(exact.gram(exact.array(Phi)))
        rank_H = model.my * given(len(eliminated(products(rows_of(Phi))).pivots), again)
        rank_Phi = given(exact_rank(Phi), exact.rank(exact.array(Phi)))
        yield self.rank(rank_H=rank_H, rank_Phi=rank_Phi, my=model.my)
        if model.m > model.n:
            yield self.deficient(rank_H=rank_H, m=model.m, my=model.my)


def _difference(p: Problem, state: DelmState) -> Matrix:
    """grad L0(W + E) - grad L0(W) less 2 (Phi Phi^T kron I) vec(E), at W = Z as it was computed,
    for a drawn E."""
    Phi, Y = state.matrices.Phi, instance(p.model.outer.Y)
    W = instance(state.Z)
    E = instance(rng(p.seed, "kawaguchi2021/hessian").normal(size=state.Z.shape))
    slopes = p.model.outer.slopes
    there, here = (replace(2 * (at @ Phi - Y), array=slopes(at.array)) for at in (W + E, W))
    moved, gram = (there - here) @ Phi.T, 2 * (Phi @ Phi.T)
    if state.Z.size > DENSE_ORDER:
        return moved - E @ gram
    return moved.vec() - gram.kronecker(identity(p.model.my)) @ E.vec()
