"""Hypothesis 1 along the first steps of gradient descent: balls around the initial parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Curve
from deqcheck.records.comparison import compare
from deqcheck.records.measured import Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, Check, Constant
from deqcheck.theorems.hieu2022.common import PARAMETERS, WORDS, MonotoneStatement
from deqcheck.theorems.hieu2022.induction import Point, largest_so_far, replay
from deqcheck.theorems.hieu2022.setting import Problem


class Balls(MonotoneStatement):
    """A statement about single steps in balls whose radii the text leaves open: those of the case,
    or else the smallest that hold the steps 0, ..., k + `ahead`."""

    ahead: ClassVar[int]
    constants: ClassVar[Mapping[str, str]] = {
        f"R_{name}": Constant(
            f"radius of the ball around {name}(0); default: the smallest that will do",
            for_all=True,
            above=0,
        )
        for name in PARAMETERS
    }

    within_symmetric = Check("Hypothesis 1, A in its ball", "distance <= R", "Hypothesis 1")
    within_skew = Check("Hypothesis 1, B in its ball", "distance <= R", "Hypothesis 1")
    within_inputs = Check("Hypothesis 1, U in its ball", "distance <= R", "Hypothesis 1")
    within_outputs = Check("Hypothesis 1, u in its ball", "distance <= R", "Hypothesis 1")

    def __init__(self, edition: str = CORRECTED, fixed: Mapping[str, float] | None = None):
        super().__init__(edition, fixed)
        self._seen: tuple[Trajectory, list[Point]] | None = None

    def reach(self, p: Problem, run: Trajectory) -> int:
        """The last step of which something is claimed."""
        raise NotImplementedError

    def points(self, p: Problem, run: Trajectory) -> list[Point]:
        """The first steps, as far as what is asked of them holds before the last."""
        if self._seen is None or self._seen[0] is not run:
            found = replay(p, run, self.reach(p, run))
            # Without gaps: the end of the run is no neighbour of the first steps.
            self._seen = run, [point for i, point in enumerate(found) if point.k == i]
        return self._seen[1]

    def inside(self, p: Problem, run: Trajectory) -> int:
        """How many of the points are in the balls that the case gives."""
        points, known = self.points(p, run), len(self.points(p, run))
        for name in PARAMETERS:
            if f"R_{name}" in self.fixed:
                moved = stack([point.moved(name, p.theta0) for point in points])
                holds = compare(moved, "<=", Measured(self.fixed[f"R_{name}"]))[0]
                known = min(known, len(holds) if holds.all() else int(np.argmin(holds)))
        return known

    def judged(self, p: Problem, run: Trajectory) -> list[Point]:
        """The points of which something is claimed, and the one after the last of them."""
        return self.points(p, run)[: self.inside(p, run) + 1 - self.ahead]

    def hypothesis_1(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        # A ball that the first step leaves is shown with that step, if the step must be in it.
        part = self.points(p, run)[: max(self.inside(p, run), 1 + self.ahead)]
        for name in PARAMETERS:
            if f"R_{name}" in self.fixed:
                check: Check = getattr(self, f"within_{WORDS[name]}")
                moved = stack([point.moved(name, p.theta0) for point in part])
                k, t = clocks(p, part)
                yield check.sampled(k, t, distance=moved, R=self.fixed[f"R_{name}"])

    def reached(self, p: Problem, points: list[Point], name: str) -> Measured:
        """|P(0)| + R for each step: the radius of the case, or else how far P came until then."""
        size = errors.norm2(p.theta0[name])
        if f"R_{name}" in self.fixed:
            return size + self.fixed[f"R_{name}"]
        far = largest_so_far([point.moved(name, p.theta0) for point in points])
        return size + far[self.ahead : len(points) - 1 + self.ahead]


def clocks(p: Problem, points: list[Point]) -> tuple[np.ndarray, np.ndarray]:
    k = np.array([point.k for point in points])
    return k, k * p.step


def counted(steps: int) -> str:
    return f"the first {steps} steps" if steps > 1 else "the first step"
