"""Claims and curves: decided only when the error bars allow it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.formula import Formula
from deqcheck.records.measured import Measured, measured
from deqcheck.records.verdict import Outcome, condition_outcome, outcome_of

H, V, U = Decision.HOLDS, Decision.VIOLATED, Decision.UNDECIDED


@pytest.mark.parametrize(
    ("left", "relation", "right", "decision"),
    [
        (Measured(1, 0.1), "<=", Measured(2, 0.1), H),
        (Measured(1, 0.6), "<=", Measured(2, 0.6), U),
        (Measured(2, 0.1), "<=", Measured(1, 0.1), V),
        (Measured(1), "<=", Measured(1), H),
        (Measured(1), "<", Measured(1), V),
        (Measured(1), ">=", Measured(1), H),
        (Measured(1), ">", Measured(1), V),
        (Measured(3, 0.1), ">", Measured(1), H),
        (Measured(1), ">=", Measured(1, 1e-16), U),
        (Measured(1, 1e-12), "==", Measured(1 + 1e-13), H),
        (Measured(1, 1e-3), "==", Measured(1), U),
        (Measured(1, 1e-12), "==", Measured(1.1), V),
        (Measured(float("nan")), "<=", Measured(1), U),
        (Measured(1, float("inf")), "<=", Measured(2), U),
        (Measured(1), "<", Measured(float("inf")), H),
    ],
)
def test_claims(left: Measured, relation: str, right: Measured, decision: Decision) -> None:
    assert Claim("c", left, relation, right).judge().decision is decision


def curve(rate: float, bound_rate: float, error: float = 1e-12, steps: int = 50) -> Curve:
    k = np.arange(steps + 1)
    loss = Measured(np.exp(-rate * k), np.full(steps + 1, error))
    bound, flags = measured(np.exp(-bound_rate * k)), {"decays": True, "starts_equal": True}
    return Curve("c", loss, "<=", bound, k, k * 0.5, **flags)


def test_an_equal_start_and_a_compared_rate_are_two_things() -> None:
    """A curve that begins at equality says nothing there; whether its rate is compared is asked
    for apart."""
    both = curve(0.2, 0.1)
    equal = replace(both, decays=False).judge()
    assert equal.decision is H and equal.curve is not None
    assert equal.curve.first == 1 and equal.curve.rate_tightness is None
    rate = replace(both, starts_equal=False).judge()
    assert rate.decision is U and rate.curve is not None
    assert rate.curve.first == 0 and rate.curve.rate_tightness is not None


def test_a_curve_below_its_bound_holds_with_its_tightness() -> None:
    judged = curve(0.2, 0.1).judge()
    assert judged.decision is H
    facts = judged.curve
    assert facts is not None
    assert (facts.horizon, facts.last, facts.first_violation) == (50, 50, None)
    assert facts.tightest is not None and facts.tightest.k == 1
    assert facts.tightest.slack == pytest.approx(np.exp(0.1))
    assert facts.rate_tightness == pytest.approx(0.5)


def test_a_faster_bound_is_caught_at_its_first_step() -> None:
    judged = curve(0.2, 0.3).judge()
    assert judged.decision is V
    assert judged.curve is not None and judged.curve.first_violation is not None
    assert (judged.curve.first_violation.k, judged.curve.first_violation.t) == (1, 0.5)


def test_an_equality_is_undecided_and_says_so() -> None:
    judged = curve(0.2, 0.2).judge()
    assert judged.decision is U
    assert judged.curve is not None and judged.curve.tightest is not None
    assert judged.curve.tightest.slack == pytest.approx(1.0)
    assert judged.curve.rate_tightness == pytest.approx(1.0)


def test_below_resolution_the_curve_is_judged_up_to_the_horizon() -> None:
    judged = curve(2.0, 1.5).judge()
    assert judged.decision is H
    assert judged.curve is not None and judged.curve.horizon is not None
    # exp(-1.5 k) meets the error 1e-12 near k = 18.4.
    assert 16 <= judged.curve.horizon <= 18 < judged.curve.last


def test_a_violation_after_the_horizon_still_counts() -> None:
    c = curve(2.0, 1.5)
    loss = c.left.value.copy()
    loss[40] = 1.0
    broken = Curve(
        "c", Measured(loss, c.left.error), "<=", c.right, c.k, c.t, decays=True, starts_equal=True
    )
    assert broken.judge().decision is V


def test_a_run_without_digits_is_not_called_below_resolution() -> None:
    k = np.arange(5)
    bound = measured(np.array([1, 0.9, 0.8, 0.7, 0.6]))
    lost = Measured(np.array([1, 0.5, np.nan, np.nan, np.nan]), np.zeros(5))
    assert (
        Curve("c", lost, "<=", bound, k, k * 1.0, decays=True, starts_equal=True).judge().decision
        is U
    )
    wild = Measured(np.array([1, 0.5, 5, 5, 0.1]), np.array([0, 0, 4.9, 4.9, 0]))
    assert (
        Curve("c", wild, "<=", bound, k, k * 1.0, decays=True, starts_equal=True).judge().decision
        is U
    )


def test_nothing_resolved_is_undecided() -> None:
    assert curve(0.2, 0.1, error=10.0).judge().decision is U
    assert curve(0.2, 0.1, error=np.nan).judge().decision is U


def test_a_contraction_factor_is_resolved_against_its_distance_from_one() -> None:
    k = np.arange(5)
    factor = measured(np.full(5, 1 - 1e-6))
    noisy = Measured(np.full(5, 1 - 2e-6), np.full(5, 1e-4))
    assert Curve("c", noisy, "<=", factor, k, k * 1.0, contracts=True).judge().decision is U
    clean = Measured(np.full(5, 1 - 2e-6), np.full(5, 1e-9))
    assert Curve("c", clean, "<=", factor, k, k * 1.0, contracts=True).judge().decision is H


def judged(decision: Decision) -> object:
    right = {H: Measured(2.0), V: Measured(0.0), U: Measured(1.0, 1.0)}[decision]
    result = Claim("c", Measured(1.0), "<=", right).judge()
    assert result.decision is decision
    return result


@pytest.mark.parametrize(
    ("hypotheses", "conclusions", "outcome"),
    [
        ("", "H", Outcome.CONFIRMED),
        ("HH", "HH", Outcome.CONFIRMED),
        ("HH", "HV", Outcome.REFUTED),
        ("HH", "UV", Outcome.REFUTED),
        ("HH", "HU", Outcome.UNDECIDED),
        ("HU", "HH", Outcome.UNDECIDED),
        ("HU", "VV", Outcome.UNDECIDED),
        ("UV", "HH", Outcome.NOT_APPLICABLE),
        ("V", "V", Outcome.NOT_APPLICABLE),
        ("H", "", Outcome.NOT_CHECKED),
    ],
)
def test_outcomes(hypotheses: str, conclusions: str, outcome: Outcome) -> None:
    letters = {"H": H, "V": V, "U": U}
    before = [judged(letters[c]) for c in hypotheses]
    after = [judged(letters[c]) for c in conclusions]
    assert outcome_of(before, after) is outcome  # type: ignore[arg-type]
    if outcome is Outcome.CONFIRMED:
        assert outcome_of(before, after, complete=False) is Outcome.UNDECIDED  # type: ignore[arg-type]
        assert outcome_of(before, after, unchecked=True) is Outcome.NOT_CHECKED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        ("HH", Outcome.MET),
        ("HV", Outcome.NOT_MET),
        ("UV", Outcome.NOT_MET),
        ("HU", Outcome.UNDECIDED),
        ("", Outcome.NOT_CHECKED),
    ],
)
def test_conditions(parts: str, outcome: Outcome) -> None:
    letters = {"H": H, "V": V, "U": U}
    found = [judged(letters[c]) for c in parts]
    assert condition_outcome(found) is outcome  # type: ignore[arg-type]
    if outcome is Outcome.MET:
        assert condition_outcome(found, unchecked=True) is Outcome.NOT_CHECKED  # type: ignore[arg-type]


def test_what_outcomes_mean_for_an_exit_code() -> None:
    assert {o.value for o in Outcome if o.negative} == {"refuted", "inconsistent"}
    assert {o.value for o in Outcome if o.open} == {"not applicable", "undecided", "not checked"}


def test_a_formula_is_its_own_code() -> None:
    f = Formula("2*a^2 <= max(b, exp(-c))/(1 - d)")
    assert f.relation == "<=" and f.names == {"a", "b", "c", "d"}
    left, right = f.sides({"a": 3, "b": Measured(0.1, 0.01), "c": 0, "d": 0.5})
    assert (left.value, right.value) == (18, 2)
    assert right.error < 1e-14


def test_a_decimal_constant_carries_its_rounding() -> None:
    _, dyadic = Formula("x <= 0.25").sides({"x": 0})
    _, decimal = Formula("x <= 0.1").sides({"x": 0})
    assert dyadic.error == 0 and decimal.error > 0


@pytest.mark.parametrize("text", ["__import__('os') <= 1", "a.b <= 1", "[1] <= 2", "f'{a}' <= 1"])
def test_the_formula_language_is_small(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        Formula(text).sides({"a": 1.0})


@pytest.mark.parametrize(
    ("left", "right", "size", "decision"),
    [
        (Measured(1.0, 4e-7), Measured(1.0, 4e-7), 0.0, Decision.HOLDS),
        # Bars too wide to tell anything.
        (Measured(1.0, 1e-3), Measured(1.0), 0.0, Decision.UNDECIDED),
        # What is made of numbers of size 1 and cancels to nothing.
        (Measured(0.0, 1e-9), Measured(0.0, 1e-9), 0.0, Decision.UNDECIDED),
        (Measured(0.0, 1e-9), Measured(0.0, 1e-9), 1.0, Decision.HOLDS),
        # Knowledge that is wrong does not hide a violation.
        (Measured(1.1), Measured(1.0), 0.0, Decision.VIOLATED),
        (Measured(0.9), Measured(1.0), 0.0, Decision.HOLDS),
    ],
)
def test_sides_that_are_known_to_be_equal(
    left: Measured, right: Measured, size: float, decision: Decision
) -> None:
    claim = Claim("c", left, "<=", right).known_equal("n = 1", size).judge()
    assert (claim.decision, claim.note) == (decision, "equal here: n = 1")
    strict = Claim("c", left, "<", right).known_equal("n = 1", size).judge()
    assert strict.decision is (decision if left.value != right.value else Decision.UNDECIDED)
    if strict.decision is Decision.UNDECIDED:
        assert strict.undecided == ("equal" if decision is Decision.HOLDS else "no exact form")


def test_a_curve_that_is_its_bound() -> None:
    """Equal to three digits as long as the bound stands above the bars."""
    k = np.arange(4)
    value = np.exp(-3.0 * k)
    left = Measured(value, np.full(4, 2e-6))
    curve = Curve("c", left, "<=", Measured(value), k, 1.0 * k, decays=True, starts_equal=True)
    assert curve.judge().decision is Decision.UNDECIDED
    assert curve.known_equal("m = 1").judge().decision is Decision.HOLDS
    above = Measured(value * (1 + 0.1 * k), np.full(4, 2e-6))
    wrong = Curve("c", above, "<=", Measured(value), k, 1.0 * k, decays=True, starts_equal=True)
    assert wrong.known_equal("m = 1").judge().decision is Decision.VIOLATED
