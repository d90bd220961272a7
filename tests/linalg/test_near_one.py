"""On which side of 1 a norm is, in whole numbers: the twin eliminates in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deqcheck.linalg import near_one
from deqcheck.linalg.rational import Rows, products, rows_of
from deqcheck.records.measured import Measured

RIGHT = np.array([[3, 4], [-4, 3]]) / 5


def definiteness(W: np.ndarray, shift: Fraction) -> int:
    """Of shift I - W W^T, by Schur complements."""
    rows: Rows = [
        [(shift if i == j else 0) - x for j, x in enumerate(row)]
        for i, row in enumerate(products(rows_of(W)))
    ]
    found = 1
    while rows:
        (pivot, *first), *others = rows
        if pivot < 0 or (pivot == 0 and any(first)):
            return -1
        found = min(found, int(pivot > 0))
        rows = [
            [x - (row[0] / pivot * y if pivot else 0) for x, y in zip(row[1:], first, strict=True)]
            for row in others
        ]
    return found


def matrices() -> list[np.ndarray]:
    r = np.random.default_rng(0)
    found = [np.eye(3), np.diag([1.0, 0.5, 1.0]), np.zeros((2, 3)), np.ones((2, 2)) / 2, RIGHT]
    found += [np.array([[0.0, 1.0], [0.0, 0.0]]), np.diag([1.0, 1e-300]), np.diag([0.5, -1.0])]
    for shape in ((2, 2), (3, 5), (5, 3), (6, 6)):
        for _ in range(5):
            W = r.normal(size=shape)
            W /= np.linalg.norm(W, 2)
            found += [W, np.nextafter(W, 0), np.nextafter(W, 2 * W)]
            # Small whole numbers have minors that vanish.
            found.append(r.integers(-1, 2, size=shape) / 2.0)
    return found


@pytest.mark.parametrize("W", matrices())
def test_the_sign_of_what_is_left_of_1(W: np.ndarray) -> None:
    gram, one = near_one._gram(W)
    assert [[Fraction(x, one) for x in row] for row in gram] == products(rows_of(W))
    for shift in (Fraction(1), Fraction(3, 4), Fraction(2)):
        scaled = [[x * shift.denominator for x in row] for row in gram]
        wanted = definiteness(W, shift)
        assert near_one._definiteness(scaled, one * shift.numerator) == wanted


@pytest.mark.parametrize(
    ("W", "low", "high"),
    [
        (np.diag([1.0, 0.5]), 1.0, 1.0),
        (np.diag([1 + 2.0**-52, 0.5]), 1.0, 1 + 1e-14),
        (np.diag([1 - 2.0**-53, 0.5]), 1 - 1e-14, 1 - 2.0**-53),
        # 1 - 7e-17: between the last double before 1 and 1.
        (np.array([[0.6, np.nextafter(0.8, 0)]]), 1 - 1e-14, 1 + 1e-14),
        # 1 + 2e-17.
        (np.array([[0.6, 0.8]]), 1.0, 1 + 1e-14),
    ],
)
def test_a_bracket_is_cut_at_1(W: np.ndarray, low: float, high: float) -> None:
    found = near_one.against_one(W, Measured(1.0, 5e-15))
    assert low <= found.low <= found.high <= high and found.low <= np.linalg.norm(W, 2)
    side = definiteness(W if len(W) <= W.shape[1] else W.T, Fraction(1))
    assert (found.low >= 1) == (side < 1)
    assert found.high < 1 or side < 1 or found.error == 5e-15
