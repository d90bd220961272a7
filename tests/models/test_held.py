"""Models with units held on a side of their kinks, against differences and against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deqcheck.models.opteq.held import Bent, jumps
from deqcheck.models.problem import Held, NoEquilibrium, Problem, norm, pack, unpack
from deqcheck.models.relu_deq.model import ReluDeqModel
from tests.opteq_instances import arrays, problem

Builder = Callable[..., Problem]
KINDS = (
    "relu-deq",
    "monotone-deq",
    "implicit-relu",
    "relu",
    "hardtanh",
    "implicit",
    "sam",
    "output",
)


def relu_deq() -> Problem:
    r = np.random.default_rng(0)
    W = r.normal(size=(5, 5))
    theta = {"W": 0.6 * W / np.linalg.norm(W, 2), "U": r.normal(size=(5, 3)), "a": r.normal(size=5)}
    return Problem(ReluDeqModel(r.normal(size=(3, 3)), r.normal(size=3)), theta)


@pytest.fixture
def made(request: pytest.FixtureRequest, monotone: Builder, implicit: Builder) -> Problem:
    data, theta = arrays(1, 4, 3, 3, 2, 1, 3, bscale=0.8)
    builders = {
        "relu-deq": relu_deq,
        "monotone-deq": lambda: monotone(4, 3, 3, 0.5, 2),
        "implicit-relu": lambda: implicit(N=3, d=3, m=4),
        "relu": lambda: problem(data, theta, activation="relu", iterations=3),
        "hardtanh": lambda: problem(data, theta, activation="hardtanh", iterations=2, alpha=0.7),
        "implicit": lambda: problem(data, theta, activation="relu", solver="implicit"),
        "sam": lambda: problem(
            data, theta, activation="relu", iterations=3, sam={"beta": 0.3, "gamma": 0.5}
        ),
        # Its regulariser pulls at the output weights, too.
        "output": lambda: problem(
            data,
            theta,
            activation="relu",
            iterations=3,
            sam={"beta": 0.3, "gamma": 0.5, "regularizer": "output"},
        ),
    }
    return builders[request.param]()


def held(p: Problem, theta: np.ndarray, above: np.ndarray) -> Held:
    found: Held = p.model.at(unpack(theta, p.shapes)).held(above)
    return found


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_on_its_own_sides_the_gradient_is_the_models(made: Problem) -> None:
    here = made.start.held(made.start.kinks.above)
    gradient = pack(made.start.gradient)
    assert norm(pack(here.gradient) - gradient) <= 1e-13 * norm(gradient)
    assert np.array_equal(here.heights > 0, made.start.kinks.above)


@pytest.mark.parametrize("made", KINDS, indirect=True)
def test_gradients_of_loss_and_heights_are_their_differences_on_any_sides(made: Problem) -> None:
    r, theta, h = np.random.default_rng(1), pack(made.theta0), 1e-6
    above = made.start.kinks.above.copy()
    above[r.choice(len(above), 3, replace=False)] ^= True
    way = r.normal(size=theta.size)
    here, ahead, behind = (held(made, theta + s * h * way, above) for s in (0, 1, -1))
    slope = (ahead.residual**2 - behind.residual**2) / (4 * h)
    assert slope == pytest.approx(pack(here.gradient) @ way, rel=1e-6)
    rates = (ahead.heights - behind.heights) / (2 * h)
    rows = [pack(here.row(k)) @ way for k in range(len(above))]
    assert np.allclose(rows, rates, rtol=1e-6, atol=1e-7)


# Units of the inner layer, too; their outer ones are on where all other units push.
PULLED = [*((kind, False) for kind in KINDS), ("implicit-relu", True)]


@pytest.mark.parametrize(("made", "inner"), PULLED, indirect=["made"])
def test_a_slope_adds_its_share_of_the_pull(made: Problem, inner: bool) -> None:
    """On a kink: with the unit on, the gradient is that with it off plus e J, where e counts what
    the unit hears of itself; and at half the slope half of that."""
    if inner:
        made = replace(made, theta0={**made.theta0, "A": np.abs(made.theta0["A"])})
    off, theta = made.start.kinks.above.copy(), pack(made.theta0)
    heights = np.abs(held(made, theta, off).heights)
    heights[: made.start.Z.size if inner else 0] = np.inf
    kinks = np.argsort(heights)[:2]
    off[kinks] = False
    for _ in range(20):
        here = held(made, theta, off)
        rows = np.array([pack(here.row(k)) for k in kinks])
        theta = theta - np.linalg.lstsq(rows, here.heights[kinks], rcond=None)[0]
    if inner:
        off = made.model.at(unpack(theta, made.shapes)).kinks.above.copy()
        assert off[kinks - made.start.Z.size].all()
        off[kinks] = False
    here = held(made, theta, off)
    assert here.pulls(kinks.tolist()).any()
    slopes, couplings = np.array([0.5, 0.25]), here.couplings(kinks.tolist())
    # e = pulls + couplings^T c and c = s e.
    c = np.linalg.solve(
        np.eye(2) - slopes[:, None] * couplings.T, slopes * here.pulls(kinks.tolist())
    )
    chosen = np.full(len(off), np.nan)
    near = np.abs(here.heights) < 1e-9
    chosen[near] = off[near]
    chosen[kinks] = slopes
    state = made.model.at(unpack(theta, made.shapes)).with_slopes(chosen)
    expected = pack(here.gradient) + np.array([pack(here.row(k)) for k in kinks]).T @ c
    assert norm(pack(state.gradient) - expected) <= 1e-9 * norm(expected)


@pytest.mark.parametrize(
    ("made", "name"),
    [("relu-deq", "W"), ("implicit-relu", "A"), ("implicit", "W1")],
    indirect=["made"],
)
@pytest.mark.parametrize("size", [0.5, 1.2, 2.0])
def test_nothing_is_held_where_there_is_no_equilibrium(
    made: Problem, name: str, size: float
) -> None:
    """z = relu(w z + c) with w a multiple of I has one solution for w < 1, and for w > 1 and c > 0
    none; that on a pattern exists all the same."""
    w = size / getattr(made.model, "gamma", 1.0) * np.eye(*made.theta0[name].shape)
    state = made.model.at({**made.theta0, name: w})
    above = made.start.kinks.above
    if size < 1:
        assert np.isfinite(state.held(above).residual)
    else:
        with pytest.raises(NoEquilibrium):
            state.held(above)


def test_any_piecewise_linear_function_is_the_sum_of_its_units() -> None:
    """Slopes 2, -1, 1/2 and 4, with kinks at 2, 3 and 7; f(2) = 7."""
    kinks, slopes = np.array([2.0, 3.0, 7.0]), np.array([2.0, -1.0, 0.5, 4.0])
    corners = np.array([-4.0, *kinks, 9.0])
    heights = np.cumsum([0.0, *slopes * np.diff(corners)])
    heights += 7.0 - heights[1]
    s: Any = SimpleNamespace(
        kinks=tuple(kinks),
        value=lambda t: np.interp(t, corners, heights),
        slope=lambda t: slopes[np.searchsorted(kinks, t)],
    )
    assert jumps(s) == pytest.approx(np.diff(slopes))
    t = np.array([-3.5, 1.5, 2.1, 2.9, 3.3, 5.0, 7.2, 8.5])
    bent = Bent(s, (t[:, None] > kinks).astype(float))
    assert bent.value(t) == pytest.approx(s.value(t), rel=1e-13)
    assert bent.slope(t) == pytest.approx(s.slope(t), rel=1e-13)


@pytest.mark.parametrize("twins", [False, True])
@pytest.mark.parametrize("activation", ["relu", "hardtanh"])
def test_kinks_of_samples_that_start_alike_are_those_of_the_first(
    activation: str, twins: bool
) -> None:
    """Of 2 iterations, 3 units, 4 samples and as many kinks as there are."""
    data, theta = arrays(1, 4, 3, 3, 2, 1, 4)
    if twins:
        data["X"][:, 2] = data["X"][:, 0]
    start = problem(data, theta, activation=activation, iterations=2).start
    kinks = len(start.model.s.kinks)
    places = np.arange(2 * 3 * 4 * kinks).reshape(2, 3, 4, kinks)
    if twins:
        places[:, :, 2] = places[:, :, 0]
    assert np.array_equal(start.kinks.alike, places.ravel())
