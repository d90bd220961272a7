"""Deep equilibrium linear models that descend ahead of what is looked at: the parameters are those
of single steps, and the records within their error bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from side import alike, step_by_step

from deqcheck.dynamics import ahead, recorder, steps
from deqcheck.dynamics.ahead import run_ahead
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.square import Square
from deqcheck.models.delm.side_by_side import ManyDelm, SideBySide
from deqcheck.models.problem import Problem
from deqcheck.records.arithmetic import in_range
from deqcheck.records.verdict import Status

Builder = Callable[..., Problem]
NAMES = tuple(SideBySide.measures)
STEPS = 70


@pytest.fixture(autouse=True)
def two_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of so many steps are looked at twice."""
    monkeypatch.setattr(ahead, "STEPS", 64)


def problem(delm: Builder, m: int = 4, my: int = 1, **given: Any) -> Problem:
    # Predictions grow like 1/(1 - gamma).
    step = 2e-3 * (1 - given.get("gamma", 0.6)) ** 3
    train = GradientDescent(step=step, steps=STEPS)
    return replace(delm(m, 9, my, train=train, **given), record_points=5)


@pytest.mark.parametrize("gamma", [0.05, 0.6, 0.99])
@pytest.mark.parametrize(("m", "my"), [(2, 1), (7, 1), (5, 2), (3, 3), (2, 4), (50, 1)])
def test_a_run_by_itself(delm: Builder, m: int, my: int, gamma: float) -> None:
    p = problem(delm, m, my, gamma=gamma, seed=m + my)
    alike(run_ahead(p, NAMES, recorder.silent), step_by_step(p, NAMES))


@pytest.mark.parametrize(
    "given",
    [
        {"B": np.zeros((1, 4))},
        {"A": np.zeros((4, 4))},
        {"Y": np.zeros((1, 9))},
        {"loss": Square(R=0.3)},
        {"loss": Logistic(), "Y": (np.arange(9) % 2)[None]},
    ],
    ids=["B = 0", "A = 0", "Y = 0", "a ball", "logistic"],
)
def test_other_starts_and_losses(delm: Builder, given: dict[str, Any]) -> None:
    p = problem(delm, **given)
    alike(run_ahead(p, NAMES, recorder.silent), step_by_step(p, NAMES))


def test_the_parameters_are_those_of_single_steps(delm: Builder) -> None:
    p = replace(problem(delm, A=400 * np.eye(4)), record_states=True)
    found, single = run_ahead(p, (), recorder.silent), step_by_step(p)
    assert found is not None
    assert list(found.states) == list(single.states) == [0, 1, 4, 17, STEPS]
    for mine, other in zip(found.states.values(), single.states.values(), strict=True):
        for name, array in mine.items():
            assert np.array_equal(array, other[name])


def test_single_units_are_left_to_single_steps(delm: Builder) -> None:
    # With one unit the weights are gamma, and A does not move, which single steps know exactly.
    assert run_ahead(problem(delm, m=1), (), recorder.silent) is None


def test_distances_along_a_long_run_are_told_on_a_schedule(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (ahead, steps):
        monkeypatch.setattr(module, "EVERY_DISTANCE", STEPS - 1)
    # With quantities along all of it, and none: nothing is told of the second block, but its end.
    p = problem(delm)
    for tracks in (NAMES, ()):
        found = run_ahead(p, tracks, recorder.silent)
        alike(found, step_by_step(p, tracks))
    p = replace(p, record_points=3, train=replace(p.train, steps=200))
    monkeypatch.setattr(recorder, "EVERY_STEP", 100)
    found = run_ahead(p, NAMES, recorder.silent)
    alike(found, step_by_step(p, NAMES))
    assert found is not None and found.distance["A"].k.tolist() == [0, 1, 200]


def test_wide_models(delm: Builder) -> None:
    p = problem(delm, m=30, my=4, gamma=0.3)
    p = replace(p, train=replace(p.train, steps=12))
    alike(run_ahead(p, NAMES, recorder.silent), step_by_step(p, NAMES))


@pytest.mark.parametrize("step", [1e3, 0.2])
def test_what_diverges_or_loses_its_precision_is_left_to_single_steps(
    delm: Builder, step: float
) -> None:
    p = problem(delm)
    train = GradientDescent(step=step, steps=400)
    p = replace(p, train=train)
    # As runs are made: numbers that overflow on the way are no warnings.
    with in_range():
        assert run_ahead(p, NAMES, recorder.silent) is None
        run = train.run(p)
    assert run.notes or run.status is Status.DIVERGED


def test_what_cannot_be_measured_drops_out_when_it_is_looked_at(delm: Builder) -> None:
    tiny = problem(delm, B=np.full((1, 4), 1e-120), Y=np.full((1, 9), 1e-120))
    assert run_ahead(tiny, NAMES, recorder.silent) is None


def test_an_interrupted_run_keeps_the_quantities_of_what_is_known(delm: Builder) -> None:
    p = problem(delm)

    def interrupt(at: recorder.Progress) -> None:
        if at.k > 3:
            raise KeyboardInterrupt

    run = run_ahead(p, NAMES, interrupt)
    assert run is not None and 4 < len(run.k) < STEPS
    whole = run_ahead(p, NAMES, recorder.silent)
    assert whole is not None
    for name, series in run.series.items():
        count = len(series.k)
        assert count == len(run.k)
        assert np.array_equal(series.value.value, whole.series[name].value.value[:count])


@pytest.mark.parametrize("call", [0, 1, 2, 3])
def test_an_interruption_within_a_step_is_no_reason_to_begin_again(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    calls, at = 0, ManyDelm.at

    def interrupted(*asked: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > call:
            raise KeyboardInterrupt
        return at(*asked)

    monkeypatch.setattr(ManyDelm, "at", interrupted)
    p = problem(delm)
    run = p.train.run(p, NAMES)
    # The run is looked at, then its perturbed run.
    assert run.status is Status.INTERRUPTED and len(run.k) == call // 2 * ahead.STEPS
    assert set(run.distance) == {"A", "B"}
