"""The few rules by which computed numbers get their error bars.

Each rule is the classical bound with a small stated factor: rounding errors of long sums grow like
the square root of their length in practice, so a few times `length * eps` has room to spare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import smallest
from deqcheck.records.measured import EPS, Measured

# The square of anything smaller is not a normal number; a norm above the other is not touched.
SMALL, UNTOUCHED = float(np.sqrt(np.finfo(float).tiny)), 1e-100


def length(a: np.ndarray) -> float:
    """Frobenius norm, and no less than that where squares underflow."""
    norm = math.sqrt(np.vdot(a, a))
    return norm + _hidden(norm, a)


def _hidden(norm: float, a: np.ndarray) -> float:
    """How much larger the norm may be because squares underflowed."""
    return 0.0 if norm > UNTOUCHED or not a.any() else SMALL * math.sqrt(a.size)


def rounding(length: int, scale: float, factor: float = 4.0) -> float:
    """A sum of `length` products whose absolute values add up to at most `scale`."""
    return factor * length * EPS * scale


def sum_of_squares(a: np.ndarray, radius: float = 0.0) -> Measured:
    """||a||_F^2 when every computed a lies within `radius` (Frobenius) of the true one."""
    value = float(np.vdot(a, a).real)
    size = float(np.sqrt(value))
    return Measured(value, 2 * size * radius + radius * radius + rounding(1, value))


def frobenius(a: np.ndarray, radius: float = 0.0) -> Measured:
    value = float(np.linalg.norm(a))
    return Measured(value, radius + rounding(1, value) + _hidden(value, a))


def lapack(shape: tuple[int, ...], size: float) -> float:
    """Backward error of LAPACK's eigenvalues and singular values: a small multiple of the order;
    2 x 2 matrices have been seen to need three times order * eps."""
    return (8 + 4 * max(shape)) * EPS * float(size)


def singular_values(a: np.ndarray, radius: float = 0.0) -> Measured:
    """All of them, descending. Weyl: none moves further than the matrix does (2-norm)."""
    if not a.size or not np.isfinite(a).all():
        count = min(a.shape)
        return Measured(np.full(count, np.nan), np.inf)
    s = np.linalg.svd(a, compute_uv=False)
    return Measured(s, np.full(s.shape, radius + lapack(a.shape, s[0])), "Weyl")


def norm2(a: np.ndarray, radius: float = 0.0) -> Measured:
    """Operator 2-norm of a matrix, Euclidean norm of a vector."""
    if a.ndim == 1:
        return frobenius(a, radius)
    if a.size == 1:
        return Measured(abs(float(a[0, 0])), radius)
    return singular_values(a, radius)[0]


def norm1(a: np.ndarray, radius: float = 0.0) -> Measured:
    """Induced 1-norm: the largest column sum of absolute values."""
    value = float(np.abs(a).sum(axis=0).max())
    return Measured(value, radius + rounding(1, value))


def nth_singular_value(a: np.ndarray, count: int, radius: float = 0.0) -> Measured:
    """The `count`-th singular value: exactly 0 when the matrix has fewer."""
    if min(a.shape) < count:
        return Measured(0.0)
    if count == min(a.shape) >= smallest.LARGE:
        last = smallest.smallest_singular_value(a if count == a.shape[1] else a.T)
        if last is not None:
            return last.widened(radius)
    s = singular_values(a, radius)[count - 1]
    return Measured(max(s.value, 0.0), s.error, s.how)


def symmetric_eigenvalues(a: np.ndarray, radius: float = 0.0) -> Measured:
    """Ascending eigenvalues of a symmetric matrix (Weyl)."""
    if not np.isfinite(a).all():
        return Measured(np.full(len(a), np.nan), np.inf)
    w = np.linalg.eigvalsh(a)
    size = float(np.abs(w).max(initial=0.0))
    return Measured(w, np.full(w.shape, radius + lapack(a.shape, size)), "Weyl")


def together(norms: Iterable[Measured]) -> Measured:
    """sqrt of the sum of squares of several norms (their radii add at most in the same way)."""
    parts = list(norms)
    # hypot: squares of large floats would raise.
    value = math.hypot(*(p.value for p in parts))
    radius = math.hypot(*(p.error for p in parts))
    return Measured(value, radius + rounding(1, value))
