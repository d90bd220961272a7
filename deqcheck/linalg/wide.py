"""Equilibria and sensitivities of wide contractions: sweeps from wherever one was before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg import fixed_point
from deqcheck.linalg.fixed_point import Columns, Map, Solution
from deqcheck.linalg.patterns import Patterns

# From this width on, sweeps cost less than factorising the patterns, unless they need too many.
WIDE, ENOUGH = 64, 300
# They stop where the residual is this small a part of what rounding adds to it anyway.
BELOW_NOISE = 1 / 4

Floor = Callable[[np.ndarray], float]
SinglePrecisionChange = Callable[[np.ndarray], np.ndarray]


def equilibrium(W: np.ndarray, C: np.ndarray, noise: Floor, start: np.ndarray) -> Solution | None:
    """Z = relu(W Z + C)."""
    return _solve(state_map(W, C), start, noise)


def adjoint(
    W: np.ndarray, mask: np.ndarray, a: np.ndarray, noise: Floor, start: np.ndarray | None
) -> Solution | None:
    """V = mask (W^T V + a)."""
    return _solve(adjoint_map(W, mask, a), mask * (a[:, None] if start is None else start), noise)


def state_map(W: np.ndarray, C: np.ndarray) -> Map:
    C = np.ascontiguousarray(C)

    def linear(Z: np.ndarray, columns: Columns) -> np.ndarray:
        H = W @ Z
        H += C[:, columns]
        found: np.ndarray = H
        return found

    def act(H: np.ndarray, _: Columns) -> np.ndarray:
        found: np.ndarray = np.maximum(H, 0.0)
        return found

    def on_pattern(H: np.ndarray, columns: Columns) -> np.ndarray:
        found: np.ndarray = np.maximum(Patterns(W, H > 0).solve(C[:, columns]), 0.0)
        return found

    def change(H: np.ndarray, _: Columns, unit: float) -> SinglePrecisionChange:
        """relu(h + w) - relu(h) = max(w, -h) + min(h, 0): nothing above |w| is rounded."""
        single, h = W.astype(np.float32), (H / unit).astype(np.float32)
        negative, down = -h, np.minimum(h, 0.0)

        def move(d: np.ndarray) -> np.ndarray:
            w = single @ d
            np.maximum(w, negative, out=w)
            w += down
            found: np.ndarray = w
            return found

        return move

    return Map(linear, act, on_pattern, change)


def adjoint_map(W: np.ndarray, mask: np.ndarray, a: np.ndarray) -> Map:
    on, column = mask.astype(float), a[:, None]

    def linear(V: np.ndarray, _: Columns) -> np.ndarray:
        incoming = W.T @ V
        incoming += column
        found: np.ndarray = incoming
        return found

    def act(incoming: np.ndarray, columns: Columns) -> np.ndarray:
        found: np.ndarray = incoming * on[:, columns]
        return found

    def on_pattern(_: np.ndarray, columns: Columns) -> np.ndarray:
        return Patterns(W, mask[:, columns]).adjoint(a)

    def change(_: np.ndarray, columns: Columns, unit: float) -> SinglePrecisionChange:
        single, slope = W.T.astype(np.float32), on[:, columns].astype(np.float32)

        def move(d: np.ndarray) -> np.ndarray:
            w = single @ d
            w *= slope
            found: np.ndarray = w
            return found

        return move

    return Map(linear, act, on_pattern, change)


def _solve(F: Map, start: np.ndarray, noise: Floor) -> Solution | None:
    return fixed_point.solve(F, start, lambda x: BELOW_NOISE * noise(x), ENOUGH)
