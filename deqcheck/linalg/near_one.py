"""Whether ||W||_2 is below, at or above 1, in exact arithmetic: floats show that many weights are
meant to have norm 1, and on which side of it a contraction begins."""

from __future__ import annotations

import math
from operator import mul

import numpy as np

from deqcheck.records.measured import EPS, Measured

Whole = list[list[int]]

# Up to this order elimination in whole numbers takes a millisecond.
LARGEST = 12
# A wider bracket is no sign of a norm that is meant to be 1.
WIDEST = 1e-9


def against_one(W: np.ndarray, norm: Measured) -> Measured:
    """`norm`, a bracket of ||W||_2, cut at 1 where it does not tell the side."""
    if not norm.low < 1 <= norm.high or norm.error > WIDEST or min(W.shape) > LARGEST:
        return norm
    gram, one = _gram(W if len(W) <= W.shape[1] else W.T)
    side = _definiteness(gram, one)
    if side == 0:
        return Measured(1.0)
    if side < 0:
        return _at_least_one(norm.high)
    # A norm between the last double before 1, which is 1 - 2^-53, and 1 has no bracket below 1.
    finer = [[x << 106 for x in row] for row in gram]
    below = _definiteness(finer, one * (2**53 - 1) ** 2) >= 0
    return _below_one(norm.low) if below else norm


def _gram(W: np.ndarray) -> tuple[Whole, int]:
    """W W^T in whole numbers, and what stands for 1: doubles are multiples of a power of two."""
    pairs = [[x.as_integer_ratio() for x in row] for row in W.tolist()]
    unit = max(below for row in pairs for _, below in row)
    rows = [[above * (unit // below) for above, below in row] for row in pairs]
    return [[sum(map(mul, r, q)) for q in rows] for r in rows], unit * unit


def _definiteness(gram: Whole, shift: int) -> int:
    """Of shift I - gram: 1 if it is positive definite, 0 if semidefinite, -1 if neither. Bareiss'
    elimination, whose pivots are minors: of rows and columns that vanish none is taken."""
    rows = [[(shift if i == j else 0) - x for j, x in enumerate(row)] for i, row in enumerate(gram)]
    found, before = 1, 1
    for k, pivots in enumerate(rows):
        pivot = pivots[k]
        if pivot < 0 or (pivot == 0 and any(pivots[k:])):
            return -1
        if pivot == 0:
            found = 0
            continue
        for i in range(k + 1, len(rows)):
            row, factor = rows[i], rows[i][k]
            rows[i] = [(pivot * x - factor * y) // before for x, y in zip(row, pivots, strict=True)]
        before = pivot
    return found


def _at_least_one(high: float) -> Measured:
    """From 1 to `high`: the ends are doubles, which outward rounding leaves alone."""
    steps = math.ceil((high - 1) / (2 * EPS)) + 1
    return Measured(1 + steps * EPS, steps * EPS, "rational")


def _below_one(low: float) -> Measured:
    """From `low` to the last double before 1."""
    steps = math.ceil((1 - low) / (2 * EPS)) + 1
    return Measured(1 - EPS / 2 - steps * EPS, steps * EPS, "rational")
