"""Flows of piecewise smooth models: crossing kinks, sliding along them, leaving them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

import deqcheck as dq
from deqcheck.dynamics import kinked
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.sliding import _balance
from deqcheck.linalg import patterns
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Params, Problem, norm, pack
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import EPS
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022.pl import AlongRuns
from tests.dynamics.corner import Corner, corner
from tests.opteq_instances import arrays, problem

Builder = Callable[..., Problem]


def told(run: Trajectory) -> list[str]:
    return [e.kind for e in run.events]


def agrees(p: Problem, run: Trajectory, pieces: list[tuple[float, Callable[[float], Any]]]) -> None:
    """Each piece of the solution begins at a time; no recorded loss is outside its bar."""
    begins = [start for start, _ in pieces]
    for t, value, error in zip(run.t, run.loss.value, run.loss.error, strict=True):
        start, flow = pieces[int(np.searchsorted(begins, t, side="right")) - 1]
        exact = p.model.at({"x": flow(t - start)}).loss
        assert abs(value - exact) <= error <= 1e-3


@pytest.mark.parametrize(
    ("method", "rtol", "sharp"),
    [("DOP853", 1e-10, 1e-7), ("Radau", 1e-6, 1e-2), ("LSODA", 1e-8, 1e-3)],
)
def test_a_slide_begins_and_ends_when_it_must(method: str, rtol: float, sharp: float) -> None:
    """From below; q grows from 1/2 past the pull 2, where the unit goes on."""
    p, start = corner(-0.3, 0.5), np.array([-0.3, 0.5])
    model: Corner = p.model
    begins = model.met(start, False, 2.0)
    q = model.flow(start, False, begins)[1]
    ends = begins + np.log((model.c - q) / (model.c - model.pull))
    run = GradientFlow(horizon=ends + 0.4, method=method, rtol=rtol).run(p)
    assert run.status is Status.COMPLETED and told(run) == ["slide", "leave"]
    for event, exact in zip(run.events, (begins, ends), strict=True):
        assert abs(event.t.value - exact) <= event.t.error < sharp
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
    assert len(at) > 5 and np.allclose(run.gradient[at], speed, rtol=1e-4)
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


def test_a_slide_goes_on_where_what_holds_it_fades_into_the_tolerance() -> None:
    """q falls to 0, where the kink holds the flow no more, and never gets there."""
    run = GradientFlow(horizon=40.0, rtol=1e-6).run(corner(-0.3, 1.0, c=0.0))
    assert run.status is Status.COMPLETED and told(run) == ["slide"]


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


def forking(height: float, label: float = 2.0) -> Problem:
    """One unit without feedback and two samples, the first of which lies on the kink at height 0:
    off, the second drives it down by 1; on, its own label drives it up by label - 1."""
    X, y = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([label, 0.0])
    theta = {"W": np.zeros((1, 1)), "U": np.array([[height, 1.0]]), "a": np.ones(1)}
    return Problem(ReluDeqModel(X, y), theta, record_points=8)


class Slower(AlongRuns):
    """Broken: it asks for more than there is."""

    id = "broken/pl-run"
    by_gram = Check("twice the gradient", "gradient^2 >= 2*loss + 0*sigma_min_Z", "broken")


def test_after_a_fork_nothing_is_confirmed_but_much_is_refuted() -> None:
    flow = GradientFlow(horizon=0.1)
    forked, plain, pulled = forking(0.0), forking(0.1), forking(0.0, label=0.5)
    runs = [flow.run(p, AlongRuns.tracks) for p in (forked, plain, pulled)]
    assert [run.forked for run in runs] == [0.0, None, None]
    found = [
        dq.judge(AlongRuns, p, run) for p, run in zip((forked, plain, pulled), runs, strict=True)
    ]
    assert [v.outcome for v in found] == ["undecided", "confirmed", "confirmed"]
    assert all(c.decision is Decision.HOLDS for c in found[0].conclusions)
    assert any("several flows from t = 0 on" in note for note in found[0].notes)
    assert dq.judge(Slower, forked, runs[0]).outcome == "refuted"


def relu_problem(seed: int, m: int = 5, n: int = 4) -> Problem:
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(3, n)), r.normal(size=n)
    W = r.normal(size=(m, m))
    theta = {"W": 0.5 * W / np.linalg.norm(W, 2), "U": r.normal(size=(m, 3)), "a": r.normal(size=m)}
    return Problem(ReluDeqModel(X / np.linalg.norm(X, axis=0), y), theta)


def descent(p: Problem, horizon: float, step: float) -> np.ndarray:
    theta = p.theta0
    for _ in range(round(horizon / step)):
        gradient = p.model.at(theta).gradient
        theta = {name: a - step * gradient[name] for name, a in theta.items()}
    return pack(theta)


def most_at_once(run: Trajectory) -> int:
    changes = [{"slide": 1, "leave": -1}.get(kind, 0) for kind in told(run)]
    return int(np.cumsum(changes).max())


@pytest.mark.parametrize(
    ("kind", "at_once"), [("relu-deq", 3), ("monotone-deq", 2), ("implicit-relu", 3), ("opteq", 1)]
)
def test_descent_with_small_steps_follows_the_flow(
    kind: str, at_once: int, monotone: Builder, implicit: Builder
) -> None:
    """Its distance from the flow is a multiple of the step, however many kinks hold the flow."""
    p, horizon = {
        "relu-deq": lambda: (relu_problem(5), 0.3),
        "monotone-deq": lambda: (monotone(4, 3, 4, 0.5, 4), 0.3),
        "implicit-relu": lambda: (implicit(N=4, d=3, m=5, seed=2), 0.2),
        "opteq": lambda: (
            problem(*arrays(2, 3, 4, 3, 1, 1, 4), activation="relu", iterations=2),
            0.5,
        ),
    }[kind]()
    run = GradientFlow(horizon=horizon, rtol=1e-6).run(Problem(p.model, p.theta0, record_points=4))
    assert run.status is Status.COMPLETED and most_at_once(run) == at_once
    coarse, fine = (horizon / n for n in (80, 320))
    far, near = (norm(descent(p, horizon, step) - pack(run.final)) for step in (coarse, fine))
    assert near < 0.4 * far and near < 40 * fine


def test_a_flow_that_has_come_to_rest_takes_no_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow that goes on, in steps as short as they must be, is within the bars."""
    p, flow = relu_problem(2, 6, 2), GradientFlow(horizon=30.0, rtol=1e-8)
    p = Problem(p.model, p.theta0, record_points=8)
    rests = flow.run(p)
    monkeypatch.setattr(kinked, "LATELY", 10**9)
    goes_on = flow.run(p)
    assert rests.evaluations < goes_on.evaluations / 2
    gap, other = rests.gap, goes_on.gap
    assert (np.abs(gap.value - other.value) <= gap.error + other.error).all()
    assert gap.value[-1] <= gap.error[-1] <= 1e-14 * gap.value[0]
    for name, far in rests.distance.items():
        there = goes_on.distance[name].value[-1]
        assert abs(far.value[-1].value - there.value) <= far.value[-1].error + there.error


@pytest.mark.parametrize("sliding", [1, 2, 4])
def test_the_forces_of_a_slide_are_those_of_least_squares(sliding: int) -> None:
    """To the condition of the rows; dependent rows have the least norm."""
    rng = np.random.default_rng(sliding)
    rows, gradient = rng.normal(size=(sliding, 30)), rng.normal(size=30)
    for each in (rows, rows + 20 * rng.normal(size=30), np.repeat(rows[:1], sliding, axis=0)):
        scaled = each / np.linalg.norm(each, axis=1)[:, None]
        slow = np.linalg.lstsq(scaled.T, -gradient, rcond=1e-13)
        seen = slow[3][slow[3] > 1e-13]
        bar = 100 * EPS * np.linalg.norm(gradient) * (seen.max() / seen.min()) ** 2
        assert np.linalg.norm(_balance(scaled, gradient) - slow[0]) <= bar
    assert np.isnan(_balance(np.full((2, 3), np.nan), np.ones(3))).all()


def test_kinks_of_equal_samples_are_one() -> None:
    """A sample given twice, with two labels: the flow slides as with their mean, counted twice."""
    p = relu_problem(5)
    X, y = p.model.X, p.model.y
    twice = ReluDeqModel(np.hstack([X, X]), np.concatenate([y + 0.2, y - 0.2]))
    runs = [
        GradientFlow(horizon=horizon, rtol=1e-7).run(Problem(model, p.theta0, record_points=6))
        for model, horizon in ((p.model, 0.2), (twice, 0.1))
    ]
    assert told(runs[0]) == told(runs[1]) and "slide" in told(runs[0])
    for one, two in zip(*(run.events for run in runs), strict=True):
        assert abs(one.t.value - 2 * two.t.value) <= one.t.error + 2 * two.t.error
    assert norm(pack(runs[0].final) - pack(runs[1].final)) < 1e-6


def smoothed(p: Problem, horizon: float, width: float) -> np.ndarray:
    """The flow of a ReLU DEQ with W = 0 held, where relu is a softplus of this width."""
    X, y, a = p.model.X, p.model.y, p.theta0["a"]

    def velocity(_: float, u: np.ndarray) -> np.ndarray:
        H = u.reshape(len(a), -1) @ X
        r = (width * np.logaddexp(0, H / width)).T @ a - y
        return np.asarray(-((a[:, None] * scipy.special.expit(H / width)) * r @ X.T).ravel())

    start = p.theta0["U"].ravel()
    found = scipy.integrate.solve_ivp(velocity, (0, horizon), start, "LSODA", rtol=1e-9, atol=1e-11)
    return np.asarray(found.y[:, -1])


class OnlyU(ReluDeqModel):
    """Gradients with respect to U alone."""

    def at(self, theta: Params, memory: Memory | None = None) -> OnlyUState:
        return OnlyUState(self, theta, memory)


class OnlyUState(ReluDeqState):
    def assembled(self, *args: Any) -> Params:
        found = super().assembled(*args)
        return {name: g if name == "U" else 0 * g for name, g in found.items()}


def test_the_flow_is_the_limit_of_smooth_ones() -> None:
    p = relu_problem(5)
    p.theta0["W"][:] = 0.0
    model = OnlyU(p.model.X, p.model.y)
    run = GradientFlow(horizon=0.5, rtol=1e-8).run(Problem(model, p.theta0, record_points=6))
    assert "slide" in told(run)
    widths = (3e-2, 3e-3, 3e-4)
    far = [norm(smoothed(p, 0.5, w) - run.final["U"].ravel()) for w in widths]
    assert far[1] < 0.3 * far[0] and far[2] < 0.3 * far[1] and far[2] < 3e-3


def test_a_unit_that_rests_at_zero_in_every_sample_is_an_equilibrium() -> None:
    """The flow slides to where X W is the rounding of larger products, and goes on there."""
    X = [
        [0.01958771, 0.0, 0.0],
        [0.54689037, 0.0, -0.43607839],
        [0.0, -2.18104052, -1.64576994],
    ]
    W = [[-0.07054102], [-0.18365335], [-0.1183513]]
    data = {"X": X, "y": [-0.71088761, -0.08688487, -0.20290375]}
    init = {"W": W, "A": [[1.12033144]], "b": [0.39555416]}
    p = dq.problem("implicit-relu", data, init, gamma=0.2677778991771535)
    found = dq.run(
        p, train={"kind": "flow", "horizon": 1.0}, only=["gao2022/gradient"], entry=False
    )
    assert found.status.word == "completed"
    assert any("slides" in note for note in found.notes)


@pytest.mark.parametrize("how", ["", "equal", "opposite", "tiny", "dead"])
def test_broad_patterns_factorised_one_by_one_lead_the_same_way(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin solves all samples together, for states and for adjoints apart."""
    m, n, d = 18, 4, 3
    r = np.random.default_rng(5)
    X, y = r.normal(size=(d, n)), 2 * r.normal(size=n)
    theta = {
        "W": 0.25 * r.normal(size=(m, m)) / np.sqrt(m),
        "U": r.normal(size=(m, d)),
        "a": r.normal(size=m) / np.sqrt(m),
    }
    if how in ("equal", "opposite", "tiny"):
        X[:, 1] = {"equal": 1.0, "opposite": -1.0, "tiny": 1e-9}[how] * X[:, 0]
    if how == "dead":
        theta["U"][0], theta["W"][0] = 0.0, 0.0
    p = Problem(ReluDeqModel(X, y), theta, record_points=8)
    flow = GradientFlow(horizon=0.1)
    run = flow.run(p, ("sigma_min_Z",))
    monkeypatch.setattr(patterns, "FEW", 0)
    twin = flow.run(p, ("sigma_min_Z",))
    assert run.events and [(e.kind, e.kink) for e in run.events] == [
        (e.kind, e.kink) for e in twin.events
    ]
    # The bars are for errors of tolerances, 1e-12 and more, and these differ by roundings.
    for one, other in ((run.gap, twin.gap), (run.path, twin.path)):
        assert one is not None and other is not None
        assert (np.abs(one.value - other.value) <= 0.05 * (one.error + other.error)).all()
