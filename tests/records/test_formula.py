"""What a formula says of itself."""

from __future__ import annotations

import pytest

from deqcheck.records.formula import Formula


@pytest.mark.parametrize(
    ("text", "rounding"),
    [
        ("deviation <= noise", True),
        ("smallest >= -noise", True),
        ("largest <= 1 + noise", False),
        ("noise <= x", False),
        ("x <= 1e-12", False),
    ],
)
def test_a_right_side_of_nothing_but_noise_is_rounding(text: str, rounding: bool) -> None:
    assert Formula(text).rounding is rounding
