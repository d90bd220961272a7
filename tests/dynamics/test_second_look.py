"""What a run of a flow decides is asked again before it stands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.recorder import silent
from deqcheck.judging.second_look import settled
from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict, outcome_of
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.kawaguchi2021.thm1 import Theorem1

Builder = Callable[..., Problem]
Left = Callable[[Trajectory], Measured]


def looked(
    delm: Builder, left: Left, train: object = None
) -> tuple[Trajectory, Verdict, list[str]]:
    """A statement that says `left <= 1`; the methods and tolerances that were asked."""
    train = train or GradientFlow(horizon=0.01)
    p = delm(1, 4, 1, train=train)
    p = Problem(p.model, p.theta0, train, record_points=3)
    asked: list[str] = []

    def judge(s: AnyStatement, run: Trajectory) -> Verdict:
        asked.append(f"{getattr(run.train, 'method', 'gd')} {getattr(run.train, 'rtol', 0):g}")
        claims = [Claim("c", left(run), "<=", Measured(1.0)).judge()]
        return Verdict(s.id, s.title, s.edition, outcome_of([], claims), (), tuple(claims))

    run, (verdict,) = settled(p, [Theorem1("corrected")], silent, judge)
    return run, verdict, asked


def test_a_refutation_that_another_method_repeats_stands(delm: Builder) -> None:
    run, verdict, asked = looked(delm, lambda run: Measured(2.0, 0.1))
    assert asked == ["DOP853 1e-10", "LSODA 2.3e-12"]
    assert verdict.outcome is Outcome.REFUTED
    assert any("refuted again by LSODA at rtol = 2.3e-12" in note for note in run.notes)


@pytest.mark.parametrize("second", [Measured(0.5, 0.1), Measured(1.0, 0.1)])
def test_a_refutation_that_is_not_repeated_is_withdrawn(delm: Builder, second: Measured) -> None:
    run, verdict, asked = looked(
        delm, lambda run: Measured(2.0, 0.1) if run.train.method == "DOP853" else second
    )
    assert len(asked) == 2
    assert verdict.outcome is Outcome.UNDECIDED
    assert any("withdrawn" in note for note in verdict.notes) and len(run.notes) == 1


def test_an_open_question_is_asked_again_tighter(delm: Builder) -> None:
    run, verdict, asked = looked(delm, lambda run: Measured(0.9, 1e10 * run.train.rtol))
    assert asked == ["DOP853 1e-10", "DOP853 2.3e-12"]
    assert verdict.outcome is Outcome.CONFIRMED
    assert run.notes == ("kawaguchi2021/thm1 (corrected): confirmed at rtol = 2.3e-12",)
    assert run.train.rtol == 1e-10


@pytest.mark.parametrize(("gap", "times"), [(0.1, 2), (1e-4, 1), (0.0, 1)])
def test_a_curve_is_asked_again_for_what_is_open_on_it(
    delm: Builder, gap: float, times: int
) -> None:
    """Where it begins, which is not judged, it is far off; later by `gap`, with bars of 0.2. A
    hundredth of them tells 0.1, not 1e-4."""
    train = GradientFlow(horizon=0.01)
    p, asked = delm(1, 4, 1, train=train), []

    def judge(s: AnyStatement, run: Trajectory) -> Verdict:
        asked.append(run.train.rtol)
        later = np.arange(len(run.k)) > 0
        left = Measured(np.where(later, 1 - gap, 5.0), np.where(later, 0.2, 0.0))
        one = Measured(np.ones(len(run.k)))
        found = [Curve("c", left, "<=", one, run.k, run.t, starts_equal=True).judge()]
        return Verdict(s.id, s.title, s.edition, outcome_of([], found), (), tuple(found))

    _, (verdict,) = settled(p, [Theorem1("corrected")], silent, judge)
    assert verdict.outcome is Outcome.UNDECIDED and len(asked) == times


def test_loose_tolerances_are_tried_twice(delm: Builder) -> None:
    train = GradientFlow(horizon=0.01, rtol=1e-6)
    _, verdict, asked = looked(delm, lambda run: Measured(0.9, 0.2), train)
    assert asked == ["DOP853 1e-06", "DOP853 1e-08", "DOP853 1e-10"]
    assert verdict.outcome is Outcome.UNDECIDED and not verdict.notes


def test_a_refutation_at_a_tighter_tolerance_is_repeated_too(delm: Builder) -> None:
    _, verdict, asked = looked(
        delm, lambda run: Measured(1.1, 0.3 if run.train.rtol > 1e-11 else 0.01)
    )
    assert asked == ["DOP853 1e-10", "DOP853 2.3e-12", "LSODA 2.3e-12"]
    assert verdict.outcome is Outcome.REFUTED


@pytest.mark.parametrize("left", [Measured(1.0, 1e-9), Measured(0.9, float("inf"))])
def test_what_no_tolerance_decides_is_not_asked_again(delm: Builder, left: Measured) -> None:
    _, verdict, asked = looked(delm, lambda run: left)
    assert len(asked) == 1 and verdict.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("second", "outcome", "told"),
    [
        (Measured(2.0, 0.1), Outcome.REFUTED, "refuted again in"),
        (Measured(0.5, 0.1), Outcome.UNDECIDED, "a refutation is withdrawn: not refuted in"),
        (Measured(1.0, 0.1), Outcome.UNDECIDED, "a refutation is withdrawn: not refuted in"),
    ],
)
def test_what_descent_refutes_is_asked_again_in_many_digits(
    delm: Builder, second: Measured, outcome: Outcome, told: str
) -> None:
    answers = iter([Measured(2.0, 0.1), second])
    train = GradientDescent(step=1e-3, steps=3)
    run, verdict, asked = looked(delm, lambda run: next(answers), train)
    assert asked == ["gd 0", "gd 0"] and verdict.outcome is outcome
    assert told in verdict.notes[-1] and told in run.notes[-1]


def test_what_only_the_whole_run_refutes_is_asked_of_the_whole_run(delm: Builder) -> None:
    """Violated at k = 0, as what is said of a step and the end may be."""
    train = GradientDescent(step=1e-3, steps=3)
    p, asked = delm(1, 4, 1, train=train), []

    def judge(s: AnyStatement, run: Trajectory) -> Verdict:
        asked.append(int(run.k[-1]))
        left = Measured(np.full(len(run.k), 2.0 if run.k[-1] == 3 else 0.5), 0.1)
        found = [Curve("c", left, "<=", Measured(np.ones(len(run.k))), run.k, run.t).judge()]
        return Verdict(s.id, s.title, s.edition, outcome_of([], found), (), tuple(found))

    _, (verdict,) = settled(p, [Theorem1("corrected")], silent, judge)
    assert asked == [3, 1, 3] and verdict.outcome is Outcome.REFUTED
    assert verdict.notes[-1].endswith("after 3 steps")


def test_what_descent_does_not_refute_is_not_asked_again(delm: Builder) -> None:
    train = GradientDescent(step=1e-3, steps=3)
    _, verdict, asked = looked(delm, lambda run: Measured(0.5, 0.1), train)
    assert asked == ["gd 0"] and verdict.outcome is Outcome.CONFIRMED
    # A number without a bar is no reading of the run.
    _, verdict, asked = looked(delm, lambda run: Measured(2.0), train)
    assert asked == ["gd 0"] and verdict.outcome is Outcome.REFUTED
