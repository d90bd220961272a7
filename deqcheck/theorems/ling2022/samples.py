"""The samples as Assumption 2 sees them: their norms, and the pair that is nearest to parallel."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import numpy as np

from deqcheck.linalg import exact
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Again, integer, rational

# Pairwise sums of any length that fits in memory, a root and a quotient.
ULPS = 64


class Samples:
    def __init__(self, X: np.ndarray):
        self.X = X
        self.d, self.n = X.shape

    @cached_property
    def lengths(self) -> np.ndarray:
        """|x_i|/sqrt(d): 1 under Assumption 2."""
        # Contiguous rows: their sums are pairwise. Of order 1: their squares stay in range.
        rows = np.ascontiguousarray(self.X.T)
        size = np.abs(rows).max(axis=1)
        found: np.ndarray = size * np.sqrt(np.sum((rows / size[:, None]) ** 2, axis=1) / self.d)
        return found

    @cached_property
    def deviation(self) -> Measured:
        """max_i ||x_i|/sqrt(d) - 1|."""
        again = _deviation(exact.array(self.X), self.n, self.d)
        return Measured(float(np.abs(self.lengths - 1).max()), ULPS * EPS, again=again)

    @cached_property
    def unit(self) -> np.ndarray:
        """x_i/|x_i|."""
        found: np.ndarray = self.X / (self.lengths * np.sqrt(self.d))
        return found

    @cached_property
    def cosines(self) -> np.ndarray:
        found: np.ndarray = np.clip(self.unit.T @ self.unit, -1.0, 1.0)
        np.fill_diagonal(found, 1.0)
        return found

    def nearest(self, lines: bool) -> tuple[Measured, int, int]:
        """The smallest |u_i - u_j| of unit samples, and which two; with `lines` also |u_i + u_j|.
        Exactly 0 only where a sample is there twice, or its opposite."""
        twins = self._twins(lines)
        if twins is not None:
            return given(0), *twins
        cosines = np.abs(self.cosines) if lines else self.cosines.copy()
        np.fill_diagonal(cosines, -np.inf)
        # The cosine tells angles above 1e-8 apart, the difference all of them.
        other = np.argmax(cosines, axis=1)
        apart = np.linalg.norm(self.unit - self.unit[:, other], axis=0)
        if lines:
            apart = np.minimum(apart, np.linalg.norm(self.unit + self.unit[:, other], axis=0))
        i = int(np.argmin(apart))
        low, high = sorted((i, int(other[i])))
        X = exact.array(self.X)
        x, y = exact.column_of(X, low), exact.column_of(X, high)
        again = _angle_chord(x, y)
        if lines:
            again = Again("smaller", again, _angle_chord(x, exact.scaled(exact.MINUS_ONE, y)))
        return Measured(float(apart[i]), ULPS * EPS, again=again), low, high

    def _twins(self, lines: bool) -> tuple[int, int] | None:
        seen: dict[bytes, int] = {}
        for j, x in enumerate(self.X.T):
            # Adding 0 makes -0 the same as 0.
            key = (x + 0.0).tobytes()
            if lines and next(iter(x[x != 0]), 1.0) < 0:
                key = (-x + 0.0).tobytes()
            if key in seen:
                return seen[key], j
            seen[key] = j
        return None


def _deviation(X: Again, n: int, d: int) -> Again:
    """max_i ||x_i|/sqrt(d) - 1|."""
    share, minus_one = rational(Fraction(1, d)), exact.MINUS_ONE
    squares = (exact.sum_of_squares(exact.column_of(X, j)) for j in range(n))
    lengths = (Again("root", Again("times", share, square)) for square in squares)
    off = (Again("size", Again("plus", length, minus_one)) for length in lengths)
    return reduce(lambda a, b: Again("larger", a, b), off)


def _angle_chord(x: Again, y: Again) -> Again:
    """|u - v| for the columns x, y scaled to length 1: sqrt(2 - 2 x.y/(|x| |y|))."""
    lengths = Again("root", Again("times", exact.sum_of_squares(x), exact.sum_of_squares(y)))
    cosine = Again("over", exact.inner(x, y), lengths)
    two = integer(2)
    return Again("root", Again("plus", two, Again("minus", Again("times", two, cosine))))
