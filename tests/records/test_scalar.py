"""Single numbers are treated as arrays of one are, to the last bit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deqcheck.records.comparison import compare
from deqcheck.records.measured import Measured, exp, log, log1p, maximum, minimum, sqrt
from deqcheck.records.power import Form, caught_beyond, caught_once
from deqcheck.records.scalar import rounded

VALUES = (0.0, -0.0, 1.0, -1.5, 3e-310, 1e308, -1e308, 1e-200, np.inf, -np.inf, np.nan, 0.1)
ERRORS = (0.0, 5e-324, 1e-17, 0.05, 2.0, 1e308, np.inf, np.nan)
NUMBERS = list(product(VALUES, ERRORS))


def same(one: Measured, many: Measured) -> bool:
    assert isinstance(one.value, float) and isinstance(one.error, float)
    pairs = ((one.value, many.value), (one.error, many.error), (one.low, many.low))
    return all(np.array_equal(a, b[0], equal_nan=True) for a, b in (*pairs, (one.high, many.high)))


@pytest.mark.filterwarnings("ignore")
def test_a_number_is_settled_like_an_array() -> None:
    for value, error in NUMBERS:
        assert same(Measured(value, error), Measured(np.array([value]), np.array([error])))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "act", [operator.add, operator.sub, operator.mul, operator.truediv, minimum, maximum]
)
def test_arithmetic_is_that_of_arrays(act: Callable[[Measured, Measured], Measured]) -> None:
    pairs = list(product(NUMBERS, NUMBERS))
    a, da, b, db = np.array([(*left, *right) for left, right in pairs]).T
    many = act(Measured(a, da), Measured(b, db))
    singles = [act(Measured(*left), Measured(*right)) for left, right in pairs]
    for name in ("value", "error", "low", "high"):
        ours = [getattr(one, name) for one in singles]
        assert all(isinstance(each, float) for each in ours)
        found = np.flatnonzero(~_alike(np.array(ours), getattr(many, name)))
        assert not found.size, (name, pairs[found[0]])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [exp, log, log1p, sqrt])
def test_functions_are_those_of_arrays(f: Callable[[Measured], Measured]) -> None:
    for value, error in [*NUMBERS, (4.0, 0.0), (2.0, 0.0), (1000.0, 0.0), (700.0, 1e-3)]:
        one, many = Measured(value, error), Measured(np.array([value]), np.array([error]))
        assert same(f(one), f(many)), (value, error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">", "=="])
def test_answers_are_those_of_arrays(relation: str) -> None:
    pairs = list(product(NUMBERS, NUMBERS))
    a, da, b, db = np.array([(*left, *right) for left, right in pairs]).T
    left, right = Measured(a, da), Measured(b, db)
    singles = [(Measured(*one), Measured(*other)) for one, other in pairs]
    answers = np.array([compare(one, relation, other) for one, other in singles]).T
    for ours, many in zip(answers, compare(left, relation, right), strict=True):
        assert np.array_equal(ours, many), pairs[np.flatnonzero(ours != many)[0]]
    once = np.array([caught_once(one, relation, other) for one, other in singles])
    many = caught_beyond(left, relation, right, Form.VALUE)
    assert _alike(once, many).all(), pairs[np.flatnonzero(~_alike(once, many))[0]]


def _alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def test_radii_that_are_added_up_are_rounded_outward() -> None:
    """Also where the operation itself does not round."""
    for a, b in np.random.default_rng(0).uniform(size=(200, 2)).tolist():
        value, radius = rounded(1.0, a + b, 0.0)
        assert value == 1.0
        assert (
            Fraction(a) + Fraction(b)
            <= Fraction(radius)
            <= (Fraction(a) + Fraction(b)) * (1 + Fraction(16, 2**52))
        )
