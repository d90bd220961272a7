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
PATTERNS, DISTURBANCE = 61, 4.0
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
        noise = Noise(problem)
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
                    other = noise.shaken(self._next(other, there.gradient), there.gradient, self, k)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except NoEquilibrium as stop:
            return recorder.finish(theta, stop.status, [f"at k = {k}: {stop}"], 2 * k)
        return recorder.finish(theta, status, [], 2 * (k + 1))

    def _next(self, theta: Params, gradient: Params) -> Params:
        return {name: theta[name] - self.step * gradient[name] for name in theta}


class Noise:
    """Disturbances by some units in the last place. The patterns are windows of one long row of
    random signs for each parameter, so that they stay in the cache."""

    def __init__(self, problem: Problem):
        stream = rng(problem.seed, "gd.rounding")
        self.signs = {
            name: DISTURBANCE * EPS * stream.choice((-1.0, 1.0), a.size + PATTERNS - 1)
            for name, a in problem.theta0.items()
        }

    def shaken(self, theta: Params, gradient: Params, descent: GradientDescent, k: int) -> Params:
        """`theta`, just stepped to, with the last digits of every entry and of the step moved."""
        for name, a in theta.items():
            g, first = gradient[name], k % PATTERNS
            lost = descent.step * math.sqrt(np.vdot(g, g))
            # What is exactly zero (a dead unit) stays so: rounding cannot bring it to life.
            size = a + lost if np.count_nonzero(g) == g.size else a + lost * (g != 0)
            size *= self.signs[name][first : first + a.size].reshape(a.shape)
            a += size
        return theta
