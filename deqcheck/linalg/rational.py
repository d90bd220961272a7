"""Matrices of doubles as the rational numbers that they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

Rows = list[list[Fraction]]
# Products that are taken: half a second.
MOST_PRODUCTS = 500_000


def rows_of(a: np.ndarray) -> Rows:
    return [[Fraction(float(x)) for x in row] for row in a]


def products(rows: Rows) -> Rows:
    """R R^T."""
    return [
        [sum((x * y for x, y in zip(r, q, strict=True)), Fraction(0)) for q in rows] for r in rows
    ]


def common_square(a: np.ndarray) -> Fraction | None:
    """c where A A^T = c I: rows that are orthogonal and of equal length up to rounding need not be.
    None elsewhere, and where that takes too many products."""
    if len(a) * a.size > MOST_PRODUCTS:
        return None
    gram = products(rows_of(a))
    even = all(
        x == (gram[0][0] if i == j else 0) for i, row in enumerate(gram) for j, x in enumerate(row)
    )
    return gram[0][0] if even else None
