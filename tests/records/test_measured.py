"""Outward arithmetic: whatever the true operands were, the true result lies inside."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deqcheck.records.measured import Measured, exp, log, maximum, measured, minimum, sqrt

values = st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-6 else 1.5)
radii = st.sampled_from([0.0, 1e-16, 1e-9, 1e-3, 0.3])
operations = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def ends(m: Measured) -> list[Fraction]:
    v, e = Fraction(m.value), Fraction(m.error)
    return [v - e, v, v + e]


def inside(truth: Fraction, m: Measured) -> bool:
    return abs(truth - Fraction(m.value)) <= Fraction(m.error)


@pytest.mark.parametrize("name", operations)
@given(a=values, b=values, ra=radii, rb=radii)
def test_arithmetic_covers_every_combination_of_ends(
    name: str, a: float, b: float, ra: float, rb: float
) -> None:
    x, y = Measured(a, ra), Measured(b, rb)
    if name == "/" and rb >= abs(b):
        assert (x / y).error == np.inf
        return
    result = operations[name](x, y)
    assert all(inside(operations[name](p, q), result) for p, q in product(ends(x), ends(y)))


@given(a=st.floats(1e-3, 50), radius=st.sampled_from([0.0, 1e-12, 1e-4]))
def test_functions_cover_their_images(a: float, radius: float) -> None:
    x = Measured(a, radius)
    for ours, theirs in ((exp, mpmath.exp), (log, mpmath.log), (sqrt, mpmath.sqrt)):
        result = ours(x)
        with mpmath.workdps(50):
            for end in ends(x):
                truth = theirs(mpmath.mpf(end.numerator) / end.denominator)
                assert abs(truth - result.value) <= result.error


def test_real_and_integer_powers() -> None:
    assert inside(Fraction(3) ** 5, measured(3.0) ** 5)
    cube_root = measured(2.0) ** (1 / measured(3))
    assert abs(mpmath.mpf(2) ** (mpmath.mpf(1) / 3) - cube_root.value) <= cube_root.error


def test_nan_has_no_finite_radius() -> None:
    assert Measured(float("nan")).error == np.inf
    assert Measured(1.0, float("nan")).error == np.inf
    assert Measured(float("inf"), 1.0).error == np.inf


def test_exact_infinity_stays_exact() -> None:
    assert (2 * measured(float("inf"))).exact
    assert (1 / measured(float("inf"))).value == 0.0


def test_an_overflow_is_not_an_exact_infinity() -> None:
    for lost in (exp(1000), measured(1e200) ** 2, measured(1e308) + 1e308, 1e308 * measured(10)):
        assert lost.error == np.inf
    assert (1 / (measured(1e308) * 10)).error == np.inf


def test_numpy_numbers_on_the_left_keep_their_error() -> None:
    for left in (np.float64(2), np.array([2.0, 2.0])):
        product = left * Measured(np.array([1.0, 3.0]), np.array([0.1, 0.0]))
        assert isinstance(product, Measured) and product.error[0] >= 0.2


def test_min_and_max_cover_both_ends() -> None:
    wide, narrow = Measured(1.0, 0.5), Measured(1.2, 0.0)
    least, most = minimum(wide, narrow), maximum(wide, narrow)
    assert least.low <= 0.5 and least.high >= 1.2
    assert most.low <= 1.2 and most.high >= 1.5
    assert minimum(Measured(1.0, 0.1), Measured(9.0, 5.0)).error == pytest.approx(0.1)


def test_arrays_work_elementwise() -> None:
    x = Measured(np.array([1.0, 2.0]), np.array([0.1, 0.0]))
    y = x * 3 - 1
    assert y.value == pytest.approx([2.0, 5.0])
    assert y.error[0] >= 0.3 and y.error[1] < 1e-14


@pytest.mark.parametrize("shape", [(), (2,)])
def test_an_exact_zero_stays_one(shape: tuple[int, ...]) -> None:
    zero, two = Measured(np.zeros(shape)), Measured(np.full(shape, 2.0), 0.5)
    for found in (
        zero / two,
        zero * two,
        zero + zero,
        zero**3,
        sqrt(zero),
        zero / Measured(np.inf),
    ):
        assert found.exact and not np.any(found.value)
    assert exp(zero).exact and log(exp(zero)).exact
    # A quotient by what may be zero is not known, and a zero with a radius is none.
    assert np.isinf((zero / Measured(np.ones(shape), 1.0)).error).all()
    assert np.isinf((zero / zero).error).all()
    for found in (Measured(np.zeros(shape), 1e-9) / two, sqrt(Measured(np.zeros(shape), 1e-9))):
        assert np.all(found.error > 0)
