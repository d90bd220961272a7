"""Gradient descent with a constant step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from deqcheck.dynamics.recorder import Progress, Recorder, Report, schedule, silent
from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.fields import integer, number
from deqcheck.models.problem import NoEquilibrium, Params, Problem, gradient_norm
from deqcheck.records.measured import EPS
from deqcheck.records.verdict import Status
from deqcheck.seeds import rng

# How many random patterns of one-ulp disturbances the companion run cycles through.
NOISE_BANK = 61
PROGRESS_EVERY = 256


@dataclass(frozen=True)
class GradientDescent:
    """theta <- theta - step * gradient, with every step recorded.

    A companion run is disturbed by one unit in the last place at every step. Its distance from the
    undisturbed run shows what rounding can do to the loss until then.
    """

    kind: ClassVar[str] = "gd"
    step: float = number(above=0, doc="step size")
    steps: int = integer(at_least=1, at_most=100_000_000, doc="how many steps")

    def run(
        self,
        problem: Problem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: Report = silent,
    ) -> Trajectory:
        recorder = Recorder(problem, tracks)
        dear = set(schedule(self.steps, problem.record_points).tolist())
        bank = self._noise(problem)
        theta = {name: a.copy() for name, a in problem.theta0.items()}
        other = theta
        status, k = Status.COMPLETED, 0
        try:
            for k in range(self.steps + 1):
                here, there = problem.model.objective(theta), problem.model.objective(other)
                slope = gradient_norm(here.gradient)
                if not (math.isfinite(here.gap) and math.isfinite(slope)):
                    status = Status.DIVERGED
                    break
                recorder.cheap(k, k * self.step, here.gap, here.error, slope, there.gap)
                if k in dear:
                    recorder.dear(k, k * self.step, theta)
                if k % PROGRESS_EVERY == 0 or k in dear:
                    report(Progress("descent", k, k * self.step, k / self.steps, here.gap))
                if k < self.steps:
                    theta = self._next(theta, here.gradient)
                    other = _disturbed(self._next(other, there.gradient), bank, k)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except NoEquilibrium as stop:
            return recorder.finish(theta, Status.NO_EQUILIBRIUM, [f"at k = {k}: {stop}"], 2 * k)
        return recorder.finish(theta, status, [], 2 * (k + 1))

    def _next(self, theta: Params, gradient: Params) -> Params:
        return {name: theta[name] - self.step * gradient[name] for name in theta}

    def _noise(self, problem: Problem) -> list[Params]:
        stream = rng(problem.seed, "gd.rounding")
        shapes = {name: a.shape for name, a in problem.theta0.items()}
        return [
            {name: 1 + EPS * stream.choice((-1.0, 1.0), shape) for name, shape in shapes.items()}
            for _ in range(NOISE_BANK)
        ]


def _disturbed(theta: Params, bank: list[Params], k: int) -> Params:
    noise = bank[k % NOISE_BANK]
    return {name: theta[name] * noise[name] for name in theta}
