"""Matrices of doubles as the rational numbers that they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

Rows = list[list[Fraction]]


def rows_of(a: np.ndarray) -> Rows:
    return [[Fraction(float(x)) for x in row] for row in a]


def products(rows: Rows) -> Rows:
    """R R^T."""
    return [
        [sum((x * y for x, y in zip(r, q, strict=True)), Fraction(0)) for q in rows] for r in rows
    ]
