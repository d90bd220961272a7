from __future__ import annotations

import pytest

from deqcheck.records.measured import Measured
from deqcheck.report.parts.numbers import comparison, number, with_error
from deqcheck.report.parts.render_options import RenderOptions


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.88512, "0.8851"), (5.0, "5"), (None, "unknown"), (float("nan"), "unknown")],
)
def test_numbers_have_four_digits(value, text):
    assert number(value) == text


def test_an_error_bar_is_shown_unless_the_value_is_exact():
    assert with_error(Measured(0.885, 2e-15), RenderOptions()) == "0.885 ± 2e-15"
    assert with_error(Measured(0.885, 2e-15), RenderOptions(unicode=False)) == "0.885 +- 2e-15"
    assert with_error(Measured(1.0), RenderOptions()) == "1"


def test_two_sides_get_the_digits_that_tell_them_apart():
    text = comparison(Measured(1.00000012), ">", Measured(1.00000011), RenderOptions())
    assert text == "1.00000012 > 1.00000011"
    assert comparison(Measured(1.0), "<=", Measured(1.0), RenderOptions()) == "1 <= 1"
