"""Whether ||W||_2 is below, at or above 1, in exact arithmetic: floats show that many weights are
meant to have norm 1, and on which side of it a contraction begins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from deqcheck.linalg.rational import Rows, products, rows_of
from deqcheck.records.measured import EPS, Measured

# Up to this order elimination in rational numbers takes milliseconds.
LARGEST = 12
# A wider bracket is no sign of a norm that is meant to be 1.
WIDEST = 1e-9


def against_one(W: np.ndarray, norm: Measured) -> Measured:
    """`norm`, a bracket of ||W||_2, cut at 1 where it does not tell the side."""
    if not norm.low < 1 <= norm.high or norm.error > WIDEST or min(W.shape) > LARGEST:
        return norm
    gram = products(rows_of(W if len(W) <= W.shape[1] else W.T))
    side = _definiteness(gram, Fraction(1))
    if side == 0:
        return Measured(1.0)
    if side < 0:
        return _at_least_one(norm.high)
    # A norm between the last double before 1 and 1 has no bracket below 1.
    below = Fraction(1) - Fraction(1, 2**53)
    return _below_one(norm.low) if _definiteness(gram, below * below) >= 0 else norm


def _definiteness(gram: Rows, shift: Fraction) -> int:
    """Of shift I - gram: 1 if it is positive definite, 0 if semidefinite, -1 if neither."""
    rows = [
        [(shift if i == j else Fraction(0)) - x for j, x in enumerate(row)]
        for i, row in enumerate(gram)
    ]
    found = 1
    for k, pivots in enumerate(rows):
        if pivots[k] < 0 or (pivots[k] == 0 and any(pivots[k:])):
            return -1
        if pivots[k] == 0:
            found = 0
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / pivots[k]
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], pivots, strict=True)]
    return found


def _at_least_one(high: float) -> Measured:
    """From 1 to `high`: the ends are doubles, which outward rounding leaves alone."""
    steps = math.ceil((high - 1) / (2 * EPS)) + 1
    return Measured(1 + steps * EPS, steps * EPS, "rational")


def _below_one(low: float) -> Measured:
    """From `low` to the last double before 1."""
    steps = math.ceil((1 - low) / (2 * EPS)) + 1
    return Measured(1 - EPS / 2 - steps * EPS, steps * EPS, "rational")
