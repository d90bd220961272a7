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
    # Six terms, six roundings at most; four at least.
    assert errors.sum_of_squares(A).error == 6 * EPS * total
    assert errors.sum_of_squares(A[:, 0]).error == 4 * EPS * 25
    found = errors.frobenius(A, RADIUS)
    assert found.value == pytest.approx(norm, rel=1e-15, abs=0)
    assert found.error == pytest.approx(RADIUS, rel=1e-9, abs=0)
    assert errors.frobenius(A).error == 6 * EPS * found.value


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-170, 1e-101, 1e-99, 1.0, 1e99, 1e101, 1e300])
def test_the_length_of_what_underflows_or_overflows(size: float) -> None:
    """Squares of 1e-170 and of 1e170 are no numbers; lengths are."""
    a = np.array([3 * size, -4 * size, 0.0])
    found = errors.frobenius(a)
    assert found.value == errors.length(a)
    # 3 * size and 4 * size are themselves rounded.
    exact = Fraction(float(a[0])) ** 2 + Fraction(float(a[1])) ** 2
    assert Fraction(max(found.low, 0.0)) ** 2 <= exact <= Fraction(found.high) ** 2
    assert found.error <= 1e-14 * found.value + 1e-323


def test_nothing_is_exactly_nothing_and_what_underflows_is_not() -> None:
    assert errors.length(np.zeros(7)) == errors.frobenius(np.zeros(7)).error == 0
    assert errors.sum_of_squares(np.zeros(7)).exact
    tiny = errors.sum_of_squares(np.full(7, 1e-170))
    assert tiny.value == 0 and tiny.error > 0
    assert tiny.error <= 1e-300
    # Each of them may have been nearly half the smallest number.
    many = errors.sum_of_squares(np.full(70, 1e-162))
    assert many.value == 0 and 70 * Fraction(1e-162) ** 2 <= Fraction(many.high)


@pytest.mark.parametrize("count", [10, 37, 129, 1000, 4001, 10**5, 4 * 10**6])
def test_long_sums_stay_inside_their_bars(count: int) -> None:
    """Against exact sums; constant arrays round always to the same side."""
    r = np.random.default_rng(count)
    kinds = (np.full(count, 1 / 3), r.normal(size=count), 1 + r.uniform(size=count))
    for a in kinds[: 1 if count > 10**6 else 3]:
        # Squares of 26 bits are exact, so that fsum gives the exact sum, rounded once.
        short = a.astype(np.float16).astype(float)
        exact = math.fsum(short * short)
        found = errors.sum_of_squares(short)
        assert abs(found.value - exact) <= found.error <= 64 * EPS * exact
        norm = errors.frobenius(short)
        assert abs(norm.value - math.sqrt(exact)) <= norm.error
        for column in (a[:, None], np.stack([a, a], axis=1)):
            columns = errors.norm1(column)
            assert abs(columns.value - math.fsum(np.abs(a))) <= columns.error


@pytest.mark.parametrize("length", [1, 10, 60, 1000, 20_000])
def test_long_products_stay_inside_their_bars(length: int) -> None:
    r = np.random.default_rng(length)
    for a in (r.normal(size=length), np.full(length, 1 / 3)):
        short = a.astype(np.float16).astype(float)
        scale = errors.length(short) ** 2
        for computed in (short @ short, (short[None] @ short[:, None])[0, 0]):
            assert abs(computed - math.fsum(short * short)) <= errors.product(length, scale)
    assert errors.product(length, 2.0) == EPS * 2 * max(4 * math.sqrt(length), length / 2 + 1)


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
    assert errors.norm1(np.ones((9, 2))).error == 9 * EPS * 9


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


@pytest.mark.parametrize("n", range(1, 12))
def test_few_squares_are_added_up_as_numpy_does(n: int) -> None:
    """So that states side by side have the digits of each alone."""
    r = np.random.default_rng(n)
    for _ in range(50):
        a = r.normal(size=n) * 10.0 ** r.integers(-5, 5, size=n)
        assert errors.length(a) == np.sqrt(np.add.reduce(a * a))


def test_a_pairwise_sum_loses_with_every_halving() -> None:
    """A term of 2^k entries meets 26 additions in its block of 128, and one for each of the k - 7
    halvings; each loses half an eps, and no more than two are spared."""
    for k in (7, 12, 20, 30):
        found = errors.summed(2**k, 1.0) / np.finfo(float).eps
        assert 26 + (k - 7) <= found <= 26 + (k - 7) + 2
    assert [errors.summed(n, 1.0) / np.finfo(float).eps for n in (1, 4, 9)] == [4, 4, 9]
