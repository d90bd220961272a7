"""Theorem 2 and its relatives: the equilibrium in blocks z_1, ..., z_{L-1}, z_0."""

from __future__ import annotations

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.network import Layer
from deqcheck.theorems.xie2021.common import work
from deqcheck.theorems.xie2021.hidden import Hidden, preimage, prox_by_nnls

# What nonnegative least squares and the root finder lose beyond one evaluation.
SOLVER_LOSS = 100.0


def inner_prox(hidden: Hidden, Y: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """prox_{(1-a) phi}(y) by an independent solver, and its error.

    relu with invertible W: nonnegative least squares. Otherwise u = f(w) where
    a f(w) + (1 - a) w = y; the map is (1 - a)-strongly monotone in w.
    """
    size = euclidean(Y)
    loss = SOLVER_LOSS * work(hidden.layer, size)
    direct = prox_by_nnls(hidden, Y, 1 / (1 - alpha))
    if direct is not None:
        return direct, loss / (1 - alpha)
    w, miss = preimage(hidden, Y, alpha)
    return hidden.f(w), (miss + loss) / (1 - alpha)


def block_gradient(layer: Layer, Y: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """The gradient of a M_phi^(1-a) at y, or of phi itself (a = 1), and its error."""
    hidden = Hidden(layer)
    if alpha < 1:
        inner, error = inner_prox(hidden, Y, alpha)
        return alpha / (1 - alpha) * (Y - inner), alpha / (1 - alpha) * error
    w, miss = preimage(hidden, Y, alpha)
    slope = (
        float(layer.s.slope(hidden.pre(w)).min())
        * np.linalg.svd(layer.W, compute_uv=False)[-1] ** 2
    )
    square = layer.W.shape[0] >= layer.W.shape[1]
    stretch = 1 / slope if square and slope > 0 else np.inf
    return w - Y, stretch * (miss + SOLVER_LOSS * work(layer, euclidean(w)))


def block_value(layer: Layer, Y: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float]:
    """a M_phi^(1-a)(y) = max_w <w, y> - a psi(w) - (1-a) |w|^2/2 - |y|^2/2, its gradient w - y, and
    how far the value may be off: it is (1-a)-strongly concave in w."""
    hidden = Hidden(layer)
    w, miss = preimage(hidden, Y, alpha)
    value = float(np.vdot(w, Y)) - alpha * hidden.psi(w)
    value -= (1 - alpha) * float(np.vdot(w, w)) / 2 + float(np.vdot(Y, Y)) / 2
    return value, w - Y, miss**2 / (2 * (1 - alpha)) + hidden.noise(w) + hidden.noise(Y)
