"""Ranks, ranges and projections of a matrix, with what rounding leaves certain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from deqcheck.linalg.errors import lapack
from deqcheck.records.measured import EPS, Measured

# A singular value between the rank tolerance and this multiple of it is neither zero nor not.
RANK_DOUBT = 16.0
# Up to this order the rank can be settled by exact elimination.
EXACT_ORDER = 64


def exact_rank(a: np.ndarray) -> int:
    """Rank of a matrix of doubles, by elimination in rational numbers."""
    rows = [[Fraction(float(x)) for x in row] for row in a]
    rank = 0
    for column in range(a.shape[1]):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            if rows[i][column]:
                factor = rows[i][column] / rows[rank][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@dataclass(frozen=True)
class Factored:
    """A = P diag(s) V^T cut at the numerical rank (tolerance max(shape) * eps * s_1)."""

    a: np.ndarray

    @cached_property
    def _svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p, s, vt = np.linalg.svd(self.a, full_matrices=False)
        return p, s, vt

    @property
    def tolerance(self) -> float:
        return float(max(self.a.shape) * EPS * float(self._svd[1][0]))

    @cached_property
    def rank(self) -> int:
        return int(np.sum(self._svd[1] > self.tolerance))

    @cached_property
    def certain(self) -> bool:
        """Whether the numerical rank is the rank: singular values near the tolerance, zero or not,
        are settled by exact elimination where the matrix is small."""
        if not np.any(self._svd[1] < RANK_DOUBT * self.tolerance):
            return True
        if max(self.a.shape) > EXACT_ORDER:
            return False
        return exact_rank(self.a) == self.rank

    @property
    def measured_rank(self) -> Measured:
        doubtful = float(np.sum(self._svd[1] < RANK_DOUBT * self.tolerance))
        return Measured(float(self.rank), 0.0 if self.certain else doubtful, "numerical rank")

    @property
    def p(self) -> np.ndarray:
        return self._svd[0][:, : self.rank]

    @property
    def vt(self) -> np.ndarray:
        return self._svd[2][: self.rank]

    @property
    def s(self) -> np.ndarray:
        return self._svd[1][: self.rank]

    @property
    def scaled(self) -> np.ndarray:
        """P diag(s): the matrix in the coordinates of its row space."""
        found: np.ndarray = self.p * self.s
        return found

    def sigma(self, i: int) -> Measured:
        """The i-th singular value, counted from 1."""
        error = lapack(self.a.shape, float(self._svd[1][0]))
        return Measured(float(self._svd[1][i - 1]), error, "Weyl")

    @property
    def largest(self) -> Measured:
        return self.sigma(1)

    @property
    def last(self) -> Measured:
        """The min(shape)-th singular value, zero or not."""
        return self.sigma(len(self._svd[1]))

    @property
    def smallest_positive(self) -> Measured:
        found = self.sigma(self.rank)
        return found if self.certain else Measured(found.value, np.inf, "the rank is not certain")

    @property
    def row_space_error(self) -> float:
        """Bound on ||P_computed - P_true|| of the row-space projector (Davis-Kahan, Wedin)."""
        if not self.certain:
            return float(np.inf)
        if self.rank == self.a.shape[1]:
            return 0.0
        return float(self.tolerance / (self.s[-1] - min(self.tolerance, self.s[-1] / 2)))
