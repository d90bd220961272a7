"""What is recorded along a run, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from deqcheck.dynamics.series import Series
from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.models.problem import Params, Problem
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.verdict import Status

# The difference of two runs estimates the error of the better one; the factor covers the chance
# that the two happen to agree.
SAFETY = 4.0


class Progress(NamedTuple):
    phase: str
    k: int
    t: float
    fraction: float
    loss: float


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    pass


def schedule(steps: int, points: int) -> np.ndarray:
    """Step numbers 0..steps, every one while that is cheap, then evenly spaced in log k."""
    if steps + 1 <= points:
        return np.arange(steps + 1)
    spaced = np.geomspace(1, steps, points - 1)
    return np.unique(np.append(0, np.round(spaced).astype(int)))


@dataclass
class Recorder:
    """Collects a run: cheap numbers at every step, the asked-for quantities on a schedule."""

    problem: Problem
    tracks: Sequence[str]
    k: list[int] = field(default_factory=list)
    t: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    gradient: list[float] = field(default_factory=list)
    deviation: list[float] = field(default_factory=list)
    _dear: list[tuple[int, float, dict[str, Measured]]] = field(default_factory=list)
    _moved: list[tuple[int, float, dict[str, float]]] = field(default_factory=list)

    def cheap(self, k: int, t: float, gap: float, error: float, slope: float, other: float) -> None:
        """One step: the gap with its local radius, |gradient|, and the companion run's gap."""
        self.k.append(k)
        self.t.append(t)
        self.gap.append(gap)
        self.error.append(error)
        self.gradient.append(slope)
        self.deviation.append(abs(gap - other))

    def dear(self, k: int, t: float, theta: Params) -> None:
        if self.tracks:
            state = self.problem.model.at(theta)
            self._dear.append((k, t, {name: state.measure(name) for name in self.tracks}))
        start = self.problem.theta0
        self._moved.append(
            (k, t, {name: float(np.linalg.norm(theta[name] - start[name])) for name in start})
        )

    def samples(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a tracked quantity so far, in order of time."""
        series = self._series()[name]
        return series.t, series.value.value

    def finish(
        self,
        final: Params,
        status: Status,
        notes: Sequence[str],
        evaluations: int,
        crossings: Sequence[tuple[float, float]] = (),
    ) -> Trajectory:
        gap = np.array(self.gap)
        error = np.array(self.error) + self._drift(gap) * np.abs(gap)
        return Trajectory(
            k=np.array(self.k),
            t=np.array(self.t),
            gap=Measured(gap, error, "difference to the companion run"),
            gradient=np.array(self.gradient),
            series=self._series(),
            distance=self._distances(),
            final=final,
            status=status,
            notes=tuple(notes),
            evaluations=evaluations,
            local_error=np.array(self.error),
            crossings=tuple(crossings),
        )

    def _drift(self, gap: np.ndarray) -> np.ndarray:
        """Relative error accumulated until each step: it never shrinks again.

        What the evaluation of the two gaps explains is not accumulated.
        """
        beyond = np.maximum(np.array(self.deviation) - 2 * np.array(self.error), 0.0)
        with np.errstate(all="ignore"):
            relative = np.where(beyond > 0, beyond / np.abs(gap), 0.0)
        return SAFETY * np.maximum.accumulate(np.where(np.isnan(relative), np.inf, relative))

    def _series(self) -> dict[str, Series]:
        k, t, rows = _in_order(self._dear)
        return {name: Series(k, t, stack([r[name] for r in rows])) for name in self.tracks if rows}

    def _distances(self) -> dict[str, Series]:
        k, t, rows = _in_order(self._moved)
        out = {}
        for name, start in self.problem.theta0.items():
            moved = np.array([r[name] for r in rows])
            radius = 4 * EPS * (moved + float(np.linalg.norm(start)))
            out[name] = Series(k, t, Measured(moved, radius))
        return out


def _in_order(rows: list[tuple[int, float, dict[str, Any]]]) -> tuple[np.ndarray, np.ndarray, list]:
    rows = sorted(rows, key=lambda row: row[1])
    return np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), [r[2] for r in rows]
