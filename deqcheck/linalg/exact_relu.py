"""The equilibrium Z = relu(W Z + C) in rational numbers, or in balls, on its verified pattern.

On the units S that are active the equation is linear with rational coefficients. A solution that is
not negative on S, and whose pre-activations are not positive off S, is an equilibrium; whoever asks
knows that there is only one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Exhausted, Level, NoExactForm
from deqcheck.records.tower.rationals import Rationals


class ExactRelu:
    """W (m x m) and C (m x n) as nodes; `mask` guesses the active units."""

    def __init__(self, W: Again, C: Again, mask: np.ndarray):
        self.W, self.C, self._mask = W, C, mask

    @cached_property
    def Z(self) -> Again:
        node = Again(self._equilibrium)
        return node.called("relu_equilibrium", self.W, self.C, pattern=self._mask)

    @cached_property
    def H(self) -> Again:
        return exact.plus(exact.product(self.W, self.Z), self.C)

    def sensitivities(self, B: Again) -> Again:
        """Columns (I - J W^T)^-1 J b, b the same column of B, or its only one; the slope at a
        pre-activation 0 is 0."""
        return Again(self._adjoint, self.W, self.H, B).called("relu_adjoint")

    def tangent(self, B: Again) -> Again:
        """Columns (I - J W)^-1 J b."""
        return Again(self._tangent, self.W, self.H, B).called("relu_tangent")

    def tangents(self, forcing: Again) -> Again:
        """Columns (I - J W)^-1 J f: how the equilibrium moves with C."""
        return Again(self._tangents, self.W, self.H, forcing).called("relu_tangent")

    def _tangents(self, level: Level, W: Any, H: Any, f: Any) -> Any:
        m, n = H.nrows(), H.ncols()
        columns = [_on_pattern(level, W, f, j, _active(H, j)) for j in range(n)]
        return exact.matrix(level, m, n, [columns[j][i] for i in range(m) for j in range(n)])

    def _equilibrium(self, level: Level) -> Any:
        """Balls cannot tell that a unit rests at 0: rationals are tried first."""
        if not level.exact:
            try:
                return level.flint.arb_mat(self.Z.at(Rationals()))
            except (NoExactForm, Exhausted):
                pass
        W, C = self.W.at(level), self.C.at(level)
        columns = [
            _column(level, W, C, j, set(np.flatnonzero(self._mask[:, j]).tolist()))
            for j in range(C.ncols())
        ]
        m, n = C.nrows(), C.ncols()
        return exact.matrix(level, m, n, [columns[j][i] for i in range(m) for j in range(n)])

    def _adjoint(self, level: Level, W: Any, H: Any, B: Any) -> Any:
        """A single column of B is that of every sample."""
        m, n, one = H.nrows(), H.ncols(), B.ncols() == 1
        columns = [_adjoint(level, W, _active(H, j), B, 0 if one else j) for j in range(n)]
        return exact.matrix(level, m, n, [columns[j][i] for i in range(m) for j in range(n)])

    def _tangent(self, level: Level, W: Any, H: Any, B: Any) -> Any:
        m, n = H.nrows(), H.ncols()
        columns = [_on_pattern(level, W, B, j, _active(H, j)) for j in range(n)]
        return exact.matrix(level, m, n, [columns[j][i] for i in range(m) for j in range(n)])


def on_its_pattern(
    level: Level, W: Any, C: Any, before: list[set[int]]
) -> tuple[Any, list[set[int]]]:
    """The equilibria, and which units are active, from units that were so before."""
    columns = [_column(level, W, C, j, active) for j, active in enumerate(before)]
    m, n = C.nrows(), C.ncols()
    Z = exact.matrix(level, m, n, [columns[j][i] for i in range(m) for j in range(n)])
    return Z, [{i for i in range(m) if column[i] > 0} for column in columns]


def _active(H: Any, j: int) -> list[int]:
    """Where H > 0. A ball that touches 0 tells nothing."""
    found = []
    for i in range(H.nrows()):
        if H[i, j] > 0:
            found.append(i)
        elif not H[i, j] <= 0:
            raise NoExactForm
    return found


def _column(level: Level, W: Any, C: Any, j: int, active: set[int]) -> list[Any]:
    """The equilibrium of one sample: units change sides until each is on its own."""
    m = C.nrows()
    for _ in range(2 * m + 2):
        z = _on_pattern(level, W, C, j, sorted(active))
        wrong = {i for i in active if _sign(z[i]) < 0}
        silent = [i for i in range(m) if i not in active]
        wrong |= {i for i in silent if _sign(_pre_activation(level, W, C, j, z, active, i)) > 0}
        if not wrong:
            return z
        active = active ^ wrong
    raise NoExactForm


def _sign(x: Any) -> int:
    if x > 0:
        return 1
    if x < 0:
        return -1
    if x == 0:
        return 0
    raise NoExactForm


def _pre_activation(
    level: Level, W: Any, C: Any, j: int, z: list[Any], active: set[int], i: int
) -> Any:
    total = C[i, j]
    for k in active:
        total += W[i, k] * z[k]
    return total


def _on_pattern(level: Level, W: Any, C: Any, j: int, active: list[int]) -> list[Any]:
    """(I - W_SS) z_S = c_S, and 0 elsewhere."""
    right = exact.matrix(level, len(active), 1, [C[i, j] for i in active])
    return _spread(level, C.nrows(), active, _solved(level, W, active, right, turned=False))


def _adjoint(level: Level, W: Any, active: list[int], B: Any, j: int) -> list[Any]:
    """(I - W_SS)^T v_S = b_S, and 0 elsewhere."""
    right = exact.matrix(level, len(active), 1, [B[i, j] for i in active])
    return _spread(level, B.nrows(), active, _solved(level, W, active, right, turned=True))


def _spread(level: Level, m: int, active: list[int], x: Any) -> list[Any]:
    found = [level.flint.fmpq(0) if level.exact else level.flint.arb(0)] * m
    for position, i in enumerate(active):
        found[i] = x[position, 0]
    return found


def _solved(level: Level, W: Any, active: list[int], right: Any, turned: bool) -> Any:
    n = len(active)
    if n == 0:
        return right
    # A rational solution of order n has about n times the digits of the entries.
    level.charge(n**3 * (1 + n / 8) if level.exact else 2 * n**3)
    pairs = [(k, i) if turned else (i, k) for i in active for k in active]
    system = exact.matrix(level, n, n, [int(i == k) - W[i, k] for i, k in pairs])
    try:
        return system.solve(right)
    except ZeroDivisionError:
        raise NoExactForm from None
