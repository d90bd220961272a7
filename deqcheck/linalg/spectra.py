"""Ranks, ranges and projections of a matrix, with what rounding leaves certain."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import exact
from deqcheck.linalg.entries import finite
from deqcheck.linalg.errors import lapack, length
from deqcheck.linalg.rational import Rows, products, rows_of
from deqcheck.records.basis import ASKED_RANK
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, sqrt
from deqcheck.records.scalar import TINY
from deqcheck.records.tower import Again

# A singular value between the rank tolerance and this multiple of it is neither zero nor not.
RANK_DOUBT = 16.0
# Up to this order the rank can be settled by exact elimination.
EXACT_ORDER = 64


class Echelon(NamedTuple):
    """A = A[:, pivots] R exactly, with R in reduced echelon form."""

    pivots: list[int]
    R: Rows

    @property
    def row_space(self) -> tuple[np.ndarray, float]:
        """Orthonormal rows that span it, and a bound on the error of their projector."""
        rows = np.array([[float(x) for x in row] for row in self.R])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        _, s, vt = np.linalg.svd(rows, full_matrices=False)
        return vt, 2 * lapack(rows.shape, float(s[0])) / float(s[-1])


def echelon(a: np.ndarray) -> Echelon:
    """Of a matrix of doubles, by elimination in rational numbers."""
    return eliminated(rows_of(a))


def eliminated(rows: Rows) -> Echelon:
    rows = list(rows)
    pivots: list[int] = []
    for column in range(len(rows[0])):
        rank = len(pivots)
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        first = rows[rank][column]
        rows[rank] = [x / first for x in rows[rank]]
        for i in range(len(rows)):
            factor = rows[i][column]
            if i != rank and factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[rank], strict=True)]
        pivots.append(column)
    return Echelon(pivots, rows[: len(pivots)])


def exact_rank(a: np.ndarray) -> int:
    return len(echelon(a).pivots)


def _gram_determinant(rows: Rows) -> Fraction:
    """det(R R^T), by elimination without pivoting: the rows are independent."""
    gram = products(rows)
    found = Fraction(1)
    for k, row in enumerate(gram):
        found *= row[k]
        for i in range(k + 1, len(gram)):
            factor = gram[i][k] / row[k]
            gram[i] = [x - factor * y for x, y in zip(gram[i], row, strict=True)]
    return found


@dataclass(frozen=True)
class Factored:
    """A = P diag(s) V^T cut at the numerical rank (tolerance max(shape) * eps * s_1), or at the
    exact one where elimination has found another: then P and V span the exact spaces.

    With `relative`, singular values below that share of s_1 count as zero: A stands, up to
    rounding, for a matrix of that rank, and nothing that rests on it is computed again."""

    a: np.ndarray
    relative: float = 0.0

    @cached_property
    def _svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, s, vt = np.linalg.svd(self.a, full_matrices=False)
        return p, s, vt

    @property
    def tolerance(self) -> float:
        return float(max(self.a.shape) * EPS * float(self._svd[1][0]))

    @cached_property
    def _numerical_rank(self) -> int:
        threshold = max(self.tolerance, self.relative * float(self._svd[1][0]))
        return int(np.sum(self._svd[1] > threshold))

    @cached_property
    def _doubtful(self) -> int:
        """Singular values near the tolerance, zero or not; none where the rank is asked for."""
        return 0 if self.relative else int(np.sum(self._svd[1] < RANK_DOUBT * self.tolerance))

    @property
    def how(self) -> str:
        """What the rank rests on, if it is what was asked for."""
        return f"{ASKED_RANK}{self.relative:g}" if self.relative else ""

    def again(self, node: Again) -> Again | None:
        """What computes a number again that rests on the rank."""
        return None if self.relative else node

    @cached_property
    def _echelon(self) -> Echelon | None:
        """Where the rank is doubtful and the matrix is small."""
        small = max(self.a.shape) <= EXACT_ORDER
        return echelon(self.a) if self._doubtful and small else None

    @property
    def rank(self) -> int:
        return self._numerical_rank if self._echelon is None else len(self._echelon.pivots)

    @property
    def certain(self) -> bool:
        """Whether the rank is the rank."""
        return finite(self.a) and (not self._doubtful or self._echelon is not None)

    @cached_property
    def _hidden(self) -> Echelon | None:
        """The echelon form where singular values do not show the rank."""
        return None if self.rank == self._numerical_rank else self._echelon

    @property
    def visible(self) -> bool:
        """Whether the singular values show the rank: a search in doubles misses the others."""
        return self.certain and self._hidden is None

    @property
    def remark(self) -> str:
        if self._hidden is None:
            return ""
        share = self.smallest_positive.value / self.largest.value
        return (
            f"the matrix as given has rank {self.rank}, its smallest singular value is about "
            f"{share:.0e} of its largest"
        )

    @property
    def measured_rank(self) -> Measured:
        if not finite(self.a):
            return Measured(math.nan, math.inf, "not finite")
        doubt = 0.0 if self.certain else float(self._doubtful)
        node = self.again(exact.rank(exact.array(self.a)))
        return Measured(float(self.rank), doubt, self.how or "numerical rank", node)

    @cached_property
    def p(self) -> np.ndarray:
        if self._hidden is None:
            return self._svd[0][:, : self.rank]
        return echelon(self.a.T).row_space[0].T

    @cached_property
    def vt(self) -> np.ndarray:
        return self._svd[2][: self.rank] if self._hidden is None else self._hidden.row_space[0]

    @property
    def scaled(self) -> np.ndarray:
        """A V: the matrix in the coordinates of its row space."""
        if self._hidden is not None:
            return np.asarray(self.a @ self.vt.T)
        return np.asarray(self.p * self._svd[1][: self.rank])

    def sigma(self, i: int) -> Measured:
        """The i-th singular value, counted from 1."""
        node = self.again(exact.singular_value(exact.array(self.a), i))
        if self.certain and i > self.rank:
            return Measured(0.0, 0.0, self.how) if node is None else given(0, node)
        error = lapack(self.a.shape, float(self._svd[1][0]))
        return Measured(float(self._svd[1][i - 1]), error, self.how or "Weyl", node)

    @property
    def largest(self) -> Measured:
        """Whatever the rank is."""
        node = exact.singular_value(exact.array(self.a), 1)
        return replace(self.sigma(1), how="Weyl", again=node)

    @property
    def last(self) -> Measured:
        """The min(shape)-th singular value, zero or not."""
        count = len(self._svd[1])
        return self.smallest_positive if count == self.rank else self.sigma(count)

    @cached_property
    def smallest_positive(self) -> Measured:
        if not self.certain:
            return Measured(self.sigma(self.rank).value, np.inf, "the rank is not certain")
        return self.sigma(self.rank) if self._hidden is None else self._exactly(self._hidden)

    def _exactly(self, hidden: Echelon) -> Measured:
        full = self.rank == min(self.a.shape)
        found = self._by_inverse() if full else self._by_determinants(hidden)
        return replace(found, again=exact.singular_value(exact.array(self.a), self.rank))

    def _by_determinants(self, found: Echelon) -> Measured:
        """With A = C R the squares of all positive singular values multiply to
        det(C^T C) det(R R^T) (Cauchy and Binet)."""
        columns = rows_of(self.a[:, found.pivots].T)
        square = float(_gram_determinant(columns) * _gram_determinant(found.R))
        rest = Measured(square, EPS * square + TINY)
        for i in range(1, self.rank):
            rest = rest / self.sigma(i) ** 2
        return sqrt(rest)

    def _by_inverse(self) -> Measured:
        """Of full rank, however many singular values are hidden: its square is one over the largest
        eigenvalue of the inverse of the Gram matrix, which is rational."""
        a = self.a if self.rank == len(self.a) else self.a.T
        rows = rows_of(a)
        size = len(rows)
        unit = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
        both = [r + e for r, e in zip(products(rows), unit, strict=True)]
        inverse = np.array([[float(x) for x in row[size:]] for row in eliminated(both).R])
        largest = np.linalg.eigvalsh(inverse)[-1]
        rounded = EPS * length(inverse)
        return 1 / sqrt(Measured(float(largest), lapack(inverse.shape, largest) + rounded))

    @cached_property
    def row_space_error(self) -> float:
        """Bound on ||P_computed - P_true|| of the row-space projector (Davis-Kahan, Wedin)."""
        if not self.certain:
            return float(np.inf)
        if self.rank == self.a.shape[1]:
            return 0.0
        if self._hidden is not None:
            return self._hidden.row_space[1]
        least = float(self._svd[1][self.rank - 1])
        return float(self.tolerance / (least - min(self.tolerance, least / 2)))

    @property
    def cut(self) -> float:
        """How much of A may be outside the span of P and V."""
        if self._hidden is None:
            return self.tolerance
        return self.tolerance + self.row_space_error * float(self._svd[1][0])


class Cut(NamedTuple):
    """The nearest matrix of a smaller rank, up to rounding, and the largest of the singular values
    that it lacks, as a share of the largest of all. Where these are rounding, it is A."""

    a: np.ndarray
    rank: int
    dropped: float


class Blurred(ValueError):
    """Rounding hides which singular values are below the threshold."""


def cut_at(a: np.ndarray, relative: float) -> Cut | None:
    """Without the singular values below this share of the largest; None where there is none but
    zeros. Raises Blurred."""
    p, s, vt = np.linalg.svd(a, full_matrices=False)
    blur, least = lapack(a.shape, 1.0) * (1 + relative), RANK_DOUBT * max(a.shape) * EPS
    if relative < least:
        raise Blurred(
            f"{relative:g} is below what doubles resolve of its singular values; expected at "
            f"least {1.05 * least:.2g}"
        )
    shares = s / s[0]
    at = np.flatnonzero(np.abs(shares - relative) <= blur)
    if at.size:
        raise Blurred(
            f"singular value {at[0] + 1} is {shares[at[0]]:.3g} of the largest, and rounding "
            f"leaves open on which side of {relative:g}; expected another threshold"
        )
    rank = int(np.sum(shares > relative))
    if rank == Factored(a).rank and Factored(a).certain:
        return None
    dropped = float(shares[rank])
    near = a if dropped <= max(a.shape) * EPS else (p[:, :rank] * s[:rank]) @ vt[:rank]
    return Cut(near, rank, dropped)
