"""Ratios in logarithms are those of the formula's outward arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deqcheck.records.formula import Formula

# How many ratios each has: one for each entry of an extremum on the side where it is the worst.
FORMULAS = {
    "a^2 >= 8*b*c/(a + b)": 1,
    "a*sqrt(a) >= 4*(2 + sqrt(2))*(b^2 + c^2)/a": 1,
    "a >= 4/b*max(a*b, b, c)*c": 3,
    "a < min(2/b, 2*(a^2 + c)/((a^2 + b)^2*c^2))": 2,
    "max(a, b)*max(b, c) <= min(a, 1/c)": 8,
    "a <= max(b, c)": 1,
    "a >= (1 - 0.2*b)^2/(c - 0.05)": 1,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_ratios_agree_with_the_sides(text: str) -> None:
    r, formula = np.random.default_rng(0), Formula(text)
    assert formula.entries == FORMULAS[text]
    for _ in range(50):
        values = dict(zip("abc", r.uniform(0.1, 3, size=3).tolist(), strict=True))
        left, right = (float(side.value) for side in formula.sides(values))
        smaller, larger = (left, right) if formula.relation[0] == "<" else (right, left)
        worst = max(formula.log_ratios(values))
        # Each of some twenty operations rounds once.
        assert worst == pytest.approx(math.log(smaller / larger), rel=1e-13, abs=1e-13)


def test_nothing_underflows() -> None:
    """Products of numbers whose squares are no floats."""
    values = {"a": 1e-200, "b": 1e-250, "c": 1e-180}
    (found,) = Formula("a^3 >= b^2*c").log_ratios(values)
    assert found == pytest.approx(-(500 + 180 - 600) * math.log(10), rel=1e-14)


def test_zeros() -> None:
    assert Formula("a >= b").log_ratios({"a": 1.0, "b": 0.0}) == [-math.inf]
    assert Formula("a >= b").log_ratios({"a": 0.0, "b": 1.0}) == [math.inf]
    assert Formula("a >= b").log_ratios({"a": 0.0, "b": 0.0}) == [0.0]
    assert Formula("a >= b + c").log_ratios({"a": 2.0, "b": 0.0, "c": 2.0}) == [0.0]


def test_beyond_the_domain_nothing_holds() -> None:
    assert Formula("a >= b/(1 - c)").log_ratios({"a": 1.0, "b": 1.0, "c": 1.5}) == [math.inf]
    assert Formula("a >= b").log_ratios({"a": -1.0, "b": 1.0}) == [math.inf]
    assert Formula("a >= b").log_ratios({"a": 1.0, "b": -1.0}) == [math.inf]


def test_what_has_no_logarithm_is_refused() -> None:
    with pytest.raises(ValueError, match="has no logarithm"):
        Formula("a <= exp(-b)").log_ratios({"a": 1.0, "b": 1.0})
