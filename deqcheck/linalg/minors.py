"""The principal minors of F = I - W: det(I - D W) for the 2^n patterns D of zeros and ones.

All are positive if and only if F is a P-matrix. Then I - D W is invertible for every diagonal D
with entries in [0, 1], since its determinant is affine in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.errors import lapack
from deqcheck.linalg.rational import Rows, rows_of
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.scalar import TINY

# Up to this order all patterns are looked at; inverses are, up to the second one.
MOST, MOST_INVERSES = 16, 12
CHUNK = 4096
# Determinants that doubles leave open are computed in rationals, so many at most.
MOST_RATIONAL = 512
EXPONENT = 700.0
# Stands for numbers that are too large for a double: their sign is what counts.
LARGE = 8e307


@dataclass(frozen=True, eq=False)
class Minors:
    """Each with a bar; `on` has the pattern of each."""

    W: np.ndarray
    on: np.ndarray
    value: np.ndarray
    error: np.ndarray

    @cached_property
    def smallest(self) -> Measured:
        low, high = float((self.value - self.error).min()), float((self.value + self.error).min())
        value = float(self.value.min())
        return Measured(value, max(high - value, value - low) * (1 + 4 * EPS))

    @cached_property
    def culprit(self) -> np.ndarray | None:
        """The units of a minor that is certainly not positive, as few as there are."""
        bad = np.flatnonzero(self.value + self.error <= 0)
        if not len(bad):
            return None
        return np.flatnonzero(self.on[bad[np.argmin(self.on[bad].sum(axis=1))]])


def patterns(n: int) -> np.ndarray:
    """All of them, one in each row."""
    found: np.ndarray = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return found.astype(bool)


def minors(W: np.ndarray, on: np.ndarray | None = None) -> Minors:
    """Of all patterns, or of those given. The empty one is 1."""
    on = patterns(len(W)) if on is None else on
    value, error = np.ones(len(on)), np.zeros(len(on))
    for at in _chunks(len(on)):
        value[at], error[at] = _determinants(_systems(W, on[at]))
    value, error = _settled(W, on, value, error)
    return Minors(W, on, value, error)


def _chunks(count: int) -> Iterator[slice]:
    return (slice(i, i + CHUNK) for i in range(0, count, CHUNK))


def _systems(W: np.ndarray, on: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.eye(len(W)) - on[:, :, None] * W
    return found


def _determinants(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LU solves a system that is near: det(M + E) = det(M) det(I + M^-1 E)."""
    n = M.shape[-1]
    with np.errstate(all="ignore"):
        sign, size = np.linalg.slogdet(M)
        # Beyond the range of doubles the sign is what counts.
        value = sign * np.exp(np.clip(size, -EXPONENT, EXPONENT))
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            inverse = np.stack([_inverse(each) for each in M])
        scale = np.sqrt((M * M).sum(axis=(1, 2)) * (inverse * inverse).sum(axis=(1, 2)))
        moved = lapack((n, n), 1.0) * scale
        # A rounding of 1 - W_ii counts like one of M.
        relative = np.where(moved < 0.01, 1.1 * n * moved, np.inf)
        error = np.where(np.isfinite(value), np.abs(value), 1.0) * relative
    return value, np.where(np.isfinite(error), error, np.inf)


def _inverse(M: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        return np.full(M.shape, np.inf)


def _settled(
    W: np.ndarray, on: np.ndarray, value: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Those of unknown sign in rationals, small patterns first."""
    small = on.sum(axis=1) <= MOST
    open_ = np.flatnonzero(~(np.abs(value) > error) & small)
    open_ = open_[np.argsort(on[open_].sum(axis=1), kind="stable")]
    for i in open_[:MOST_RATIONAL]:
        value[i], error[i] = _rounded(determinant(block(W, np.flatnonzero(on[i]))))
    return value, error


def _rounded(exact: Fraction) -> tuple[float, float]:
    """A double with the sign of the number, and its radius."""
    sign = -1.0 if exact < 0 else 1.0
    try:
        near = float(exact)
    except OverflowError:
        return sign * LARGE, LARGE / 2
    if near == 0 and exact != 0:
        return sign * TINY, 0.0
    return near, 0.0 if Fraction(near) == exact else min(EPS * abs(near) + TINY, abs(near) / 2)


def block(W: np.ndarray, units: np.ndarray) -> Rows:
    """I - W on these units."""
    found = rows_of(-W[np.ix_(units, units)])
    for i, row in enumerate(found):
        row[i] += 1
    return found


def determinant(rows: Rows) -> Fraction:
    a, found = [list(row) for row in rows], Fraction(1)
    for i in range(len(a)):
        pivot = next((k for k in range(i, len(a)) if a[k][i]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != i:
            a[i], a[pivot], found = a[pivot], a[i], -found
        found *= a[i][i]
        for k in range(i + 1, len(a)):
            share = a[k][i] / a[i][i]
            if share:
                a[k] = [x - share * y for x, y in zip(a[k], a[i], strict=True)]
    return found


def last_of_adjugate(rows: Rows) -> list[Fraction]:
    """The last column of adj(A): (-1)^(i + n - 1) times the minor without row n - 1, column i."""
    n = len(rows)
    rest = rows[: n - 1]
    return [
        (-1) ** (i + n - 1) * determinant([row[:i] + row[i + 1 :] for row in rest])
        for i in range(n)
    ]


def inverses(W: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The patterns and (I - D W)^-1, many at a time."""
    on = patterns(len(W))
    for at in _chunks(len(on)):
        yield on[at], np.linalg.inv(_systems(W, on[at]))
