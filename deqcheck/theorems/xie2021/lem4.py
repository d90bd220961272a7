"""Lemma 4: factorisation through a matrix of full row rank."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import count
from deqcheck.linalg.spectra import Factored
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.factors import factor, factor_noise, rank_of
from deqcheck.theorems.xie2021.setting import Problem


class Lemma4(Pointwise):
    """For k >= max(m, n), every W (m x n) and every A (m x k) of rank m there is B (n x k) with
    W = A B^T. Printed: B of full rank. Corrected: a B of rank n exists if and only if
    k >= m + n - rank W. Judged with A = W_1 and W = U_1 of the case.
    """

    id = "xie2021/lem4"
    title = "Factorisation through a matrix of full row rank"
    cite = cite("Lemma 4")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "B need not have full rank: A = 1 and W = 0 force B = 0. rank B is at most "
        "rank W + k - m, so rank n needs k >= m + n - rank W."
    )

    wide = Check("k is large enough", "k >= max(m, n)", "Lemma 4")
    full_rows = Check("A has full row rank", "rank_A >= m", "Lemma 4")
    product = Check("W = A B^T", "deviation <= noise", "Lemma 4")
    full = Check("the largest rank of B is full", "rank_B >= n", "Lemma 4")
    reached = Check("rank of B is min(n, rank W + k - m)", "rank_B == reachable", "corrected")

    def unchecked(self, p: Problem) -> Iterable[str]:
        A = p.theta0["W1"]
        if A.any() and not Factored(A).visible:
            yield "doubles do not show the rank of A, nor a B: another A = W_1"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        A, W = p.theta0["W1"], p.theta0["U1"]
        yield self.wide(k=count(A, 1), m=count(A, 0), n=count(W, 1))
        rank_A = replace(_rank(A), again=exact.rank(exact.array(A)))
        yield self.full_rows(rank_A=rank_A, m=count(A, 0))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        A, W = p.theta0["W1"], p.theta0["U1"]
        if A.shape[1] < max(A.shape[0], W.shape[1]) or rank_of(A) < len(A):
            return
        if any(self.unchecked(p)):
            return
        B = factor(W, A)
        off = euclidean(A @ B.T - W)
        noise = tolerance(factor_noise(W, A, B), euclidean(W))
        yield self.product(deviation=Measured(off), noise=noise)
        rank = _rank(W)
        reachable = min(W.shape[1], rank.value + A.shape[1] - len(A))
        smallest = float(np.linalg.svd(A, compute_uv=False)[-1])
        rank_B = _rank_near(B, factor_noise(W, A, B) / smallest, reachable)
        if self.printed:
            yield self.full(rank_B=rank_B.widened(rank.error), n=W.shape[1])
        else:
            yield self.reached(rank_B=rank_B, reachable=Measured(reachable, rank.error))


def _rank(a: np.ndarray) -> Measured:
    return Factored(a).measured_rank if a.any() else given(0)


def _rank_near(B: np.ndarray, radius: float, most: float) -> Measured:
    """Of an exact factor within the radius of this one, B + (W - A B^T)^T (A^+)^T. By Weyl its rank
    is at least the number of singular values above the radius. No factor has a larger one than
    `most`, so that fewer leave it open."""
    shown = float(np.sum(np.linalg.svd(B, compute_uv=False) > radius))
    return Measured(shown, np.inf if shown < most else 0.0, "numerical rank")
