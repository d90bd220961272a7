"""Equilibria and sensitivities of wide contractions: sweeps from wherever one was before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg import fixed_point
from deqcheck.linalg.fixed_point import Columns, Found, Map
from deqcheck.linalg.patterns import Patterns

# From this width on, sweeps cost less than factorising the patterns, unless they need too many.
WIDE, ENOUGH = 64, 300
# They stop where the residual is this small a part of what rounding adds to it anyway.
BELOW_NOISE = 1 / 16

Floor = Callable[[np.ndarray], float]


def equilibrium(W: np.ndarray, C: np.ndarray, noise: Floor, start: np.ndarray) -> Found | None:
    """Z = relu(W Z + C)."""
    C = np.ascontiguousarray(C)

    def linear(Z: np.ndarray, columns: Columns) -> np.ndarray:
        H = W @ Z
        H += C[:, columns]
        return H

    def act(H: np.ndarray, _: Columns) -> np.ndarray:
        return np.maximum(H, 0.0)

    def on_pattern(H: np.ndarray, columns: Columns) -> np.ndarray:
        return np.maximum(Patterns(W, H > 0).solve(C[:, columns]), 0.0)

    return _solve(Map(linear, act, on_pattern), start, noise)


def adjoint(
    W: np.ndarray, mask: np.ndarray, a: np.ndarray, noise: Floor, start: np.ndarray | None
) -> Found | None:
    """V = mask (W^T V + a)."""
    on, column = mask.astype(float), a[:, None]

    def linear(V: np.ndarray, _: Columns) -> np.ndarray:
        incoming = W.T @ V
        incoming += column
        return incoming

    def act(incoming: np.ndarray, columns: Columns) -> np.ndarray:
        return incoming * on[:, columns]

    def on_pattern(_: np.ndarray, columns: Columns) -> np.ndarray:
        return Patterns(W, mask[:, columns]).adjoint(a)

    return _solve(Map(linear, act, on_pattern), on * (column if start is None else start), noise)


def _solve(F: Map, start: np.ndarray, noise: Floor) -> Found | None:
    return fixed_point.solve(F, start, lambda x: BELOW_NOISE * noise(x), ENOUGH)
