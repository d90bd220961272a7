"""A run in steps: what is recorded of it is the same however it gets from one step to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from deqcheck.dynamics.perturbed_run import PerturbedRun
from deqcheck.dynamics.recorder import (
    EVERY_DISTANCE,
    PROGRESS_EVERY,
    OnProgress,
    Progress,
    Recorder,
    Step,
    looked_at,
    schedule,
)
from deqcheck.models.memory import Memory
from deqcheck.models.problem import (
    AnyProblem,
    NoEquilibrium,
    Params,
    State,
    gradient_radius,
    norm,
    pack,
    unpack,
)
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status


class Here(NamedTuple):
    """The run at one of its steps, and the perturbed run there."""

    k: int
    state: State
    # All of the gradient in one row, and its norm.
    gradient: np.ndarray
    slope: float
    other: State


class Beside(Protocol):
    """Other parameters, which show what errors until here may do."""

    push: float

    @property
    def precision_lost(self) -> bool: ...
    @property
    def error_growth(self) -> float: ...
    @property
    def theta(self) -> Params: ...


class Steps(Protocol):
    """How a run gets on. `x` are its parameters in one row, `perturbed` runs beside it."""

    steps: int
    x: np.ndarray

    @property
    def perturbed(self) -> Beside | None:
        """None where the parameters are exactly what they are to be."""
        ...

    def at(self, i: int) -> tuple[int, float]:
        """The number and the time of the i-th state."""
        ...

    def go_on(self, here: Here) -> None:
        """To the next state, the perturbed run with it."""
        ...


class Descent:
    """theta <- theta - step * gradient."""

    def __init__(self, problem: AnyProblem, step: float, steps: int):
        self.step, self.steps = step, steps
        self.x = pack(problem.theta0)
        self.perturbed: PerturbedRun | None = PerturbedRun(problem, step)

    def at(self, i: int) -> tuple[int, float]:
        return i, i * self.step

    def go_on(self, here: Here) -> None:
        self.x = self.x - self.step * here.gradient
        beside = self.perturbed
        if beside is not None and not beside.precision_lost:
            radius = gradient_radius(here.state)
            beside.follow(here.k, self.x, here.slope, radius, pack(here.other.plain.gradient))


# What diverges overflows before it is seen to: numbers that are not finite end the run.
@np.errstate(over="ignore")
def walk(
    problem: AnyProblem, train: Any, steps: Steps, tracks: Sequence[str], report: OnProgress
) -> Trajectory:
    """The trajectory, with the tracked quantities on a schedule."""
    recorder, memory, shapes = Recorder(problem, train, tracks), Memory(), problem.shapes
    last = steps.steps
    tracked = looked_at(problem, last)
    told = set(schedule(last, problem.record_points).tolist())
    moved = range(last + 1) if last <= EVERY_DISTANCE else tracked
    notes: list[str] = []
    status, i, k = Status.COMPLETED, 0, 0
    theta = unpack(steps.x, shapes)
    try:
        for i in range(last + 1):
            k, t = steps.at(i)
            state = problem.model.at(theta, memory)
            here = state.objective
            gradient = pack(here.gradient)
            slope = norm(gradient)
            if not (math.isfinite(here.gap) and math.isfinite(slope)):
                status = Status.DIVERGED
                break
            beside = steps.perturbed
            other, other_gap = state, here.gap
            if beside is not None and not beside.precision_lost:
                other = problem.model.at(beside.theta, memory)
                other_gap = other.plain.gap
            growth = 1.0 if beside is None else beside.error_growth
            recorder.record_inexpensive(
                Step(
                    k,
                    t,
                    here.gap,
                    here.error,
                    slope,
                    other_gap,
                    error_growth=growth,
                    step_error=0.0 if beside is None else beside.push,
                )
            )
            if i in told:
                recorder.record_state(theta)
            if i in moved:
                recorder.record_expensive(
                    k, t, state, other, error_growth=growth, tracked=i in tracked
                )
            if i % PROGRESS_EVERY == 0 or i in told:
                report(Progress("descent", k, t, i / last, here.gap))
            if i == last:
                break
            known = growth < math.inf
            steps.go_on(Here(k, state, gradient, slope, other))
            if beside is not None and known and beside.precision_lost:
                notes.append(
                    f"rounding decides how the run goes on from k = {steps.at(i + 1)[0]}: nothing "
                    "is known of it from there on"
                )
            theta = unpack(steps.x, shapes)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except NoEquilibrium as stop:
        return recorder.finish(theta, stop.status, [*notes, f"at k = {k}: {stop}"], 2 * i)
    return recorder.finish(theta, status, notes, 2 * (i + 1))
