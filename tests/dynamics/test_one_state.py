"""What is recorded at one set of parameters comes from one state."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.problem import Problem
from deqcheck.models.relu_state import ReluState

Builder = Callable[..., Problem]
TRACKS = ["sigma_min_Z", "equilibrium.error", "gradient"]


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[ReluState]:
    """The states that had to solve for their equilibrium, in order."""
    found: list[ReluState] = []
    equilibrium = ReluState.equilibrium.func

    def counted(state: ReluState) -> object:
        found.append(state)
        return equilibrium(state)

    monkeypatch.setattr(ReluState.equilibrium, "func", counted)
    return found


@pytest.mark.parametrize("kind", ["implicit", "monotone"])
def test_a_descent_solves_once_for_itself_and_once_for_its_companion(
    kind: str, request: pytest.FixtureRequest, solved: list[ReluState]
) -> None:
    train = GradientDescent(step=1e-3, steps=5)
    p = request.getfixturevalue(kind)(train=train)
    run = train.run(p, TRACKS)
    assert len(run.series["sigma_min_Z"].t) == 6
    # The distance of Z from its start needs the start, too.
    assert len(solved) == 2 * 6 + (kind == "implicit")


@pytest.mark.parametrize("kind", ["implicit", "monotone"])
def test_a_sample_of_a_flow_solves_once_for_each_integration(
    kind: str, request: pytest.FixtureRequest, solved: list[ReluState]
) -> None:
    """And once at the start; a sample within a step is one of the tighter integration alone. The
    steps themselves are made on held patterns."""
    train = GradientFlow(horizon=1e-3, rtol=1e-8)
    p = request.getfixturevalue(kind)(train=train)
    run = train.run(Problem(p.model, p.theta0, train, record_points=8), TRACKS)
    samples = len(run.series["sigma_min_Z"].t)
    once = len(run.k) + samples + 1
    assert len(run.k) < samples and once < len(solved) < once + samples - len(run.k)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("kind", ["implicit", "monotone", "delm"])
def test_a_state_goes_when_nobody_needs_it(
    kind: str, request: pytest.FixtureRequest, no_collector: None
) -> None:
    """It holds large matrices: none may wait for the collector of cycles."""
    p = request.getfixturevalue(kind)()
    state = p.model.at(p.theta0)
    assert state.objective.gap > 0 and state.measure("gradient").value > 0
    gone = weakref.ref(state)
    del state
    assert gone() is None
