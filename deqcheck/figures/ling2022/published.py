"""What the authors' public code trains, which differs from the paper's text.

z = relu(W z + U x + b)/sqrt(m), prediction a.z, with entries of W of standard deviation 0.4, of U
and a of 1; the sum of squares; gradient descent with one rate on W, U, b and a as they stand in the
code, so that W/sqrt(m), U/sqrt(m) and b/sqrt(m) of the paper's model move by rate/m. Equilibria and
adjoints are those of Anderson acceleration up to a relative residual.
"""

from __future__ import annotations

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.anderson import anderson
from deqcheck.figures.base import Made
from deqcheck.figures.runs import OnProgress
from deqcheck.seeds import rng

SWEEPS = 25


def descent(
    X: np.ndarray,
    y: np.ndarray,
    width: int,
    rate: float,
    steps: int,
    tolerance: float,
    seed: int,
    progress: OnProgress,
) -> Made:
    """Loss and |W|_2 of the paper's W at each step."""
    m, root = width, np.sqrt(width)
    X = np.vstack([X, np.ones(X.shape[1])])
    W = 0.4 * rng(seed, "init.W").standard_normal((m, m)) / root
    U = rng(seed, "init.U").standard_normal((m, len(X))) / root
    # The biases begin at zero, which the findings on the code leave open.
    U[:, -1] = 0.0
    a = rng(seed, "init.a").standard_normal(m)
    Z, V = np.zeros((m, X.shape[1])), np.zeros((m, X.shape[1]))
    losses, norms, at = [], [], []
    most = SWEEPS if tolerance >= 1e-3 else 1000
    for k in range(steps + 1):
        C = U @ X
        Z = anderson(lambda z, W=W, C=C: np.maximum(W @ z + C, 0), Z, tolerance, most).z  # type: ignore[misc]
        r = Z.T @ a - y
        losses.append(float(r @ r))
        if k % max(steps // 30, 1) == 0:
            norms.append(float(np.linalg.norm(W, 2)))
            at.append(k)
            progress(Progress("", k, k * rate, k / steps, losses[-1]))
        on = Z > 0
        E = np.outer(a, 2 * r)
        V = anderson(lambda v, W=W, E=E, on=on: on * (W.T @ v + E), V, tolerance, most).z  # type: ignore[misc]
        W, U, a = W - rate / m * (V @ Z.T), U - rate / m * (V @ X.T), a - rate * (Z @ (2 * r))
    return {
        "k": np.arange(steps + 1.0),
        "loss": np.array(losses),
        "norm2.W.k": np.array(at, dtype=float),
        "norm2.W": np.array(norms),
    }
