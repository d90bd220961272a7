"""The few rules by which computed numbers get their error bars.

Each rule is the classical worst case with a small stated factor (Higham, chapters 3 and 4): it
counts the roundings that a term takes part in. Where the matrix can be computed again, `exact`
makes it, and the number can be computed again, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from deqcheck.linalg import entries, largest, remembered, smallest
from deqcheck.linalg import exact as again
from deqcheck.linalg.near_one import against_one
from deqcheck.records.measured import EPS, Measured, given, sqrt
from deqcheck.records.scalar import TINY
from deqcheck.records.tower import Again

# A number, or one for each of several problems.
F = TypeVar("F", float, np.ndarray)
# Norms between these have squares that neither underflow nor overflow.
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-100, 1e100
# What underflow may take from a product in each of a million entries, together.
UNDERFLOW = 1e3 * TINY
# A term of NumPy's pairwise sum meets at most 16 + 3 + 7 additions in its block of 128, and one for
# each halving of the array down to such a block.
IN_BLOCK, BLOCK_BITS = 26, 6
# Entries that are added up sooner one by one, as NumPy does with so few, to the last digit.
FEW = 7


def rounding(length: float, scale: F, factor: float = 4.0) -> F:
    """A sum of `length` products whose absolute values add up to at most `scale`."""
    return factor * length * (EPS * scale + UNDERFLOW * (scale > 0))


def product(length: int, scale: F) -> F:
    """A matrix product of this inner length, plus one array, |A|_F |B|_F + |C|_F <= scale: no order
    of summation loses more than (length + 2) eps/2."""
    return rounding(max(4 * math.sqrt(length), length / 2 + 1), scale, 1.0)


def summed(length: int, scale: F) -> F:
    """The same for a contiguous array that NumPy adds up in pairs; sums do not underflow."""
    halvings = max(length.bit_length() - BLOCK_BITS, 0)
    return max(4, min(length, IN_BLOCK + halvings)) * EPS * scale


def squares(a: np.ndarray) -> float:
    """||a||_F^2. Added up in pairs, which the inner products of BLAS are not."""
    flat = a.ravel(order="K")
    if flat.size <= FEW:
        total = 0.0
        for x in flat.tolist():
            total += x * x
        return total
    with np.errstate(over="ignore"):
        return float(np.add.reduce(flat * flat))


def length(a: np.ndarray) -> float:
    """Frobenius norm, also where squares would underflow or overflow."""
    norm = math.sqrt(squares(a))
    if SMALLEST_PLAIN < norm < LARGEST_PLAIN:
        return norm
    top = entries.largest(a)
    if top == 0 or not math.isfinite(top):
        return norm
    # A power of two scales without rounding; what falls below 1e-300 of the largest is nothing.
    exponent = math.frexp(top)[1]
    scaled = math.sqrt(squares(np.ldexp(a, -exponent)))
    return float(np.ldexp(scaled, exponent))


def of_squares(count: int, value: F, size: F, radius: F) -> F:
    """Of a sum of squares with this value, of entries of this size that are off by a radius."""
    found: F = 2 * size * radius + radius * radius + summed(count, value)
    return found


def sum_of_squares(a: np.ndarray, radius: float = 0.0, exact: Again | None = None) -> Measured:
    """||a||_F^2 when every computed a lies within `radius` (Frobenius) of the true one."""
    value = squares(a)
    # What underflowed is not zero.
    lost = a.size * TINY if value < SMALLEST_PLAIN**2 and entries.nonzero(a) else 0.0
    error = of_squares(a.size, value, length(a), radius) + lost
    return Measured(value, error, again=exact and again.sum_of_squares(exact))


def frobenius(a: np.ndarray, radius: float = 0.0, exact: Again | None = None) -> Measured:
    value = length(a)
    subnormal = TINY if 0 < value < SMALLEST_PLAIN else 0.0
    error = radius + summed(a.size, value) + subnormal
    return Measured(value, error, again=exact and again.frobenius(exact))


def lapack(shape: tuple[int, ...], size: float) -> float:
    """Backward error of LAPACK's eigenvalues and singular values: a small multiple of the order;
    2 x 2 matrices have been seen to need three times order * eps."""
    return (8 + 4 * max(shape)) * EPS * float(size)


def singular_values(a: np.ndarray, radius: float = 0.0) -> Measured:
    """All of them, descending. Weyl: none moves further than the matrix does (2-norm)."""
    if not a.size or not entries.finite(a):
        count = min(a.shape)
        return Measured(np.full(count, np.nan), np.inf)
    s = remembered.singular_values(a)
    return Measured(s, np.full(s.shape, radius + lapack(a.shape, s[0])), "Weyl")


def _one(a: np.ndarray, i: int, radius: float) -> Measured:
    """The i-th of them, counted from 0."""
    if not a.size or not entries.finite(a):
        return Measured(math.nan, math.inf)
    s = remembered.singular_values(a)
    return Measured(float(s[i]), radius + lapack(a.shape, s[0]), "Weyl")


def _largest(a: np.ndarray, radius: float) -> Measured:
    """Of a large matrix without the others, to no less than the accuracy of the decomposition."""
    if min(a.shape) >= largest.LARGE and entries.finite(a):
        found = remembered.largest(a, lapack(a.shape, 1.0))
        if found is not None:
            return found.widened(radius)
    return _one(a, 0, radius)


def norm2(a: np.ndarray, radius: float = 0.0, exact: Again | None = None) -> Measured:
    """Operator 2-norm of a matrix, Euclidean norm of a vector."""
    if a.ndim == 1:
        return frobenius(a, radius, exact)
    node = exact and again.norm2(exact)
    if a.size == 1:
        return Measured(abs(float(a[0, 0])), radius, again=node)
    found = _largest(a, radius)
    found = found if radius else against_one(a, found)
    return Measured(found.value, found.error, found.how, node)


def norm1(a: np.ndarray, radius: float = 0.0, exact: Again | None = None) -> Measured:
    """Induced 1-norm: the largest column sum of absolute values."""
    # Columns as contiguous rows: added up in pairs.
    value = float(np.abs(np.ascontiguousarray(a.T)).sum(axis=1).max())
    return Measured(value, radius + summed(len(a), value), again=exact and again.norm1(exact))


def nth_singular_value(
    a: np.ndarray, count: int, radius: float = 0.0, exact: Again | None = None
) -> Measured:
    """The `count`-th singular value: exactly 0 when the matrix has fewer."""
    if min(a.shape) < count:
        return given(0, exact and again.singular_value(exact, count))
    node = exact and again.singular_value(exact, count)
    if count == min(a.shape) >= smallest.LARGE:
        last = smallest.smallest_singular_value(a if count == a.shape[1] else a.T)
        if last is not None:
            return replace(last.widened(radius), again=node)
    s = _one(a, count - 1, radius) if count > 1 else _largest(a, radius)
    return Measured(max(s.value, 0.0), s.error, s.how, node)


def symmetric_eigenvalues(a: np.ndarray, radius: float = 0.0) -> Measured:
    """Ascending eigenvalues of a symmetric matrix (Weyl)."""
    if not entries.finite(a):
        return Measured(np.full(len(a), np.nan), np.inf)
    w = remembered.eigenvalues(a)
    size = entries.largest(w)
    return Measured(w, np.full(w.shape, radius + lapack(a.shape, size)), "Weyl")


def eigenvalue(a: np.ndarray, k: int, radius: float = 0.0, exact: Again | None = None) -> Measured:
    """The k-th smallest one of a symmetric matrix; a negative k counts from the largest."""
    found = symmetric_eigenvalues(a, radius)[k]
    return Measured(found.value, found.error, found.how, exact and again.eigenvalue(exact, k))


def together(norms: Iterable[Measured]) -> Measured:
    """sqrt of the sum of squares of several norms (their radii add at most in the same way)."""
    parts = list(norms)
    # hypot: squares of large floats would raise.
    value = math.hypot(*(p.value for p in parts))
    radius = math.hypot(*(p.error for p in parts))
    squares = sum((p * p for p in parts[1:]), parts[0] * parts[0])
    return Measured(value, radius + rounding(1, value), again=sqrt(squares).again)
