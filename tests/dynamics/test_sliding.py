"""Flows of piecewise smooth models: crossing kinks, sliding along them, leaving them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

from tests.dynamics.corner import Corner, corner

Builder = Callable[..., Problem]


def told(run: Trajectory) -> list[str]:
    return [e.kind for e in run.events]


def agrees(p: Problem, run: Trajectory, pieces: list[tuple[float, Callable[[float], Any]]]) -> None:
    """Each piece of the solution begins at a time; no recorded loss is outside its bar."""
    begins = [start for start, _ in pieces]
    for t, value, error in zip(run.t, run.loss.value, run.loss.error, strict=True):
        start, flow = pieces[int(np.searchsorted(begins, t, side="right")) - 1]
        exact = p.model.at({"x": flow(t - start)}).loss
        assert abs(value - exact) <= error <= 1e-6


@pytest.mark.parametrize("method", ["DOP853", "Radau", "LSODA"])
def test_a_slide_begins_and_ends_when_it_must(method: str) -> None:
    """From below; q grows from 1/2 past the pull 2, where the unit goes on."""
    p, start = corner(-0.3, 0.5), np.array([-0.3, 0.5])
    model: Corner = p.model
    begins = model.met(start, False, 2.0)
    q = model.flow(start, False, begins)[1]
    ends = begins + np.log((model.c - q) / (model.c - model.pull))
    run = GradientFlow(horizon=ends + 0.4, method=method).run(p)
    assert run.status is Status.COMPLETED and told(run) == ["slide", "leave"]
    for event, exact in zip(run.events, (begins, ends), strict=True):
        assert abs(event.t.value - exact) <= event.t.error < 1e-6
    on = model.sliding(q, ends - begins)
    pieces = [
        (0.0, lambda t: model.flow(start, False, t)),
        (begins, lambda t: model.sliding(q, t)),
        (ends, lambda t: model.flow(on, True, t)),
    ]
    agrees(p, run, pieces)
    # On the slide the flow is the projected gradient: |dq/dt|, not that of a side.
    at = np.flatnonzero((run.t > begins) & (run.t < ends))
    speed = model.k * np.abs([model.sliding(q, t - begins)[1] - model.c for t in run.t[at]])
    assert len(at) > 5 and np.allclose(run.gradient[at], speed, rtol=1e-7)
    assert any("slides along 1 kink at t = " in note for note in run.notes)


def test_a_kink_that_does_not_hold_the_flow_is_crossed() -> None:
    p, start = corner(-0.3, 3.0), np.array([-0.3, 3.0])
    begins = p.model.met(start, False, 2.0)
    run = GradientFlow(horizon=0.5).run(p)
    assert told(run) == ["crossing"]
    assert abs(run.events[0].t.value - begins) <= run.events[0].t.error < 1e-8
    there = p.model.flow(start, False, begins)
    agrees(
        p,
        run,
        [
            (0.0, lambda t: p.model.flow(start, False, t)),
            (begins, lambda t: p.model.flow(there, True, t)),
        ],
    )


def test_a_slide_may_end_to_the_side_that_it_came_from() -> None:
    """q falls through 0, where the unit goes off."""
    p = corner(-0.3, 1.5, c=-1.0)
    start = np.array([-0.3, 1.5])
    begins = p.model.met(start, False, 0.5)
    q = p.model.flow(start, False, begins)[1]
    run = GradientFlow(horizon=2.0).run(p)
    assert told(run) == ["slide", "leave"]
    ends = begins + np.log(1.0 + q)
    assert abs(run.events[1].t.value - ends) <= run.events[1].t.error < 1e-8
    assert run.final["x"][0] < -0.1


@pytest.mark.parametrize(
    ("q", "pull", "kinds", "side"),
    [
        (1.0, 2.0, ["slide"], 0),
        (3.0, 2.0, [], 1),
        (-1.0, 2.0, [], -1),
        # Either side leads away: the unit stays off, by convention.
        (-1.0, -2.0, ["fork"], -1),
    ],
)
def test_at_the_start_the_velocities_of_both_sides_decide(
    q: float, pull: float, kinds: list[str], side: int
) -> None:
    run = GradientFlow(horizon=0.2).run(corner(0.0, q, pull=pull, c=q))
    assert run.status is Status.COMPLETED and told(run) == kinds
    assert np.sign(np.round(run.final["x"][0], 12)) == side
    assert all(e.t.value == 0 for e in run.events)
    assert any("not unique" in note for note in run.notes) == (kinds == ["fork"])


def relu_problem(seed: int, m: int, n: int, d: int) -> Problem:
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(d, n)), r.normal(size=n)
    W = r.normal(size=(m, m))
    theta = {"W": 0.5 * W / np.linalg.norm(W, 2), "U": r.normal(size=(m, d)), "a": r.normal(size=m)}
    return Problem(ReluDeqModel(X / np.linalg.norm(X, axis=0), y), theta, record_points=12)


def descent(p: Problem, horizon: float, step: float) -> np.ndarray:
    theta = {name: a.copy() for name, a in p.theta0.items()}
    for _ in range(round(horizon / step)):
        gradient = p.model.at(theta).gradient
        theta = {name: a - step * gradient[name] for name, a in theta.items()}
    return np.concatenate([a.ravel() for a in theta.values()])


def most_at_once(run: Trajectory) -> int:
    return max(np.cumsum([{"slide": 1, "leave": -1}.get(kind, 0) for kind in told(run)]))
