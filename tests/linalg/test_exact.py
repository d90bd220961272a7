"""Matrices that are computed again, against their definitions in many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from deqcheck.linalg import errors, exact
from deqcheck.linalg.exact_relu import ExactRelu
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again, compared, integer, rational

pytest.importorskip("flint")


def equal(node: Again, value: mpmath.mpf, digits: int = 30) -> bool:
    """Between the value less and more a little."""
    little = mpmath.mpf(10) ** -digits * max(1, abs(value))
    ends = [value - little, value + little]
    low, high = (rational(_fraction(end)) for end in ends)
    return compared(node, low).sign == 1 and compared(node, high).sign == -1


def _fraction(x: mpmath.mpf) -> object:
    from fractions import Fraction

    man, exponent = mpmath.mpf(x).man_exp
    return Fraction(int(man)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5), (1, 1), (6, 6)])
def test_singular_values_and_norms(shape: tuple[int, int]) -> None:
    a = np.random.default_rng(sum(shape)).normal(size=shape)
    with mpmath.workdps(60):
        s = mpmath.svd_r(mpmath.matrix(a.tolist()), compute_uv=False)
        node = exact.array(a)
        for k in range(min(shape)):
            assert equal(exact.singular_value(node, k + 1), s[k])
        assert equal(exact.norm2(node), s[0])
        assert equal(exact.frobenius(node), mpmath.norm(mpmath.matrix(a.ravel().tolist())))
        sums = [sum(abs(mpmath.mpf(x)) for x in column) for column in a.T]
        assert equal(exact.norm1(node), max(sums))
    assert compared(exact.singular_value(node, min(shape) + 1), integer(0)).sign == 0


def test_a_matrix_of_smaller_rank_has_the_singular_value_0() -> None:
    a = np.outer([1.0, 2.0, 3.0], [0.1, 0.7, 0.3])
    # As doubles the outer product need not have rank one; this one has.
    a = np.round(a * 8) / 8
    a[2] = a[0] + a[1]
    node = exact.singular_value(exact.array(a), 3)
    assert compared(node, integer(0)).sign == 0
    irrational = Again("exp", rational(-300))
    assert compared(node, irrational).sign == -1


def test_rational_eigenvalues_are_found_as_such() -> None:
    a = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert compared(exact.eigenvalue(exact.array(a), 0), integer(1)).by == "rational"
    assert compared(exact.eigenvalue(exact.array(a), -1), integer(3)).by == "rational"
    double = exact.array(np.diag([1.0, 1.0, 2.0]))
    assert compared(exact.eigenvalue(double, 1), integer(1)).sign == 0


def test_equal_algebraic_numbers_are_proved_equal() -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    left, right = exact.norm2(exact.array(a)), exact.norm2(exact.array(a.T))
    answer = compared(left, right)
    assert (answer.sign, answer.by) == (0, "algebraic")


def test_products_projectors_and_inverses() -> None:
    r = np.random.default_rng(5)
    a, b = (
        r.integers(-3, 4, size=(3, 4)).astype(float),
        r.integers(-3, 4, size=(3, 4)).astype(float),
    )
    x, y = exact.array(a), exact.array(b)
    cases = {
        "product": (exact.product(x, exact.transpose(y)), a @ b.T),
        "plus": (exact.plus(x, y), a + b),
        "minus": (exact.minus(x, y), a - b),
        "hadamard": (exact.hadamard(x, y), a * b),
        "relu": (exact.relu(x), np.maximum(a, 0)),
        "where": (exact.where_positive(x, y), np.where(a > 0, b, 0)),
        "stacked": (exact.stacked(x, y), np.vstack([a, b])),
        "gram": (exact.gram(x), a @ a.T),
        "columns": (exact.columns_scaled(x, exact.array(b[0])), a * b[0]),
    }
    for node, value in cases.values():
        for i in range(value.shape[0]):
            for j in range(value.shape[1]):
                assert compared(exact.entry(node, i, j), rational(float(value[i, j]))).sign == 0
    projector = exact.onto_row_space(x)
    twice = exact.minus(exact.product(projector, projector), projector)
    assert compared(exact.sum_of_squares(twice), integer(0)).sign == 0
    kept = exact.minus(exact.product(x, projector), x)
    assert compared(exact.sum_of_squares(kept), integer(0)).sign == 0
    square = exact.array(a[:, :3] + 10 * np.eye(3))
    unit = exact.product(square, exact.inverse(square))
    rest = exact.minus(unit, exact.array(np.eye(3)))
    assert compared(exact.sum_of_squares(rest), integer(0)).sign == 0


def test_an_equilibrium_is_found_from_a_wrong_guess() -> None:
    r = np.random.default_rng(2)
    W, C = 0.3 * r.normal(size=(4, 4)), r.normal(size=(4, 3))
    found = ExactRelu(exact.array(W), exact.array(C), np.zeros((4, 3), dtype=bool))
    relu = exact.relu(found.H)
    apart = exact.sum_of_squares(exact.minus(found.Z, relu))
    assert compared(apart, integer(0)).sign == 0


def test_a_unit_that_rests_at_its_kink_has_the_slope_0() -> None:
    W, C = np.array([[0.0, 0.5], [-0.5, 0.0]]), np.array([[1.0], [0.5]])
    found = ExactRelu(exact.array(W), exact.array(C), np.ones((2, 1), dtype=bool))
    assert compared(exact.entry(found.H, 1), integer(0)).sign == 0
    V = found.sensitivities(exact.array(np.array([1.0, 1.0])))
    assert [compared(exact.entry(V, i), integer(1 - i)).sign for i in range(2)] == [0, 0]


def test_what_is_not_finite_has_no_exact_form() -> None:
    node = exact.norm2(exact.array(np.array([[np.nan]])))
    assert compared(node, integer(0)).by == "no exact form"


def test_the_rules_for_error_bars_pass_it_on() -> None:
    a = np.random.default_rng(0).normal(size=(3, 3))
    S = a + a.T
    found: list[Measured] = [
        errors.norm2(a, exact=exact.array(a)),
        errors.norm1(a, exact=exact.array(a)),
        errors.frobenius(a, exact=exact.array(a)),
        errors.sum_of_squares(a, exact=exact.array(a)),
        errors.nth_singular_value(a, 2, exact=exact.array(a)),
        errors.eigenvalue(S, 1, exact=exact.array(S)),
        errors.eigenvalue(S, -1, exact=exact.array(S)),
    ]
    found.append(errors.together(found[:2]))
    for x in found:
        assert x.again is not None
        assert compared(x.again, rational(float(x.low))).sign in (0, 1)
        assert compared(x.again, rational(float(x.high))).sign in (-1, 0)
