"""Spectral abscissae of Metzler matrices, which have no negative entry off the diagonal.

For every positive x the abscissa is at most max_i (M x)_i/x_i, and for every x >= 0 that is not 0
at least min_i (M x)_i/x_i over the support of x (Collatz and Wielandt). Of a nonnegative matrix the
abscissa is the spectral radius.
"""

from __future__ import annotations

import numpy as np

from deqcheck.linalg import lapack
from deqcheck.linalg.entries import finite
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.tower import Again

# Noda's iteration is quadratic where M is irreducible, and halves the distance where it is not.
SWEEPS = 60
# Roundings of a quotient beyond those of its sum.
ROOM = 4


def metzler(W: np.ndarray) -> np.ndarray:
    """M with M_ii = W_ii and M_ij = |W_ij|."""
    M: np.ndarray = np.abs(W)
    M[np.diag_indices(len(W))] = np.diag(W)
    return M


def abscissa(M: np.ndarray, exact: Again | None = None) -> Measured:
    """The largest real part of an eigenvalue of a Metzler matrix, between two quotients."""
    if not finite(M):
        return Measured(np.nan, np.inf, again=exact)
    x: np.ndarray | None = np.ones(len(M))
    low, high = _pairs(M), np.inf
    for _ in range(SWEEPS):
        if x is None:
            break
        below, above = quotients(M, x)
        low, high = max(low, below), min(high, above)
        if not high - low > 4 * EPS * len(M) * max(abs(high), abs(low)):
            break
        x = _next(M, x, high)
    return Measured((low + high) / 2, (high - low) / 2 * (1 + 4 * EPS), again=exact)


def quotients(M: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """min and max of (M x)_i/x_i, rounded outward, for positive x."""
    y, size = M @ x, np.abs(M) @ x
    spread = (len(M) + ROOM) * EPS * size
    return float(((y - spread) / x).min()), float(((y + spread) / x).max())


def _next(M: np.ndarray, x: np.ndarray, high: float) -> np.ndarray | None:
    """(high I - M)^-1 x, which is positive where high is above the abscissa."""
    shifted = -M
    # A little above, so that it stays regular.
    shifted[np.diag_indices(len(M))] += high + 4 * EPS * max(abs(high), float(np.abs(M).max()))
    try:
        y = lapack.solve(shifted, x)
    except np.linalg.LinAlgError:
        return None
    largest = float(np.abs(y).max())
    if not (np.isfinite(largest) and (y > 0).all()):
        return None
    y /= largest
    return y if y.min() > 1e-290 else None


def _pairs(M: np.ndarray) -> float:
    """The largest abscissa of a block of order 1 or 2."""
    d = np.diag(M)
    low = float(d.max())
    if len(M) > 1:
        product = M * M.T
        np.fill_diagonal(product, 0.0)
        half = (d[:, None] - d) / 2
        size = np.abs(d[:, None]) + np.abs(d) + np.sqrt(product)
        pairs = (d[:, None] + d) / 2 + np.sqrt(half * half + product) - 8 * EPS * size
        np.fill_diagonal(pairs, -np.inf)
        low = max(low, float(pairs.max()))
    return low


def positive_solution(M: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """An upper bound of (I - M)^-1 right, entry by entry, for right >= 0 (a vector, or columns);
    None where no positive v shows that I - M is a nonsingular M-matrix.

    (I - M)^-1 is nonnegative, so that (I - M) y >= right is enough: what a computed y lacks is made
    up for by a multiple of v, with (I - M) v >= 1/2.
    """
    F, n = np.eye(len(M)) - M, len(M)
    columns = right.reshape(n, -1)
    try:
        both = lapack.solve(F, np.column_stack([np.ones(n), columns]))
    except np.linalg.LinAlgError:
        return None
    v, y = both[:, 0], both[:, 1:]
    if not (finite(both) and (v > 0).all()):
        return None
    steep = (n + ROOM) * EPS * (np.eye(n) + np.abs(M))
    if not (F @ v - steep @ v >= 0.5).all():
        return None
    lacking = np.maximum((columns - F @ y + steep @ np.abs(y)).max(axis=0), 0.0)
    found: np.ndarray = (y + 2 * np.outer(v, lacking)) * (1 + ROOM * EPS)
    found = np.maximum(found, 0.0)
    return found.reshape(right.shape)
