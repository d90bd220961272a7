"""Gradient descent with a constant step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from deqcheck.dynamics.ahead import run_ahead
from deqcheck.dynamics.recorder import OnProgress, silent
from deqcheck.dynamics.steps import Descent, walk
from deqcheck.dynamics.together import run_one
from deqcheck.fields import integer, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Dynamics
from deqcheck.models.problem import AnyProblem
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.words import DESCENT


@dataclass(frozen=True)
class GradientDescent(Dynamics):
    """theta <- theta - step * gradient, with every step recorded.

    A perturbed run (perturbed_run.py) shows what rounding can do to the run. Where errors grow
    until they are no longer small, nothing is known of the rest.
    """

    kind: ClassVar[str] = DESCENT
    step: float = number(above=0, doc="step size")
    steps: int = integer(at_least=1, at_most=100_000_000, doc="how many steps")

    def rest(self, k: int, t: float) -> GradientDescent | None:
        return replace(self, steps=self.steps - k) if k < self.steps else None

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        own = problem if problem.train is self else replace(problem, train=self)
        found = run_ahead(own, tracks, report) or run_one(own, tracks, report)
        if found is not None:
            return found
        return walk(problem, self, Descent(problem, self.step, self.steps), tracks, report)
