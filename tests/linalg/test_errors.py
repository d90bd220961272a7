"""The rules by which numbers get their error bars: each constant by hand, and rounding inside."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deqcheck.linalg import errors, smallest
from deqcheck.records.measured import Measured

EPS = 2.0**-52
A = np.array([[3.0, 0.0, 1.0], [4.0, 2.0, 0.0]])
RADIUS = 1e-3


def test_a_sum_rounds_by_four_eps_for_each_term() -> None:
    assert errors.rounding(10, 3.0) == 4 * 10 * EPS * 3
    assert errors.rounding(10, 3.0, factor=1.0) == 10 * EPS * 3


def test_lapack_rounds_by_the_order() -> None:
    assert errors.lapack((5, 3), 2.0) == errors.lapack((3, 5), 2.0) == 28 * EPS * 2


def test_a_norm_and_its_square() -> None:
    total, norm = 30.0, math.sqrt(30)
    squares = errors.sum_of_squares(A, RADIUS)
    assert squares.value == total
    assert squares.error == pytest.approx(2 * norm * RADIUS + RADIUS**2, rel=1e-9, abs=0)
    assert errors.sum_of_squares(A).error == 4 * EPS * total
    found = errors.frobenius(A, RADIUS)
    assert found.value == pytest.approx(norm, rel=1e-15, abs=0)
    assert found.error == pytest.approx(RADIUS, rel=1e-9, abs=0)
    assert errors.frobenius(A).error == 4 * EPS * found.value


def test_the_length_of_what_underflows() -> None:
    """Squares of 1e-170 are no numbers: the bar reaches up to the true norm."""
    tiny = np.full(7, 1e-170)
    true = 1e-170 * math.sqrt(7)
    assert errors.length(A) == pytest.approx(math.sqrt(30), rel=1e-15, abs=0)
    hidden = math.sqrt(np.finfo(float).tiny) * math.sqrt(7)
    assert errors.length(tiny) == pytest.approx(hidden, rel=1e-12, abs=0) and hidden >= true
    found = errors.frobenius(tiny)
    assert found.error == pytest.approx(hidden, rel=1e-12, abs=0)
    assert errors.length(np.zeros(7)) == errors.frobenius(np.zeros(7)).error == 0
    # Above the limit nothing is hidden.
    assert errors.length(np.full(7, 1e-99)) == pytest.approx(1e-99 * math.sqrt(7), rel=1e-15, abs=0)


def test_singular_values_move_no_further_than_the_matrix() -> None:
    s = np.linalg.svd(A, compute_uv=False)
    for found in (errors.singular_values(A, RADIUS), errors.singular_values(A)):
        assert found.value == pytest.approx(s, rel=1e-15, abs=0)
    assert errors.singular_values(A).error == pytest.approx(
        (8 + 4 * 3) * EPS * s[0], rel=1e-12, abs=0
    )
    assert errors.singular_values(A, RADIUS).error == pytest.approx(RADIUS, rel=1e-9, abs=0)


def test_norms() -> None:
    s = np.linalg.svd(A, compute_uv=False)
    assert errors.norm2(A, RADIUS).value == s[0]
    assert errors.norm2(A, RADIUS).error == pytest.approx(RADIUS, rel=1e-9, abs=0)
    vector = errors.norm2(A[:, 0], RADIUS)
    assert vector.value == 5 and vector.error == pytest.approx(RADIUS, rel=1e-9, abs=0)
    single = errors.norm2(np.array([[-3.0]]), RADIUS)
    assert (single.value, single.error) == (3.0, RADIUS)
    assert errors.norm1(A, RADIUS).value == 7
    assert errors.norm1(A, RADIUS).error == pytest.approx(RADIUS, rel=1e-9, abs=0)
    assert errors.norm1(A).error == 4 * EPS * 7


def test_the_nth_singular_value() -> None:
    s = np.linalg.svd(A, compute_uv=False)
    fewer = errors.nth_singular_value(A, 3, RADIUS)
    assert (fewer.value, fewer.error) == (0.0, 0.0)
    found = errors.nth_singular_value(A, 2, RADIUS)
    assert found.value == pytest.approx(s[1], rel=1e-14, abs=0)
    assert found.error == pytest.approx(RADIUS, rel=1e-9, abs=0)


def test_the_last_of_many_is_widened_by_the_radius() -> None:
    r = np.random.default_rng(0)
    n = smallest.LARGE
    for a in (r.normal(size=(n + 3, n)), r.normal(size=(n, n + 3))):
        exact = np.linalg.svd(a, compute_uv=False)[-1]
        found, wide = (errors.nth_singular_value(a, n, radius) for radius in (0.0, RADIUS))
        assert abs(found.value - exact) <= found.error + errors.lapack(a.shape, 4 * n**0.5)
        assert wide.error - found.error == pytest.approx(RADIUS, rel=1e-6, abs=0)


def test_eigenvalues() -> None:
    B = np.array([[2.0, 1.0], [1.0, -4.0]])
    w = np.linalg.eigvalsh(B)
    found = errors.symmetric_eigenvalues(B)
    assert found.value == pytest.approx(w, rel=1e-15, abs=0)
    assert found.error == pytest.approx((8 + 4 * 2) * EPS * abs(w[0]), rel=1e-12, abs=0)
    assert errors.symmetric_eigenvalues(B, RADIUS).error == pytest.approx(RADIUS, rel=1e-9, abs=0)


def test_norms_together() -> None:
    found = errors.together([Measured(3.0, 6e-3), Measured(4.0, 8e-3)])
    assert found.value == 5.0 and found.error == pytest.approx(1e-2, rel=1e-9, abs=0)
    assert errors.together([Measured(3.0), Measured(4.0)]).error == 4 * EPS * 5


def test_what_is_not_finite_is_not_known() -> None:
    bad = np.array([[np.inf, 0.0], [0.0, 1.0]])
    for found in (errors.singular_values(bad), errors.symmetric_eigenvalues(bad)):
        assert np.isnan(found.value).all() and np.isinf(found.error).all()
    assert errors.singular_values(np.zeros((0, 3))).value.shape == (0,)


@pytest.mark.parametrize("seed", range(5))
def test_the_bars_hold_what_exact_arithmetic_gives(seed: int) -> None:
    a = np.random.default_rng(seed).normal(size=(9, 7)) * 10.0 ** (seed * 3 - 6)
    exact = sum(Fraction(float(x)) ** 2 for x in a.ravel())
    found = errors.sum_of_squares(a)
    assert abs(Fraction(found.value) - exact) <= Fraction(found.error)
    norm = errors.frobenius(a)
    assert Fraction(float(norm.low)) ** 2 <= exact <= Fraction(float(norm.high)) ** 2
    sums = [sum(abs(Fraction(float(x))) for x in column) for column in a.T]
    columns = errors.norm1(a)
    assert abs(Fraction(columns.value) - max(sums)) <= Fraction(columns.error)
