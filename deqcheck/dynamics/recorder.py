"""What is recorded along a run, and when."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from deqcheck.models.problem import AnyProblem, NoEquilibrium, Params, State, quantities
from deqcheck.records.grids import distinct
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.series import Series
from deqcheck.records.trajectory import Event, Trajectory
from deqcheck.records.verdict import Status

# The difference of two runs estimates the error of the better one; the factor covers the chance
# that the two happen to agree.
SAFETY = 4.0
# What counts of that difference is the largest so far: the quantities of the second run are
# measured beside the first so many samples, then beside one of so many, and beside the last.
FIRST_COMPARED, ONE_COMPARED = 16, 4


class Progress(NamedTuple):
    phase: str
    k: int
    t: float
    fraction: float
    # Above the infimum; and what is guaranteed of it, NaN where nothing is.
    gap: float
    bound: float = math.nan


OnProgress = Callable[[Progress], None]
# Steps from one report of progress to the next, at most.
PROGRESS_EVERY = 256
# Step, time, blur in time, and each quantity with its distance from the perturbed run.
Sample = tuple[int, float, float, dict[str, tuple[Measured, float]]]


class Waiting(NamedTuple):
    """A state whose quantities are still to be measured, and the second run's beside it."""

    k: int
    t: float
    blur: float
    state: State
    other: State | None
    growth: float
    # Whether the second run is measured at once.
    turn: bool


class Sampled(NamedTuple):
    """The same in columns, in order of time."""

    k: np.ndarray
    t: np.ndarray
    blur: np.ndarray
    values: dict[str, tuple[Measured, np.ndarray]]


def silent(_: Progress) -> None:
    pass


def compared(sample: int) -> bool:
    """Whether the second run's quantities are measured beside this one."""
    return sample < FIRST_COMPARED or sample % ONE_COMPARED == 0


def schedule(steps: int, points: int) -> np.ndarray:
    """Step numbers 0..steps, every one while that is cheap, then evenly spaced in log k."""
    if steps + 1 <= points:
        return np.arange(steps + 1)
    spaced = np.geomspace(1, steps, points - 1)
    return distinct(np.append(0, np.round(spaced).astype(int)))


# Quantities are looked at in every step of a run that is no longer than this, if the cubes of the
# largest size of a parameter, which spectra cost, do not add up to more; distances from the start
# in every step of one that is no longer than the last number.
EVERY_STEP, CUBES, EVERY_DISTANCE = 2000, 1e8, 20_000


def looked_at(problem: AnyProblem, steps: int) -> range | set[int]:
    """The steps of gradient descent at which the quantities of theorems are measured."""
    largest = max((size for shape in problem.shapes.values() for size in shape), default=1)
    if steps <= EVERY_STEP and (steps + 1) * largest**3 <= CUBES:
        return range(steps + 1)
    return set(schedule(steps, problem.record_points).tolist())


class Step(NamedTuple):
    """What is recorded at every step."""

    k: int
    t: float
    # The loss above its infimum, and its radius at these parameters alone.
    gap: float
    error: float
    # |gradient|.
    slope: float
    # The gap of the second run, which shows what errors until here may have done.
    other_gap: float
    # What they may have added to the gap, whatever the second run shows.
    accumulated: float = 0.0
    # How many times the distance of the second run the error may be, beyond the usual factor of
    # safety; inf: nothing is known.
    error_growth: float = 1.0
    # How far the parameters may be from an exact step.
    step_error: float = 0.0


# So many numbers of kept states (64 MB) are few enough.
STATE_NUMBERS = 8_000_000


class KeptStates:
    """The parameters at points of a run: every one, or every second, fourth, ... of them, so that
    all of them together stay small."""

    def __init__(self) -> None:
        self.kept: dict[int, Params] = {}
        self._offered, self._stride, self._size = 0, 1, 0

    def keep(self, at: int, theta: Params) -> None:
        if self._offered % self._stride == 0:
            self.kept[at] = {name: array.copy() for name, array in theta.items()}
            self._size += sum(array.size for array in theta.values())
        self._offered += 1
        while self._size > STATE_NUMBERS and len(self.kept) > 1:
            for other in list(self.kept)[1::2]:
                self._size -= sum(array.size for array in self.kept.pop(other).values())
            self._stride *= 2


@dataclass
class Recorder:
    """Collects a run: cheap numbers at every step, the asked-for quantities on a schedule."""

    problem: AnyProblem
    # The dynamics that are recorded.
    train: Any
    tracks: Sequence[str]
    # How many times the difference of the two runs may be the error of the better one.
    safety: float = SAFETY
    steps: list[Step] = field(default_factory=list)
    states: KeptStates = field(default_factory=lambda: KeptStates())
    _expensive: list[Sample] = field(default_factory=list)
    _moved: list[Sample] = field(default_factory=list)
    _waiting: list[Waiting] = field(default_factory=list)
    # The sample that is last in time, and its place.
    _last: tuple[int, Waiting] | None = None
    # As of a Series.
    jumps: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    def record_inexpensive(self, step: Step) -> None:
        self.steps.append(step)

    def record_state(self, theta: Params) -> None:
        """The parameters at the step that was recorded last, where they are asked for."""
        if self.problem.record_states:
            self.states.keep(len(self.steps) - 1, theta)

    def record_expensive(
        self,
        k: int,
        t: float,
        state: State,
        other: State | None = None,
        blur: float = 0.0,
        error_growth: float = 1.0,
        tracked: bool = True,
    ) -> None:
        """The distances from the start and, where `tracked`, the asked-for quantities; how far the
        perturbed run is from them there (not known without one), the time that a flow needs to move
        by its tolerance, and by how much more than usual that distance may fall short."""
        lost = not math.isfinite(error_growth) or not (other is None or _finite(other.theta))
        growth, other = (math.inf, None) if lost else (error_growth, other)
        if self.tracks and tracked:
            self._measure(k, t, state, other, blur, growth)
        off: Mapping[str, float] = {} if other is None else _distances(state, other)
        here = self._distance(state)
        self._moved.append(
            (k, t, blur, {n: (v, growth * off.get(n, _unknown(growth))) for n, v in here.items()})
        )

    def _measure(
        self, k: int, t: float, state: State, other: State | None, blur: float, growth: float
    ) -> None:
        """The asked-for quantities, beside those of the second run if it is their turn: soon, many
        of them together."""
        turn = compared(len(self._expensive) + len(self._waiting))
        self._waiting.append(Waiting(k, t, blur, state, other, growth, turn))
        if len(self._waiting) >= self.problem.model.states_at_once:
            self._measure_waiting()

    def _measure_waiting(self) -> None:
        waiting = self._waiting
        others = [w.other for w in waiting if w.turn and w.other is not None]
        states = [*(w.state for w in waiting), *others]
        try:
            rows = self.problem.model.quantities(states, self.tracks) if states else []
        except NoEquilibrium:
            # Nothing is known of them, now or later.
            self._waiting = []
            raise
        there = iter(rows[len(waiting) :])
        for w, here in zip(waiting, rows, strict=False):
            off = dict.fromkeys(here, _unknown(w.growth))
            if w.turn and w.other is not None:
                off = _apart(here, next(there), w)
            if self._last is None or w.t >= self._last[1].t:
                self._last = len(self._expensive), w
            self._expensive.append((w.k, w.t, w.blur, {n: (v, off[n]) for n, v in here.items()}))
        # Whoever interrupts before gets them measured at the end.
        self._waiting = []

    def _compare_last(self) -> None:
        """The sample that is last in time counts until the end of the run."""
        if self._last is None:
            return
        at, last = self._last
        if last.turn or last.other is None:
            return
        k, t, blur, row = self._expensive[at]
        here = {name: value for name, (value, _) in row.items()}
        try:
            off = _apart(here, quantities(last.other, self.tracks), last)
        except NoEquilibrium:
            off = dict.fromkeys(here, math.inf)
        self._expensive[at] = k, t, blur, {n: (v, off[n]) for n, v in here.items()}

    @cached_property
    def _first(self) -> dict[str, tuple[np.ndarray, float]]:
        return _arrays(self.problem.start)

    def _distance(self, state: State) -> dict[str, Measured]:
        out, first = {}, self._first
        for name, (array, radius) in _arrays(state).items():
            start, known = first[name]
            moved = float(np.linalg.norm(array - start))
            rounding = 4 * EPS * (moved + float(np.linalg.norm(start)))
            out[name] = Measured(moved, radius + known + rounding)
        return out

    def series(self, name: str) -> Series:
        """A tracked quantity so far, in order of time."""
        self._measure_waiting()
        return self._series(_in_order(self._expensive, [name]))[name]

    def finish(
        self,
        final: Params,
        status: Status,
        notes: Sequence[str],
        evaluations: int,
        events: Sequence[Event] = (),
    ) -> Trajectory:
        self._measure_waiting()
        self._compare_last()
        k, t, gap, local, slope, other, accumulated, growth, lost = self._columns()
        with np.errstate(invalid="ignore"):
            apart = np.where(np.isfinite(growth), growth * np.abs(gap - other), np.inf)
        error = local + accumulated + self._drift(gap, local, apart) * np.abs(gap)
        return Trajectory(
            k=k.astype(int),
            t=t,
            gap=Measured(gap, error, "difference to the second run"),
            gradient=slope,
            series=self._series(self._tracked()),
            distance=self._series(self._moves()),
            final=final,
            status=status,
            notes=tuple(notes),
            evaluations=evaluations,
            local_error=local,
            step_error=lost,
            events=tuple(events),
            infimum=self.problem.model.infimum,
            train=self.train,
            states=self.states.kept,
        )

    def _columns(self) -> np.ndarray:
        """Each field of the steps."""
        return np.array(self.steps, dtype=float).reshape(-1, len(Step._fields)).T

    def _drift(self, gap: np.ndarray, local: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Relative error accumulated until each step: it never shrinks again."""
        # Below its local radius a gap has no digits to lose.
        size = np.maximum(np.abs(gap), local)
        with np.errstate(all="ignore"):
            relative = np.where(deviation > 0, deviation / size, 0.0)
        return self.safety * np.maximum.accumulate(np.where(np.isnan(relative), np.inf, relative))

    def _tracked(self) -> Sampled:
        return _in_order(self._expensive, self.tracks if self._expensive else ())

    def _moves(self) -> Sampled:
        return _in_order(self._moved, self._moved[0][3] if self._moved else self.problem.theta0)

    def _series(self, sampled: Sampled) -> dict[str, Series]:
        """Like that of the gap, the distance of the perturbed run never shrinks."""
        out = {}
        for name, (values, off) in sampled.values.items():
            # Early on both runs can be alike to the last digit: then what the quantity does while
            # the flow moves by its tolerance. That does not shrink again either.
            series = Series(sampled.k, sampled.t, values, self.jumps)
            blur, apart = sampled.blur, _running(off)
            alike = np.maximum.accumulate(blur * _steepness(series)) if blur.any() else 0.0
            out[name] = replace(series, value=values.widened(self.safety * (apart + alike)))
        return out


def _in_order(rows: list[Sample], names: Iterable[str]) -> Sampled:
    rows = sorted(rows, key=lambda row: row[1])
    k, t, blur = (np.array([r[i] for r in rows]) for i in range(3))
    columns = {}
    for name in names:
        each = [r[3][name] for r in rows]
        columns[name] = stack([value for value, _ in each]), np.array([off for _, off in each])
    return Sampled(k, t, blur, columns)


def _steepness(series: Series) -> np.ndarray:
    """|df/dt| at each sample, but not across a jump."""
    found, f = np.zeros(len(series.t)), series.value.value
    for part in series.stretches():
        if part.stop - part.start > 1:
            found[part] = np.abs(np.gradient(f[part], series.t[part]))
    return found


def _running(distance: np.ndarray) -> np.ndarray:
    """The largest so far; where it is not known, the largest until it is known again."""
    largest = np.maximum.accumulate(np.where(np.isnan(distance), 0.0, distance))
    known = np.flatnonzero(~np.isnan(distance))
    if not len(known):
        return largest
    following = known[np.minimum(np.searchsorted(known, np.arange(len(distance))), len(known) - 1)]
    found: np.ndarray = np.maximum(largest, largest[following])
    return found


def _unknown(growth: float) -> float:
    """The distance of a second run that is not looked at, or that tells nothing any more."""
    return math.nan if math.isfinite(growth) else math.inf


def _apart(
    here: Mapping[str, Measured], there: Mapping[str, Measured], at: Waiting
) -> dict[str, float]:
    with np.errstate(invalid="ignore"):
        return {n: at.growth * float(abs(v.value - there[n].value)) for n, v in here.items()}


def _finite(theta: Params) -> bool:
    return all(np.isfinite(a).all() for a in theta.values())


def _arrays(state: State) -> dict[str, tuple[np.ndarray, float]]:
    """Whose distances are recorded, with their radii: parameters are what they are."""
    return {**{name: (a, 0.0) for name, a in state.theta.items()}, **state.features}


def _distances(state: State, other: State) -> dict[str, float]:
    """No norm of a difference to a third point differs by more."""
    there = _arrays(other)
    return {
        name: float(np.linalg.norm(a - there[name][0])) for name, (a, _) in _arrays(state).items()
    }
