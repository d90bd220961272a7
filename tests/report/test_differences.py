from __future__ import annotations

from deqcheck.report.parts.differences import differences


def test_only_what_differs_is_marked() -> None:
    one, other = differences("λ₀³ ≥ 8·a·(1 + b)", "λ₀³ ≥ 16·a/m²·(1 + b)")
    assert [text for text, marked in one if marked] == ["8"]
    assert [text for text, marked in other if marked] == ["16", "/m²"]
    assert "".join(text for text, _ in one) == "λ₀³ ≥ 8·a·(1 + b)"
    assert "".join(text for text, _ in other) == "λ₀³ ≥ 16·a/m²·(1 + b)"


def test_formulas_that_have_little_in_common_differ_as_a_whole() -> None:
    one, other = differences("a ≤ b", "exp(−x·t) < c + d")
    assert one == [("a ≤ b", True)] and other == [("exp(−x·t) < c + d", True)]


def test_equal_formulas_have_no_mark() -> None:
    assert differences("a ≤ b", "a ≤ b") == ([("a ≤ b", False)], [("a ≤ b", False)])
