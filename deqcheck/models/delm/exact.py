"""The deep equilibrium linear model computed again: softmax in balls, rational where it is."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Level, NoExactForm, rational, worded


class ExactDelm:
    """The matrices of a state, as nodes of the tower."""

    def __init__(self, A: np.ndarray, B: np.ndarray, gamma: float):
        self.A, self.B = exact.array(A), exact.array(B)
        self.m, self.outputs, self.gamma = len(A), len(B), Fraction(gamma)

    @cached_property
    def S(self) -> Again:
        return Again(_softmax, self.A)

    @cached_property
    def U(self) -> Again:
        return exact.minus(exact.array(np.eye(self.m)), self.weights)

    @cached_property
    def weights(self) -> Again:
        """gamma S."""
        return exact.scaled(rational(self.gamma), self.S)

    @cached_property
    def inverse(self) -> Again:
        return exact.inverse(self.U)

    @cached_property
    def Z(self) -> Again:
        """B U^-1."""
        return exact.product(self.B, self.inverse)

    def gradient(self, Q: Again) -> dict[str, Again]:
        """G = Q U^-T, and column k of grad_A is gamma J_k Z^T g_k, with Q the outer gradient."""
        G = exact.product(Q, exact.transpose(self.inverse))
        P = exact.product(exact.transpose(self.Z), G)
        bent = Again(_bent, self.S, P).told(lambda: self._told_bent(P))
        return {"A": exact.scaled(rational(self.gamma), bent), "B": G}

    @cached_property
    def block_scalars(self) -> Again:
        """For one output, a column: 1 + gamma^2 |J_k Z^T|^2."""
        node = Again(self._block_scalars, self.S, self.Z)
        return node.told(lambda: reduce(exact.stacked, map(self._told_block, range(self.m))))

    def _block_scalars(self, level: Level, S: Any, Z: Any) -> Any:
        exact.charge(level, self.m**3, S, Z)
        one, square = exact.raw(level, 1), exact.raw(level, self.gamma**2)
        found = []
        for k in range(self.m):
            ZJ = Z * _jacobian(level, S, k)
            found.append(one + square * (ZJ * ZJ.transpose())[0, 0])
        return exact.matrix(level, self.m, 1, found)

    @cached_property
    def D(self) -> Again:
        """Eq. (8)."""
        return Again(self._D, self.S, self.inverse, self.Z).told(self._told_D)

    def quadratic_form(self, Q: Again) -> Again:
        """vec(Q)^T D vec(Q)."""
        q = Again(exact.vec, Q)
        return exact.entry(exact.product(exact.transpose(q), exact.product(self.D, q)), 0)

    def _D(self, level: Level, S: Any, inverse: Any, Z: Any) -> Any:
        m, my = self.m, Z.nrows()
        exact.charge(level, m * my * my * m + m * (m * my) ** 2, S, inverse, Z)
        square = exact.raw(level, self.gamma**2)
        total = exact.zeros(level, m * my, m * my)
        for k in range(m):
            ZJ = Z * _jacobian(level, S, k)
            block = exact.identity(level, my) + square * (ZJ * ZJ.transpose())
            row = exact.matrix(level, 1, m, [inverse[k, j] for j in range(m)])
            total += exact.kronecker(level, row.transpose() * row, block)
        return total

    # ---- in words -----------------------------------------------------------------------------

    def _told_jacobian(self, k: int) -> Again:
        """J_k = diag(s_k) - s_k s_k^T."""
        s = exact.column_of(self.S, k)
        scaled = exact.columns_scaled(exact.array(np.eye(self.m)), s)
        return exact.minus(scaled, exact.product(s, exact.transpose(s)))

    def _told_bent(self, P: Again) -> Again:
        columns = (
            exact.product(self._told_jacobian(k), exact.column_of(P, k)) for k in range(self.m)
        )
        return exact.transpose(reduce(exact.stacked, map(exact.transpose, columns)))

    def _told_block(self, k: int) -> Again:
        """I + gamma^2 (Z J_k) (Z J_k)^T."""
        square = exact.gram(exact.product(self.Z, self._told_jacobian(k)))
        one = exact.array(np.eye(self.outputs))
        return exact.plus(one, exact.scaled(rational(self.gamma**2), square))

    def _told_D(self) -> Again:
        rows = (exact.column_of(exact.transpose(self.inverse), k) for k in range(self.m))
        parts = (
            Again(exact.kronecker, exact.gram(row), self._told_block(k))
            for k, row in enumerate(rows)
        )
        return reduce(exact.plus, parts)


@worded
def _softmax(level: Level, A: Any) -> Any:
    """s_i = 1/(1 + sum_k exp(a_k - a_i)): rational where the entries of a column are equal."""
    m = A.nrows()
    entries = []
    for i in range(m):
        for j in range(A.ncols()):
            others = [A[k, j] - A[i, j] for k in range(m) if k != i]
            entries.append(1 / sum((_exp(level, d) for d in others), exact.raw(level, 1)))
    return exact.matrix(level, m, A.ncols(), entries)


def _exp(level: Level, x: Any) -> Any:
    if not level.exact:
        return x.exp()
    if x != 0:
        raise NoExactForm
    return exact.raw(level, 1)


def _jacobian(level: Level, S: Any, k: int) -> Any:
    """J_k = diag(s_k) - s_k s_k^T."""
    m = S.nrows()
    column = [S[i, k] for i in range(m)]
    entries = [
        (column[i] if i == j else 0) - column[i] * column[j] for i in range(m) for j in range(m)
    ]
    return exact.matrix(level, m, m, entries)


def _bent(level: Level, S: Any, P: Any) -> Any:
    """J_k p_k in column k."""
    m = S.nrows()
    exact.charge(level, m**3, S, P)
    columns = []
    for k in range(P.ncols()):
        column = exact.matrix(level, m, 1, [P[i, k] for i in range(m)])
        columns.append(_jacobian(level, S, k) * column)
    entries = [columns[k][i, 0] for i in range(m) for k in range(P.ncols())]
    return exact.matrix(level, m, P.ncols(), entries)
