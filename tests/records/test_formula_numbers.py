"""Plain numbers of a formula are the values of its outward arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.records.formula import Formula


@pytest.mark.parametrize(
    "text",
    [
        "a^2 >= 8*b*exp(-c)/(a*b)",
        "sqrt(a) <= min(1/c, max(a, b)) - abs(-b)",
        "log(a) + cosh(b) < 0.14375*c",
    ],
)
def test_numbers_agree_with_sides(text: str) -> None:
    r = np.random.default_rng(0)
    for _ in range(20):
        values = dict(zip("abc", r.uniform(0.1, 3, size=3).tolist(), strict=True))
        for plain, outward in zip(
            Formula(text).numbers(values), Formula(text).sides(values), strict=True
        ):
            assert outward.low <= plain <= outward.high


def test_division_by_zero_is_infinite() -> None:
    with np.errstate(all="ignore"):
        assert Formula("1/a >= b").numbers({"a": 0.0, "b": 1.0})[0] == np.inf
