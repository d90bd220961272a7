"""Flows of piecewise smooth models: crossing kinks, sliding along them, what is still judged."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from deqcheck.dynamics import flow, sliding
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.sliding import Sliding, Watch
from deqcheck.models.problem import Kinks, Problem
from deqcheck.records.verdict import Status

Builder = Callable[..., Problem]


def test_a_slide_is_named_by_its_time_and_recorded_until_there(monotone: Builder) -> None:
    """Random instance 1 of hieu2022 as drawn reaches a kink at t = 0.0526."""
    train = GradientFlow(horizon=0.1, rtol=1e-8)
    p = monotone(6, 4, 4, 0.5, 1, train=train)
    run = train.run(Problem(p.model, p.theta0, train, record_points=60), ["sigma_min_Z"])
    assert run.status is Status.KINK_REACHED and not run.complete
    assert any(note.startswith("kink reached at t = 0.05") for note in run.notes)
    assert 0.045 < run.t[-1] < 0.0535
    assert (np.diff(run.gap.value) < 0).all()
    assert run.series["sigma_min_Z"].t[-1] == run.t[-1]


def test_a_crossing_is_no_slide(monotone: Builder) -> None:
    train = GradientFlow(horizon=2.0, rtol=1e-6)
    p = monotone(4, 2, 2, 0.2, 3, train=train)
    run = train.run(Problem(p.model, p.theta0, train, record_points=40))
    assert run.status is Status.COMPLETED
    assert len(run.crossings) == 1
    assert any("activation pattern changed" in note for note in run.notes)


def test_a_start_on_a_kink_that_matters_is_refused(monotone: Builder) -> None:
    train = GradientFlow(horizon=1.0)
    p = monotone(
        2, 1, 1, 1.0, A=np.eye(2), B=np.zeros((2, 2)), U=[[1], [0]], u=[1, 1], X=[[1]], train=train
    )
    with pytest.raises(flow.Refusal, match="not defined on a kink"):
        train.run(p)


def flickering(look: int, changes: bool) -> SimpleNamespace:
    """A state whose pattern is another one at every look, or the same."""
    return SimpleNamespace(kinks=Kinks(np.array([look if changes else 0]), 0))


@pytest.mark.parametrize(
    ("changes", "pace", "slides"), [(True, 0.0, True), (True, 1.0, False), (False, 0.0, False)]
)
def test_flicker_and_standstill_together_are_a_slide(
    changes: bool, pace: float, slides: bool
) -> None:
    watch = Watch(length=1.0)
    evaluations = sliding.EVERY * sliding.LOOKS * 2

    def integrate() -> None:
        for i in range(evaluations):
            watch.see(pace * i / evaluations, flickering(i, changes))

    if slides:
        with pytest.raises(Sliding):
            integrate()
    else:
        integrate()
