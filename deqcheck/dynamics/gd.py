"""Gradient descent with a constant step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.recorder import Progress, Recorder, Report, schedule, silent
from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.fields import integer, number
from deqcheck.models.problem import NoEquilibrium, Params, Problem, gradient_norm
from deqcheck.records.measured import EPS
from deqcheck.records.verdict import Status
from deqcheck.seeds import rng

# How many random patterns of disturbances the companion run cycles through, and their size in units
# in the last place.
NOISE_BANK, DISTURBANCE = 61, 4.0
PROGRESS_EVERY = 256


@dataclass(frozen=True)
class GradientDescent:
    """theta <- theta - step * gradient, with every step recorded.

    A companion run is disturbed at every step by some units in the last place of the parameters and
    of the gradient's norm. Its distance from the undisturbed run shows what rounding can do to the
    loss until then.
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
                # Each step rounds the parameters, perhaps always to the same side.
                rounded = k * EPS * slope * gradient_norm(theta)
                recorder.cheap(k, k * self.step, here.gap, here.error, slope, there.gap, rounded)
                if k in dear:
                    recorder.dear(k, k * self.step, theta, other)
                if k % PROGRESS_EVERY == 0 or k in dear:
                    report(Progress("descent", k, k * self.step, k / self.steps, here.gap))
                if k < self.steps:
                    theta = self._next(theta, here.gradient)
                    other = self._disturbed(other, there.gradient, bank[k % NOISE_BANK])
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except NoEquilibrium as stop:
            return recorder.finish(theta, stop.status, [f"at k = {k}: {stop}"], 2 * k)
        return recorder.finish(theta, status, [], 2 * (k + 1))

    def _next(self, theta: Params, gradient: Params) -> Params:
        return {name: theta[name] - self.step * gradient[name] for name in theta}

    def _disturbed(self, theta: Params, gradient: Params, noise: Params) -> Params:
        """The next step with every entry off by some units in the last place."""
        out = {}
        for name, a in theta.items():
            g = gradient[name]
            # What is exactly zero (a dead unit) stays so: rounding cannot bring it to life.
            lost = math.sqrt(np.vdot(g, g)) * noise[name] * (g != 0)
            shaken = a + self.step * (lost - g)
            out[name] = shaken + shaken * noise[name]
        return out

    def _noise(self, problem: Problem) -> list[Params]:
        stream = rng(problem.seed, "gd.rounding")
        shapes = {name: a.shape for name, a in problem.theta0.items()}
        return [
            {n: DISTURBANCE * EPS * stream.choice((-1.0, 1.0), s) for n, s in shapes.items()}
            for _ in range(NOISE_BANK)
        ]
