"""Gradient descent in many digits: a refutation by a run is repeated by this one before it stands.

The states are those of the run up to their rounding to floats, and so are their quantities: what
else a run in float64 may lose on its way is not there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.perturbed_run import PATTERNS, patterns
from deqcheck.dynamics.recorder import SAFETY, OnProgress, silent
from deqcheck.dynamics.steps import Here, walk
from deqcheck.linalg.precise import Numbers, Uncertain, numbers
from deqcheck.models.problem import AnyProblem, Params, norm, pack, unpack
from deqcheck.records.measured import EPS
from deqcheck.records.trajectory import Trajectory

# Multiplications in many digits that a repetition may take: some seconds.
WORK = 3e6


def work(problem: AnyProblem, steps: int) -> float:
    """A factorisation for each sample, step and pass, at most."""
    largest = max(size for shape in problem.shapes.values() for size in shape)
    each = max(1, problem.model.samples) * problem.model.passes
    return float((steps + 1) * each * largest**3)


def repeated(
    problem: AnyProblem, steps: int, tracks: Sequence[str]
) -> tuple[Trajectory | None, str]:
    """The run in the first numbers that are fine enough, and their name; or why there is none."""
    if work(problem, steps) > WORK:
        return None, f"{steps} steps are too many"
    for digits in numbers():
        try:
            return run_precisely(problem, steps, digits, tracks), digits.name
        except NotImplementedError:
            return None, f"{problem.model.kind!r} has no gradient in them"
        except Uncertain:
            continue
    return None, "they do not tell the signs"


def run_precisely(
    problem: AnyProblem,
    steps: int,
    digits: Numbers,
    tracks: Sequence[str] = (),
    report: OnProgress = silent,
) -> Trajectory:
    """So many steps of the problem's own step size. Raises Uncertain or NotImplementedError."""
    train = GradientDescent(step=problem.step, steps=steps)
    return walk(problem, train, PreciseSteps(problem, train, digits), tracks, report)


class PreciseSteps:
    def __init__(self, problem: AnyProblem, train: GradientDescent, digits: Numbers):
        self.step, self.steps, self._digits = train.step, train.steps, digits
        self._model, self._shapes = problem.model, problem.shapes
        self._theta = {name: digits.lift(array) for name, array in problem.theta0.items()}
        self.x = pack(problem.theta0)
        self.perturbed: Rounded | None = Rounded(problem)

    def at(self, i: int) -> tuple[int, float]:
        return i, i * self.step

    def go_on(self, here: Here) -> None:
        digits = self._digits
        with digits.working():
            gradient = self._model.precise_gradient(self._theta, digits)
            step = digits.lift_one(self.step)
            self._theta = {n: a - step * gradient[n] for n, a in self._theta.items()}
            self.x = pack({name: digits.lower(a) for name, a in self._theta.items()})
        if self.perturbed is not None:
            turned = norm(pack(here.other.plain.gradient) - here.gradient)
            self.perturbed.follow(here.k, self.x, self.step * turned)


class Rounded:
    """The state with every number moved by a rounding: what the rounding to floats may do."""

    precision_lost, error_growth = False, 1.0

    def __init__(self, problem: AnyProblem):
        self._shapes = problem.shapes
        self._x = pack(problem.theta0)
        self._patterns = patterns(problem.seed, self._x.size)
        self._off, self.push = 0.0, 0.0

    @property
    def theta(self) -> Params:
        return unpack(self._x, self._shapes)

    def follow(self, k: int, x: np.ndarray, turned: float) -> None:
        """To the next x; `turned` is what the last rounding made of a step."""
        off = EPS * np.abs(x) * self._patterns[k % PATTERNS :][: x.size]
        before, self._off = self._off, norm(off)
        self._x = x + off
        self.push = SAFETY * math.fsum((before, self._off, turned))
