"""Minima of a convex loss over the ball ||W||_1 <= R (induced norm), with a certified error.

The ball is a product of l1 balls, one for each column of W, so the linear functional that proves
optimality is explicit: L(W) - min <= <G, W> + R sum_j max_a |G_aj| for G = grad L(W).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.records.measured import EPS

NEWTON_STEPS = 200
FISTA_STEPS = 20_000


def optimality_gap(W: np.ndarray, G: np.ndarray, R: float, G_radius: float) -> float:
    """Bound on L(W) - min over the ball (Frank-Wolfe); W is in the ball."""
    exact = float(np.sum(G * W) + R * np.abs(G).max(axis=0).sum())
    spread = G_radius * (euclidean(W) + R * np.sqrt(W.shape[1]))
    return float(max(exact, 0.0) + spread)


def projected_newton(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    hessian: Callable[[np.ndarray], np.ndarray],
    w: np.ndarray,
    R: float,
) -> np.ndarray:
    """One output: the ball is the box |w_j| <= R. Newton on the free coordinates (Bertsekas)."""
    for _ in range(NEWTON_STEPS):
        g = gradient(w)
        held = ((w >= R) & (g < 0)) | ((w <= -R) & (g > 0))
        free = ~held
        if not free.any() or np.abs(g[free]).max() <= 4 * EPS * np.abs(g).max(initial=1e-300):
            break
        step = np.zeros_like(w)
        block = hessian(w)[np.ix_(free, free)]
        if not (np.isfinite(block).all() and np.isfinite(g).all()):
            # LAPACK would complain on stdout.
            raise FloatingPointError("the derivatives of the loss are not finite")
        step[free] = -np.linalg.lstsq(block, g[free], rcond=1e-14)[0]
        moved = _descend(value, w, g, step, R)
        if moved is None:
            break
        w = moved
    return w


def _descend(
    value: Callable[[np.ndarray], float], w: np.ndarray, g: np.ndarray, step: np.ndarray, R: float
) -> np.ndarray | None:
    """The longest halved step along the projection arc that still descends."""
    start = value(w)
    for halvings in range(60):
        new = np.clip(w + 0.5**halvings * step, -R, R)
        if value(new) <= start + 1e-4 * float(g @ (new - w)):
            return None if np.array_equal(new, w) else new
    return None


def fista(
    gradient: Callable[[np.ndarray], np.ndarray], W: np.ndarray, R: float, lipschitz: float
) -> np.ndarray:
    """Several outputs: accelerated projected gradient with restarts, until nothing moves."""
    extrapolated, momentum = W, 1.0
    for _ in range(FISTA_STEPS):
        new = project(extrapolated - gradient(extrapolated) / lipschitz, R)
        if np.sum((extrapolated - new) * (new - W)) > 0:
            extrapolated, momentum = W, 1.0
            new = project(extrapolated - gradient(extrapolated) / lipschitz, R)
        moved = euclidean(new - W)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        extrapolated = new + (momentum - 1) / following * (new - W)
        W, momentum = new, following
        if moved <= 4 * EPS * euclidean(W):
            break
    return W


def project(W: np.ndarray, R: float) -> np.ndarray:
    """Each column on the l1 ball of radius R (sorting; Held, Wolfe and Crowder)."""
    size = np.abs(W)
    down = -np.sort(-size, axis=0)
    excess = np.cumsum(down, axis=0) - R
    count = np.arange(1, len(W) + 1)[:, None]
    last = np.maximum((down * count > excess).sum(axis=0), 1) - 1
    threshold = np.maximum(np.take_along_axis(excess, last[None], axis=0) / (last + 1), 0.0)
    found: np.ndarray = np.sign(W) * np.maximum(size - threshold, 0.0)
    return found
