"""Matrices with one error radius for all entries, which can be computed again.

A `Matrix` is an array, a bound on the Frobenius norm of its error, and a node of the tower that
makes the true matrix. What is computed of it carries all three, so that nobody counts roundings by
hand; its numbers are `Measured`. An entry of a sum, a product of entries or a quotient is rounded
by at most eps/2 of what came out (or by the smallest double); for products see `errors.product`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from deqcheck.linalg import entries, errors, exact, lapack
from deqcheck.linalg.exact import AtLevel, Binary
from deqcheck.records.basis import weakest
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, Number, given, measured, vanishing
from deqcheck.records.scalar import TINY
from deqcheck.records.tower import Again

# The radii are sums and products of a few doubles themselves.
ROUNDED_UP = 1 + 32 * EPS


@dataclass(frozen=True, eq=False, init=False)
class Matrix:
    """`array`, whose error is at most `radius` in the Frobenius norm; a vector is a column.

    `how` says where the radius comes from, if it is an estimate.
    """

    array: np.ndarray
    radius: float
    exact: Again | None = field(repr=False)
    how: str

    # numpy leaves mixed arithmetic to this class.
    __array_ufunc__ = None

    def __init__(
        self, array: np.ndarray, radius: float = 0.0, exact: Again | None = None, how: str = ""
    ):
        a = np.asarray(array, dtype=float)
        a = a.reshape(len(a), -1) if a.ndim < 2 else a
        known = entries.finite(a) and not math.isnan(radius)
        vars(self).update(
            array=a, radius=float(radius) if known else math.inf, exact=exact, how=how
        )

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.array.shape
        return rows, columns

    @cached_property
    def size(self) -> float:
        """The Frobenius norm of the array, rounded up a little."""
        return errors.length(self.array) * (1 + errors.summed(self.array.size, 1.0))

    @property
    def whole(self) -> float:
        """A bound on the Frobenius norm of the true matrix."""
        return self.size + self.radius

    # ---- sums and products ----------------------------------------------------------------------

    def __add__(self, other: Matrix) -> Matrix:
        return self._sum(other, np.add, exact.plus)

    def __sub__(self, other: Matrix) -> Matrix:
        return self._sum(other, np.subtract, exact.minus)

    def _sum(self, other: Matrix, add: np.ufunc, again: Binary) -> Matrix:
        _matching(self.shape, other.shape)
        array = add(self.array, other.array)
        radius = self.radius + other.radius + _rounded(array)
        return self._with(other, array, radius, again)

    def __neg__(self) -> Matrix:
        node = self.exact and exact.scaled(exact.MINUS_ONE, self.exact)
        return Matrix(-self.array, self.radius, node, self.how)

    def __mul__(self, factor: Number) -> Matrix:
        """By a number, which stands on the right if it is a Measured."""
        c = measured(factor)
        array = c.value * self.array
        spread = _times(abs(c.value), self.radius) + _times(c.error, self.whole)
        node = exact.scaled(c.again, self.exact) if c.again and self.exact else None
        radius = (
            spread + _rounded(array) + (_underflown(array, self.array) if c.value else 0.0)
        ) * ROUNDED_UP
        return Matrix(array, radius, node, weakest(self.how, c.how))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Matrix:
        return self * (1 / measured(divisor))

    def __matmul__(self, other: Matrix) -> Matrix:
        scale = self.size * other.size
        if scale < errors.LARGEST_PLAIN:
            array = self.array @ other.array
        else:
            with np.errstate(all="ignore"):
                array = self.array @ other.array
        length = self.shape[1]
        radius = self._spread(self.size, other.size, other)
        radius += errors.product(length, scale)
        radius += length * _underflown(array, self.array, other.array)
        return self._with(other, array, radius, exact.product)

    def hadamard(self, other: Matrix) -> Matrix:
        """Entry by entry."""
        _matching(self.shape, other.shape)
        array = self.array * other.array
        radius = self._spread(entries.largest(self.array), entries.largest(other.array), other)
        radius += _rounded(array) + _underflown(array, self.array, other.array)
        return self._with(other, array, radius, exact.hadamard)

    def kronecker(self, other: Matrix) -> Matrix:
        array = np.kron(self.array, other.array)
        radius = self._spread(self.size, other.size, other) + _rounded(array)
        radius += _underflown(array, self.array, other.array)
        return self._with(other, array, radius, _node(exact.kronecker))

    def khatri_rao(self, other: Matrix) -> Matrix:
        """Of each pair of columns the Kronecker product."""
        array = np.einsum("ij,kj->ikj", self.array, other.array)
        array = array.reshape(-1, self.shape[1])
        longest = _longest_column(self.array), _longest_column(other.array)
        radius = self._spread(longest[0], longest[1], other) + _rounded(array)
        radius += _underflown(array, self.array, other.array)
        return self._with(other, array, radius, _node(exact.khatri_rao))

    def _spread(self, mine: float, others: float, other: Matrix) -> float:
        """What the errors of two factors of these sizes make of their product."""
        return (
            _times(mine, other.radius)
            + _times(others, self.radius)
            + _times(self.radius, other.radius)
        )

    def _with(self, other: Matrix, array: np.ndarray, radius: float, again: Binary) -> Matrix:
        node = again(self.exact, other.exact) if self.exact and other.exact else None
        return Matrix(array, radius * ROUNDED_UP, node, weakest(self.how, other.how))

    @property
    def T(self) -> Matrix:
        node = self.exact and exact.transpose(self.exact)
        return Matrix(self.array.T, self.radius, node, self.how)

    def solve(self, other: Matrix) -> Matrix:
        """X with self X = other: its error is the inverse times what is left of the equation."""
        try:
            found = lapack.solve(self.array, other.array)
        except np.linalg.LinAlgError:
            found = np.full(other.shape, np.nan)
        node = _node(exact.solution)
        again = node(self.exact, other.exact) if self.exact and other.exact else None
        left = other - self @ Matrix(found)
        smallest = self.nth_singular_value(self.shape[1])
        radius = left.whole / smallest.low * ROUNDED_UP if smallest.low > 0 else math.inf
        return Matrix(found, radius, again, weakest(left.how, smallest.how))

    def diagonal(self) -> Matrix:
        """As a column."""
        node = self.exact and Again(exact.diagonal, self.exact)
        return replace(self, array=np.diag(self.array), exact=node)

    def vec(self) -> Matrix:
        """Column under column."""
        node = self.exact and Again(exact.vec, self.exact)
        return replace(self, array=self.array.ravel(order="F"), exact=node)

    # ---- numbers --------------------------------------------------------------------------------

    def __getitem__(self, at: tuple[int, int]) -> Measured:
        node = self.exact and exact.entry(self.exact, *at)
        return Measured(float(self.array[at]), self.radius, self.how, node)

    def smallest(self) -> Measured:
        """Of all entries."""
        node = self.exact and Again(exact.smallest, self.exact)
        return Measured(float(self.array.min()), self.radius, self.how, node)

    def largest(self) -> Measured:
        node = self.exact and Again(exact.largest, self.exact)
        return Measured(float(self.array.max()), self.radius, self.how, node)

    def column(self, j: int) -> Matrix:
        node = self.exact and exact.column_of(self.exact, j)
        return replace(self, array=self.array[:, j], exact=node)

    def trace(self) -> Measured:
        """Over n numbers the sum of errors is sqrt(n) times their length at most."""
        return self._added_up(np.diag(self.array), self.exact and exact.trace(self.exact))

    def sum(self) -> Measured:
        return self._added_up(self.array, self.exact and Again(exact.summed, self.exact))

    def _added_up(self, a: np.ndarray, node: Again | None) -> Measured:
        flat = np.ascontiguousarray(a).ravel()
        value, scale = float(flat.sum()), float(np.abs(flat).sum())
        error = math.sqrt(flat.size) * self.radius + errors.summed(flat.size, scale)
        return Measured(value, error * ROUNDED_UP, self.how, node)

    def inner(self, other: Matrix) -> Measured:
        """The sum of the products of entries."""
        return self.hadamard(other).sum()

    def sum_of_squares(self) -> Measured:
        return self._told(errors.sum_of_squares(self.array, self.radius, self.exact))

    def frobenius(self) -> Measured:
        return self._told(errors.frobenius(self.array, self.radius, self.exact))

    def norm2(self) -> Measured:
        return self._told(errors.norm2(self.array, self.radius, self.exact))

    def norm1(self) -> Measured:
        """The largest column sum: in a column of n entries sqrt(n) times their length at most."""
        radius = math.sqrt(self.shape[0]) * self.radius
        return self._told(errors.norm1(self.array, radius, self.exact))

    def norm_inf(self) -> Measured:
        """The largest row sum."""
        return self.T.norm1()

    def nth_singular_value(self, n: int) -> Measured:
        """Counted from the largest, from 1."""
        return self._told(errors.nth_singular_value(self.array, n, self.radius, self.exact))

    def eigenvalue(self, k: int) -> Measured:
        """Of a symmetric matrix the k-th smallest; a negative k counts from the largest."""
        # The nearest symmetric array is no further from the true matrix.
        array = (self.array + self.array.T) / 2
        radius = self.radius + _rounded(array)
        return self._told(errors.eigenvalue(array, k, radius, self.exact))

    def rank(self) -> Measured:
        """Between the singular values that are certainly positive and those that may be."""
        s = errors.singular_values(self.array, self.radius)
        sure, possible = int((s.low > 0).sum()), int((s.high > 0).sum())
        node = self.exact and exact.rank(self.exact)
        if not np.isfinite(s.error).all():
            return Measured(math.nan, math.inf, s.how, node)
        return Measured((sure + possible) / 2, (possible - sure) / 2, "numerical rank", node)

    def vanishes(self) -> dict[str, Measured]:
        """For a check `deviation <= noise`, of a matrix that should be 0."""
        size = self.frobenius()
        return {
            "deviation": Measured(size.value, again=size.again),
            "noise": vanishing(size.error),
        }

    def _told(self, found: Measured) -> Measured:
        return replace(found, how=weakest(self.how, found.how)) if self.how else found


def instance(a: np.ndarray) -> Matrix:
    """An array of the instance, which is these doubles and no others."""
    return Matrix(a, 0.0, exact.array(np.asarray(a, dtype=float)))


def count(a: np.ndarray, axis: int) -> Measured:
    """Of the rows (axis 0) or columns of an array of the instance."""
    columns = exact.array(a.reshape(len(a), -1))
    word = Again("count", columns).called("count", axis=axis)
    return given(a.reshape(len(a), -1).shape[axis], word)


def identity(n: int) -> Matrix:
    return instance(np.eye(n))


def stacked(parts: list[Matrix]) -> Matrix:
    """One on top of the other."""
    node = parts[0].exact
    for part in parts[1:]:
        node = exact.stacked(node, part.exact) if node and part.exact else None
    radius = math.hypot(*(part.radius for part in parts)) * ROUNDED_UP
    how = weakest(*(part.how for part in parts))
    return Matrix(np.vstack([part.array for part in parts]), radius, node, how)


def _node(at_level: AtLevel) -> Binary:
    return lambda a, b: Again(at_level, a, b)


def _times(a: float, b: float) -> float:
    """0 * inf = 0: what is not there is not wrong either."""
    return a * b if a and b else 0.0


def _rounded(array: np.ndarray) -> float:
    """Of entries that are rounded once."""
    return EPS * errors.length(array)


def _underflown(array: np.ndarray, *factors: np.ndarray) -> float:
    """Of products that may be smaller than any double."""
    return math.sqrt(array.size) * TINY if all(map(entries.nonzero, factors)) else 0.0


def _longest_column(a: np.ndarray) -> float:
    return max((errors.length(c) for c in a.T), default=0.0) * (1 + errors.summed(len(a), 1.0))


def _matching(mine: tuple[int, int], others: tuple[int, int]) -> None:
    if mine != others:
        raise ValueError(f"a {mine} and a {others} matrix have no entries in common")
