"""Numbers that are computed again: what each level decides, and what it leaves open."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records import tower
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision, computed_again
from deqcheck.records.judged import Judged
from deqcheck.records.measured import (
    Measured,
    exp,
    given,
    log,
    maximum,
    measured,
    minimum,
    nonnegative,
    sqrt,
    vanishing,
)
from deqcheck.records.tower import Again, Exhausted, NoExactForm, compared, integer, rational
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.rationals import Rationals
from deqcheck.theorems.base import Check

pytest.importorskip("flint")


def sides(left: Measured, right: Measured) -> tuple[int | None, str]:
    assert left.again is not None
    assert right.again is not None
    answer = compared(left.again, right.again)
    return answer.sign, answer.by


THIRD, HALF = given(Fraction(1, 3)), given(0.5)


@pytest.mark.parametrize(
    ("left", "right", "sign", "by"),
    [
        (THIRD + THIRD + THIRD, measured(1), 0, "rational"),
        (given(0.1) * 3, given(Fraction(3, 10)), 1, "rational"),
        (sqrt(measured(2)) * sqrt(measured(2)), measured(2), 0, "rational"),
        (sqrt(measured(8)), 2 * sqrt(measured(2)), 0, "rational"),
        (sqrt(measured(2)) + sqrt(measured(8)), sqrt(measured(18)), 0, "rational"),
        (sqrt(measured(2)), given(1.4142135623730951), -1, "rational"),
        (-sqrt(measured(3)), -sqrt(measured(2)), -1, "rational"),
        (abs(-sqrt(measured(3))), sqrt(measured(3)), 0, "rational"),
        (1 / sqrt(measured(2)), sqrt(HALF), 0, "rational"),
        (exp(given(0.0)), measured(1), 0, "rational"),
        (log(measured(1)), measured(0), 0, "rational"),
        (exp(measured(1)), given(2.718281828459045), 1, "ball 128"),
        (exp(log(measured(3))), given(Fraction(3) + Fraction(1, 2**200)), -1, "ball 256"),
        (minimum(THIRD, HALF), THIRD, 0, "rational"),
        (maximum(THIRD, HALF, measured(0)), HALF, 0, "rational"),
        (HALF**3, given(0.125), 0, "rational"),
        (HALF**0, measured(1), 0, "rational"),
        (sqrt(measured(2)) + 1, 1 / (sqrt(measured(2)) - 1), 0, "algebraic"),
        (sqrt(5 + 2 * sqrt(measured(6))), sqrt(measured(2)) + sqrt(measured(3)), 0, "algebraic"),
        (exp(measured(1)) * exp(measured(1)), exp(measured(2)), None, "open"),
    ],
)
def test_the_first_level_that_knows_decides(
    left: Measured, right: Measured, sign: int | None, by: str
) -> None:
    assert sides(left, right) == (sign, by)


def test_the_sides_that_are_told_hold_the_number() -> None:
    x = exp(sqrt(measured(2))) - 4
    assert x.again is not None
    answer = compared(x.again, integer(0))
    assert answer.left is not None
    value, radius = answer.left
    with mpmath.workdps(60):
        true = mpmath.exp(mpmath.sqrt(2)) - 4
        assert abs(true - mpmath.mpf(value)) <= mpmath.mpf(radius)
    assert radius < 1e-15


def test_what_is_not_known_exactly_is_not_computed_again() -> None:
    """A radius of 0 is no proof, and neither is a plain float, which may have been computed."""
    assert Measured(0.5).again is None
    assert (given(0.5) + 0.25).again is None
    assert (given(0.5) + 1).again is not None
    assert (given(0.5) + given(0.25)).again is not None
    assert given(0.5).widened(0.1).again is None
    assert given(float("inf")).again is None


def test_cutting_at_zero_keeps_the_number() -> None:
    x = Measured(1e-20, 1e-17, again=rational(0))
    assert sides(nonnegative(x), measured(0)) == (0, "rational")


def test_it_is_neither_pickled_nor_kept() -> None:
    x = given(0.1) + 1
    assert pickle.loads(pickle.dumps(x)).again is None
    judged = Claim("c", x, "<=", measured(2)).judge()
    assert judged.left.again is None
    assert judged.right.again is None


STRICT = Check("strict", "a < b")
WEAK = Check("weak", "a <= b")
SAME = Check("same", "3*a == b")


def test_a_tie_is_decided_exactly() -> None:
    """Three thirds are 1; doubles only know that they are close to it."""
    third = THIRD
    assert WEAK(a=third * 3, b=1).judge().decision is Decision.HOLDS
    assert STRICT(a=third * 3, b=1).judge().decision is Decision.VIOLATED
    judged = SAME(a=third, b=1).judge()
    assert judged.decision is Decision.HOLDS
    assert WEAK(a=third * 3, b=1).judge().basis.by == "rational"


def test_balls_show_an_identity_that_they_cannot_prove() -> None:
    """Doubles with wide bars leave it open; here both sides agree to a thousand bits."""
    node = Again("exp", rational(2))
    wide = Measured(7.0, 1.0, again=node)
    other = exp(measured(1)) * exp(measured(1))
    judged = Claim("c", wide, "==", other).judge()
    assert judged.decision is Decision.HOLDS
    assert str(judged.basis) == "certified (ball 1024)"
    strict = Claim("c", wide, "<", other).judge()
    assert strict.decision is Decision.UNDECIDED
    assert strict.undecided == "open"
    assert Claim("c", wide, "<", other).known_equal("n = 1", 1e3).judge().undecided == "equal"


def test_without_an_exact_form_it_stays_open() -> None:
    judged = Claim("c", Measured(1.0, 0.1), "<=", measured(1)).judge()
    assert judged.decision is Decision.UNDECIDED
    assert judged.undecided == "no exact form"


def test_an_estimate_that_is_too_wide_is_coarse() -> None:
    judged = Claim("c", Measured(1.0, 0.1, "Weyl"), "<=", measured(1)).judge()
    assert judged.undecided == "coarse"


def test_without_python_flint_nothing_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tower, "flint", lambda: None)
    assert computed_again(THIRD * 3, "<=", measured(1)) is None
    assert WEAK(a=THIRD * 3, b=1).judge().decision is Decision.UNDECIDED


def test_an_estimate_does_not_become_a_bound() -> None:
    estimated = Measured(1.0, 1e-9, "two integrations")
    assert (2 * estimated + 1).how == "two integrations"
    assert sqrt(estimated / 3).how == "two integrations"
    assert maximum(estimated, Measured(0.0, 0.0, "Weyl")).how == "two integrations"
    array = Measured(np.ones(2), np.zeros(2), "Weyl") * 2
    assert array.how == "Weyl"
    judged = Claim("c", estimated, "<=", measured(2)).judge()
    assert str(judged.basis) == "estimated (two runs)"
    assert str(Claim("c", measured(1), "<=", measured(2)).judge().basis) == "estimated (float64)"


def test_certifying_computes_what_is_decided_again() -> None:
    claim = Claim("c", sqrt(measured(2)), "<=", measured(2))
    assert str(claim.judge().basis) == "estimated (float64)"
    with tower.certifying():
        assert str(claim.judge().basis) == "certified (rational)"


def test_an_estimate_that_exact_numbers_contradict_is_replaced() -> None:
    wrong = Measured(3.0, 1e-9, "Weyl", rational(1))
    with tower.certifying():
        judged = Claim("c", wrong, "<=", measured(2)).judge()
    assert judged.decision is Decision.HOLDS
    assert judged.left.value == 1
    assert "estimated in doubles: 3.0" in judged.note


def test_a_bar_that_counts_its_roundings_and_misses_the_number_is_a_bug() -> None:
    wrong = Measured(3.0, 1e-9, "", rational(1))
    with tower.certifying(), pytest.raises(tower.Contradiction, match=r"3\.0 .*exact numbers"):
        Claim("c", wrong, "<=", measured(2)).judge()


def test_an_identity_up_to_rounding_need_not_be_one() -> None:
    def found(exact: Fraction) -> Judged:
        return Claim("c", Measured(1.0, 1e-12, "", rational(exact)), "==", measured(1)).judge()

    other = 1 + Fraction(1, 10**20)
    assert found(other).decision is Decision.HOLDS
    with tower.certifying():
        judged = found(other)
        with pytest.raises(tower.Contradiction):
            found(Fraction(2))
    assert judged.decision is Decision.VIOLATED
    assert "estimated in doubles: 1.0 +- 1e-12 == 1.0" in judged.note


def test_a_question_has_a_budget() -> None:
    def costly(level: Any) -> Any:
        level.charge(1e6)
        return level.rational(Fraction(1))

    node = Again(costly)
    with pytest.raises(Exhausted):
        node.at(Rationals(budget=1e5))
    poor, rich = (compared(node, integer(2), budget=size) for size in (1e5, 1e7))
    assert (poor.sign, poor.exhausted) == (None, True)
    assert (rich.sign, rich.exhausted) == (-1, False)


def test_balls_charge_by_their_length() -> None:
    Balls(128, budget=2.1).charge(1)
    with pytest.raises(Exhausted):
        Balls(256, budget=2.1).charge(1)


def test_a_value_is_computed_once_on_each_level() -> None:
    calls = []

    def leaf(level: Any) -> Any:
        calls.append(level.bits)
        return level.rational(Fraction(2))

    node = Again(leaf)
    x = Measured(2.0, again=node)
    assert sides(x * x * x + x, measured(10)) == (0, "rational")
    assert calls == [0]


def test_a_number_that_is_0_up_to_rounding() -> None:
    """In exact numbers the noise is 0, and so must the deviation be; doubles that say otherwise of
    a claim up to rounding are no bug."""
    claim = Claim(
        "c", Measured(1e-17, again=integer(0)), "<=", vanishing(1e-15), formula="d <= noise"
    )
    off = replace(claim, left=Measured(1e-17, again=rational(Fraction(1, 10**17))))
    assert claim.judge().decision is off.judge().decision is Decision.HOLDS
    with tower.certifying():
        assert str(claim.judge().basis) == "certified (rational)"
        found = off.judge()
    assert found.decision is Decision.VIOLATED
    assert "estimated in doubles" in found.note


def test_a_polynomial_does_not_help_where_balls_fail() -> None:
    """An equality needs both."""

    def only_polynomial(level: Any) -> Any:
        if level.bits >= 0:
            raise NoExactForm
        return level.rational(Fraction(1))

    answer = compared(Again(only_polynomial), integer(1))
    assert (answer.sign, answer.by) == (None, "no exact form")


def test_balls_that_know_less_are_not_shown() -> None:
    """log of a number that balls cannot tell from 0 is anything."""
    zero = Again("plus", Again("exp", rational(1)), Again("minus", Again("exp", rational(1))))
    known = Measured(1.0, 0.1, again=Again("log", zero))
    judged = Claim("c", known, "<=", measured(1)).judge()
    assert judged.decision is Decision.UNDECIDED
    assert (judged.left.value, judged.left.error) == (1.0, 0.1)


def test_effort_is_a_multiple_of_the_usual_budget() -> None:
    poor, rich = (dq.run("gao2022/kink", only=["gao2022/gradient"], effort=x) for x in (1e-7, 1))
    (verdict,) = poor.verdicts
    open_ = [c for c in verdict.conclusions if c.undecided]
    assert open_ and all(c.undecided == "open" and "--effort 10" in c.note for c in open_)
    assert not any(c.undecided for c in rich.verdicts[0].conclusions)
