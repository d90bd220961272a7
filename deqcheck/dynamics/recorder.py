"""What is recorded along a run, and when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from deqcheck.models.problem import AnyProblem, Params, State, quantities
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.series import Series
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

# The difference of two runs estimates the error of the better one; the factor covers the chance
# that the two happen to agree.
SAFETY = 4.0


class Progress(NamedTuple):
    phase: str
    k: int
    t: float
    fraction: float
    # Above the infimum; and what is guaranteed of it, NaN where nothing is.
    gap: float
    bound: float = math.nan


Report = Callable[[Progress], None]
# Step, time, blur in time, and each quantity with its distance from the companion run.
Row = tuple[int, float, float, dict[str, tuple[Measured, float]]]


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

    problem: AnyProblem
    # The dynamics that are recorded.
    train: Any
    tracks: Sequence[str]
    # How many times the difference of the two runs may be the error of the better one.
    safety: float = SAFETY
    k: list[int] = field(default_factory=list)
    t: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    gradient: list[float] = field(default_factory=list)
    deviation: list[float] = field(default_factory=list)
    accumulated: list[float] = field(default_factory=list)
    step_error: list[float] = field(default_factory=list)
    _dear: list[Row] = field(default_factory=list)
    _moved: list[Row] = field(default_factory=list)

    def cheap(
        self,
        k: int,
        t: float,
        gap: float,
        error: float,
        slope: float,
        other: float,
        accumulated: float = 0.0,
        grown: float = 1.0,
        step: float = 0.0,
    ) -> None:
        """One step: the gap with its local radius, |gradient|, the companion run's gap, what the
        steps until here may have added whatever the companion shows, by how much more than usual
        its distance may fall short (inf: nothing is known), and what the last step may have
        lost."""
        self.accumulated.append(accumulated)
        self.k.append(k)
        self.t.append(t)
        self.gap.append(gap)
        self.error.append(error)
        self.gradient.append(slope)
        self.deviation.append(grown * abs(gap - other) if math.isfinite(grown) else math.inf)
        self.step_error.append(step)

    def dear(
        self,
        k: int,
        t: float,
        state: State,
        other: State | None = None,
        blur: float = 0.0,
        grown: float = 1.0,
    ) -> None:
        """The asked-for quantities, how far the companion run is from them there, the time that a
        flow needs to move by its tolerance, and by how much more than usual that distance may fall
        short."""
        lost = not (math.isfinite(grown) and (other is None or _finite(other.theta)))

        def row(here: dict[str, Measured], apart: Callable[[State], dict[str, float]]) -> Row:
            if other is None or lost:
                off = dict.fromkeys(here, np.inf if lost else 0.0)
            else:
                off = {name: grown * d for name, d in apart(other).items()}
            return k, t, blur, {name: (value, off[name]) for name, value in here.items()}

        if self.tracks:
            here = quantities(state, self.tracks)
            self._dear.append(
                row(here, lambda other: _differences(here, quantities(other, self.tracks)))
            )
        moved = self._distance(state.theta)
        self._moved.append(row(moved, lambda other: _distances(state.theta, other.theta)))

    def _distance(self, theta: Params) -> dict[str, Measured]:
        out = {}
        for name, start in self.problem.theta0.items():
            moved = float(np.linalg.norm(theta[name] - start))
            out[name] = Measured(moved, 4 * EPS * (moved + float(np.linalg.norm(start))))
        return out

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
        error = np.array(self.error) + np.array(self.accumulated)
        error = error + self._drift(gap) * np.abs(gap)
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
            step_error=np.array(self.step_error),
            crossings=tuple(crossings),
            infimum=self.problem.model.infimum,
            train=self.train,
        )

    def _drift(self, gap: np.ndarray) -> np.ndarray:
        """Relative error accumulated until each step: it never shrinks again."""
        deviation = np.array(self.deviation)
        # Below its local radius a gap has no digits to lose.
        size = np.maximum(np.abs(gap), np.array(self.error))
        with np.errstate(all="ignore"):
            relative = np.where(deviation > 0, deviation / size, 0.0)
        return self.safety * np.maximum.accumulate(np.where(np.isnan(relative), np.inf, relative))

    def _series(self) -> dict[str, Series]:
        return self._in_order(self._dear, self.tracks if self._dear else ())

    def _distances(self) -> dict[str, Series]:
        return self._in_order(self._moved, self.problem.theta0)

    def _in_order(self, rows: list[Row], names: Iterable[str]) -> dict[str, Series]:
        """Sorted by time; like that of the gap, the distance of the companion never shrinks."""
        rows = sorted(rows, key=lambda row: row[1])
        k, t, blur = (np.array([r[i] for r in rows]) for i in range(3))
        out = {}
        for name in names:
            values = stack([r[3][name][0] for r in rows])
            apart = np.maximum.accumulate(np.array([r[3][name][1] for r in rows]))
            # Early on both runs can be alike to the last digit: then what the quantity does while
            # the flow moves by its tolerance. That does not shrink again either.
            alike = (
                np.maximum.accumulate(blur * np.abs(np.gradient(values.value, t)))
                if blur.any() and len(t) > 1
                else 0.0
            )
            out[name] = Series(k, t, values.widened(self.safety * (apart + alike)))
        return out


def _finite(theta: Params) -> bool:
    return all(np.isfinite(a).all() for a in theta.values())


def _differences(here: dict[str, Measured], there: dict[str, Measured]) -> dict[str, float]:
    with np.errstate(invalid="ignore"):
        return {name: float(abs(v.value - there[name].value)) for name, v in here.items()}


def _distances(theta: Params, other: Params) -> dict[str, float]:
    """No norm of a difference to a third point differs by more."""
    return {name: float(np.linalg.norm(a - other[name])) for name, a in theta.items()}
