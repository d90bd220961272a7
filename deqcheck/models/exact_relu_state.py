"""A ReLU equilibrium model computed again: the matrices of which its numbers are made."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.exact_relu import ExactRelu
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Level, worded


class ExactReluState:
    """In canonical form Z = relu(W Z + C), r = Z^T a - y, as nodes of the tower."""

    def __init__(self, W: Again, C: Again, mask: np.ndarray, a: np.ndarray, y: np.ndarray):
        self.relu = ExactRelu(W, C, mask)
        self.a, self.y = exact.array(a), exact.array(y)

    @property
    def W(self) -> Again:
        return self.relu.W

    @property
    def C(self) -> Again:
        return self.relu.C

    @property
    def Z(self) -> Again:
        return self.relu.Z

    @cached_property
    def r(self) -> Again:
        """A column."""
        return exact.minus(exact.product(exact.transpose(self.Z), self.a), self.y)

    @cached_property
    def V(self) -> Again:
        """The sensitivities."""
        return self.relu.sensitivities(self.a)

    @cached_property
    def E(self) -> Again:
        """V with column i scaled by r_i."""
        return exact.columns_scaled(self.V, self.r)

    @cached_property
    def Zr(self) -> Again:
        """The gradient by the read-out."""
        return exact.product(self.Z, self.r)


def smallest_entry(a: Again) -> Again:
    """min |a_ij|."""
    return Again(exact.smallest, exact.moduli(a))


def longest_column(a: Again) -> Again:
    """max_j |a_j|."""
    return Again("root", Again(_largest_square, a))


@worded
def _largest_square(level: Level, a: Any) -> Any:
    exact.charge(level, a.nrows() * a.ncols(), a)
    squares = [
        sum((a[i, j] * a[i, j] for i in range(a.nrows())), exact.raw(level, 0))
        for j in range(a.ncols())
    ]
    return reduce(level.larger, map(level.number, squares))
