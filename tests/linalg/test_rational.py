"""Equalities of doubles that are meant to be rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deqcheck.linalg import rational
from deqcheck.linalg.rational import common_square


def test_rows_are_orthogonal_and_of_equal_length_in_rationals_or_not_at_all() -> None:
    assert common_square(np.array([[3.0, 4.0], [-4.0, 3.0]])) == 25
    assert common_square(np.array([[0.0, 0.5, 0.0]])) == Fraction(1, 4)
    assert common_square(np.array([[3.0, 4.0], [4.0, 3.0]])) is None
    assert common_square(np.diag([1.0, 2.0])) is None
    # The doubles 0.6 and 0.8 are not 3/5 and 4/5.
    assert 0.6 * 0.6 + 0.8 * 0.8 == 1
    assert common_square(np.array([[0.6, 0.8], [-0.8, 0.6]])) not in (None, 1)
    assert common_square(np.array([[np.nextafter(1.0, 0.0)]])) != 1


def test_what_takes_too_many_products_is_not_known(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(rational, "MOST_PRODUCTS", 8)
    assert common_square(np.eye(2)) == 1
    assert common_square(np.eye(3)) is None
