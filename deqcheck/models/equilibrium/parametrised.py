"""W as networks store it: directly, by the parts of a monotone or a non-Euclidean one, or before
its projection."""

from __future__ import annotations

import numpy as np

DIRECT, MONOTONE, NEMON, PROJECTED = "direct", "monotone", "nemon", "projected"
WAYS = (DIRECT, MONOTONE, NEMON, PROJECTED)
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    DIRECT: {"W": ("n", "n")},
    MONOTONE: {"A": ("r", "n"), "B": ("n", "n")},
    NEMON: {"A": ("n", "n"), "d": ("n",)},
    PROJECTED: {"W": ("n", "n")},
}


def monotone(m: float, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(1 - m) I - A^T A + B - B^T: the symmetric part of I - W is m I + A^T A."""
    W: np.ndarray = B - B.T - A.T @ A
    W[np.diag_indices(len(W))] += 1 - m
    return W


def nemon(m: float, A: np.ndarray, d: np.ndarray) -> np.ndarray:
    """m I + e^-d A e^d - diag(|A| 1): with eta = e^-d, M eta <= m eta."""
    W: np.ndarray = A * np.exp(d - d[:, None])
    W[np.diag_indices(len(W))] += m - np.abs(A).sum(axis=1)
    return W


def projected(W: np.ndarray, bound: float) -> np.ndarray:
    """Each row that is longer than the bound in the 1-norm, onto the ball of that radius."""
    found = W.copy()
    for i in np.flatnonzero(np.abs(W).sum(axis=1) > bound):
        sizes = np.sort(np.abs(W[i]))[::-1]
        excess = (np.cumsum(sizes) - bound) / np.arange(1, len(sizes) + 1)
        # The largest entry is above its excess unless rounding hides it.
        last = np.flatnonzero(sizes > excess)[-1:]
        kept = np.maximum(np.abs(W[i]) - excess[last].sum(), 0.0) if len(last) else 0.0 * W[i]
        if not kept.any():
            kept[np.argmax(np.abs(W[i]))] = bound
        found[i] = np.sign(W[i]) * kept
    return found
