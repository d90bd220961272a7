"""Ranks, ranges and projections of a matrix, with what rounding leaves certain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deqcheck.records.measured import EPS, Measured

# A singular value between the rank tolerance and this multiple of it is neither zero nor not.
RANK_DOUBT = 16.0


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
        return max(self.a.shape) * EPS * float(self._svd[1][0])

    @cached_property
    def rank(self) -> int:
        return int(np.sum(self._svd[1] > self.tolerance))

    @property
    def measured_rank(self) -> Measured:
        doubtful = (self._svd[1] > self.tolerance) & (self._svd[1] < RANK_DOUBT * self.tolerance)
        return Measured(float(self.rank), float(np.sum(doubtful)), "numerical rank")

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
        return self.p * self.s

    def sigma(self, i: int) -> Measured:
        """The i-th singular value, counted from 1."""
        return Measured(float(self._svd[1][i - 1]), self.tolerance, "Weyl")

    @property
    def largest(self) -> Measured:
        return self.sigma(1)

    @property
    def last(self) -> Measured:
        """The min(shape)-th singular value, zero or not."""
        return self.sigma(len(self._svd[1]))

    @property
    def smallest_positive(self) -> Measured:
        return self.sigma(self.rank)

    @property
    def row_space_error(self) -> float:
        """Bound on ||P_computed - P_true|| of the row-space projector (Davis-Kahan, Wedin)."""
        if self.rank == self.a.shape[1]:
            return 0.0
        return float(self.tolerance / (self.s[-1] - min(self.tolerance, self.s[-1] / 2)))
