"""Gradient descent with a constant step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deqcheck.dynamics.perturbed_run import PerturbedRun
from deqcheck.dynamics.recorder import (
    EVERY_DISTANCE,
    OnProgress,
    Progress,
    Recorder,
    Step,
    looked_at,
    schedule,
    silent,
)
from deqcheck.fields import integer, number
from deqcheck.kinds import Dynamics
from deqcheck.models.memory import Memory
from deqcheck.models.problem import (
    AnyProblem,
    NoEquilibrium,
    gradient_radius,
    norm,
    pack,
    unpack,
)
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status
from deqcheck.records.words import DESCENT

PROGRESS_EVERY = 256


@dataclass(frozen=True)
class GradientDescent(Dynamics):
    """theta <- theta - step * gradient, with every step recorded.

    A perturbed run (perturbed_run.py) shows what rounding can do to the run. Where errors grow
    until they are no longer small, nothing is known of the rest.
    """

    kind: ClassVar[str] = DESCENT
    step: float = number(above=0, doc="step size")
    steps: int = integer(at_least=1, at_most=100_000_000, doc="how many steps")

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        recorder = Recorder(problem, self, tracks)
        tracked = looked_at(problem, self.steps)
        told = set(schedule(self.steps, problem.record_points).tolist())
        moved = range(self.steps + 1) if self.steps <= EVERY_DISTANCE else tracked
        perturbed, memory = PerturbedRun(problem, self.step), Memory()
        x, shapes = pack(problem.theta0), problem.shapes
        theta = unpack(x, shapes)
        notes: list[str] = []
        status, k = Status.COMPLETED, 0
        try:
            for k in range(self.steps + 1):
                state = problem.model.at(theta, memory)
                here = state.objective
                gradient = pack(here.gradient)
                slope = norm(gradient)
                if not (math.isfinite(here.gap) and math.isfinite(slope)):
                    status = Status.DIVERGED
                    break
                other = state
                if not perturbed.precision_lost:
                    other = problem.model.at(perturbed.theta, memory)
                there = other.objective
                t, error_growth = k * self.step, perturbed.error_growth
                seen = Step(k, t, here.gap, here.error, slope, there.gap)
                recorder.record_inexpensive(
                    seen._replace(error_growth=error_growth, step_error=perturbed.push)
                )
                if k in moved:
                    recorder.record_expensive(
                        k, t, state, other, error_growth=error_growth, tracked=k in tracked
                    )
                if k % PROGRESS_EVERY == 0 or k in told:
                    report(Progress("descent", k, t, k / self.steps, here.gap))
                if k == self.steps:
                    break
                x = x - self.step * gradient
                if not perturbed.precision_lost:
                    radius = gradient_radius(state)
                    perturbed.follow(k, x, slope, radius, pack(there.gradient))
                    if perturbed.precision_lost:
                        notes.append(
                            f"rounding decides how the run goes on from k = {k + 1}: nothing is "
                            "known of it from there on"
                        )
                theta = unpack(x, shapes)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except NoEquilibrium as stop:
            return recorder.finish(theta, stop.status, [*notes, f"at k = {k}: {stop}"], 2 * k)
        return recorder.finish(theta, status, notes, 2 * (k + 1))
