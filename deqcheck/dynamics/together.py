"""Descents of equal shape, advanced together: every array has a leading axis, a slice for each.

What is recorded of each is what its own run would record, to the last digit, whoever is beside it.
A run that leaves the plain way (it diverges, comes within its error of a kink, loses its
equilibrium or its precision) drops out, and is made by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.perturbed_run import LINEAR, PATTERNS, UNLUCKY, patterns
from deqcheck.dynamics.recorder import (
    EVERY_DISTANCE,
    SAFETY,
    Recorder,
    Sampled,
    Step,
    compared,
    looked_at,
)
from deqcheck.linalg.stacked import Places, dots, norms
from deqcheck.models.problem import AnyProblem, Params, pack, unpack
from deqcheck.models.stack import Stack, StackState
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

# So many at once: their arrays stay in the cache.
MOST = 60
# After so many steps the patterns are those of the states again from which the next are found.
RENEWED = 16


def run_together(
    problems: Sequence[AnyProblem], tracks: Sequence[Sequence[str]]
) -> list[Trajectory | None]:
    """The trajectory of each problem, with its own quantities tracked; None where it has to be made
    by itself."""
    found: list[Trajectory | None] = [None] * len(problems)
    groups: dict[Any, list[int]] = {}
    for i, p in enumerate(problems):
        short = type(p.train) is GradientDescent and p.train.steps <= EVERY_DISTANCE
        if short and not p.record_states:
            shapes = tuple(p.shapes.items())
            key = p.model.kind, p.model.samples, shapes, p.train.steps, p.record_points
            groups.setdefault((*key, tuple(tracks[i])), []).append(i)
    for key, every in groups.items():
        p = problems[every[0]]
        one = p.model.stacked([p.model], p.shapes)
        if one is None or not set(key[-1]) <= set(one.names):
            continue
        # With the perturbed runs beside them.
        most = min(MOST, one.most // 2)
        for first in range(0, len(every), most):
            some = every[first : first + most]
            for i, run in zip(some, _group([problems[i] for i in some], key[-1]), strict=True):
                found[i] = run
    return found


@np.errstate(all="ignore")
def _group(problems: Sequence[AnyProblem], tracks: Sequence[str]) -> list[Trajectory | None]:
    nothing: list[Trajectory | None] = [None] * len(problems)
    models = [p.model for p in problems]
    stack = models[0].stacked([*models, *models], problems[0].shapes)
    if len(problems) < 2 or stack is None:
        return nothing
    try:
        return _Runs(problems, stack, tracks).walk()
    except np.linalg.LinAlgError:
        return nothing


class PerturbedRuns:
    """PerturbedRun for every slice."""

    def __init__(self, problems: Sequence[AnyProblem], x: np.ndarray, step: np.ndarray):
        self.x, self.step = x, step
        size = x.shape[1]
        self._patterns = np.stack([patterns(p.seed, size) for p in problems])
        arrays = problems[0].theta0.values()
        self._shares = np.concatenate([np.full(a.size, a.size**-0.5) for a in arrays])
        self._pushed, self._growth = np.zeros(len(x)), np.ones(len(x))
        self.push = np.zeros(len(x))
        self._scale = np.maximum(1.0, norms(x))
        self.lost = np.zeros(len(x), dtype=bool)

    @property
    def error_growth(self) -> np.ndarray:
        return np.minimum(self._growth, UNLUCKY)

    def keep(self, slices: np.ndarray) -> None:
        for name, array in vars(self).items():
            if name != "_shares":
                setattr(self, name, array[slices])

    def follow(
        self, k: int, x: np.ndarray, slope: np.ndarray, radius: np.ndarray, gradient: np.ndarray
    ) -> None:
        size = norms(x)
        self.push = EPS * (size + self.step * slope) + self.step * radius
        moved = self.x - self.step[:, None] * gradient
        push = np.abs(moved)
        push *= EPS
        lost = self._shares * (self.step * radius)[:, None]
        lost *= gradient != 0
        push += lost
        first = k % PATTERNS
        push *= self._patterns[:, first : first + x.shape[1]]
        moved += push
        away = moved - x
        distance = norms(away)
        apart = distance > 0
        away *= np.where(apart, self.push / distance, 0.0)[:, None]
        moved += away
        distance += np.where(apart, self.push, 0.0)
        self.x = moved
        self._pushed += 2 * self.push
        self._growth = np.where(
            distance > self._growth * self._pushed, distance / self._pushed, self._growth
        )
        near = SAFETY * self.error_growth * distance <= LINEAR * np.minimum(size, self._scale)
        self.lost = ~(np.isfinite(self.push) & near)


class _Runs:
    def __init__(self, problems: Sequence[AnyProblem], stack: Stack, tracks: Sequence[str]):
        self.problems, self.stack, self.tracks = problems, stack, tuple(tracks)
        self.shapes = problems[0].shapes
        self.x = np.stack([pack(p.theta0) for p in problems])
        self.steps = problems[0].train.steps
        step = np.array([p.train.step for p in problems])
        self.beside = PerturbedRuns(problems, self.x, step)
        # Which problems are still in.
        self.left = np.arange(len(problems))
        points, count = self.steps + 1, len(problems)
        self.columns = np.zeros((count, points, len(Step._fields)))
        tracked = sorted(looked_at(problems[0], self.steps)) if tracks else []
        self.tracked = _Columns(tracked, self.tracks, count)
        self.moved = _Columns(range(points), tuple(self.shapes), count)
        start = unpack_rows(self.x, self.shapes)
        self.start = {name: (a, norms(a)) for name, a in start.items()}
        masks, known = stack.first([p.start for p in problems])
        self.near = Places(np.concatenate([masks, masks]))
        self._keep(known)

    def walk(self) -> list[Trajectory | None]:
        found: list[Trajectory | None] = [None] * len(self.problems)
        for i in range(self.steps + 1):
            if not len(self.left):
                return found
            theta = unpack_rows(np.concatenate([self.x, self.beside.x]), self.shapes)
            state = self.stack.at(theta, self.near)
            slope, at = self._record(i, theta, state), len(self.left)
            good = state.fine[:at] & state.fine[at:] & np.isfinite(slope)
            if i % RENEWED == 0:
                self.near = Places(state.mask)
            if i < self.steps:
                self._step(i, state, slope)
                good &= ~self.beside.lost
            if not good.all():
                self._keep(good)
        for row, i in enumerate(self.left.tolist()):
            found[i] = self._finished(row, i)
        return found

    def _step(self, i: int, state: StackState, slope: np.ndarray) -> None:
        at = len(self.left)
        self.x = self.x - self.beside.step[:, None] * state.gradient[:at]
        self.beside.follow(i, self.x, slope, state.radius[:at], state.gradient[at:])

    def _keep(self, slices: np.ndarray) -> None:
        if slices.all():
            return
        both = np.concatenate([slices, slices])
        self.left, self.x = self.left[slices], self.x[slices]
        self.beside.keep(slices)
        self.near = Places(self.near.mask[both])
        if len(self.left):
            self.stack = self.stack.kept(both)

    def _record(self, i: int, theta: Params, state: StackState) -> np.ndarray:
        at, growth = len(self.left), self.beside.error_growth
        gradient = state.gradient[:at]
        slope: np.ndarray = np.sqrt(dots(gradient, gradient))
        gap, other = state.gap[:at], state.gap[at:]
        t, zero = i * self.beside.step, np.zeros(at)
        # The fields of a Step.
        row = (i, t, gap, state.error[:at], slope, other, zero, growth, self.beside.push)
        self.columns[self.left, i] = np.stack(np.broadcast_arrays(*row), axis=1)
        if self.tracked.at(i):
            for j, name in enumerate(self.tracks):
                value, error = state.measure(name)
                apart = growth * np.abs(value[:at] - value[at:])
                self.tracked.put(i, j, self.left, (value[:at], error[:at], apart))
        for j, (name, array) in enumerate(theta.items()):
            start, size = (a[self.left] for a in self.start[name])
            moved = norms(array[:at] - start)
            apart = growth * norms(array[:at] - array[at:])
            self.moved.put(i, j, self.left, (moved, 4 * EPS * (moved + size), apart))
        return slope

    def _finished(self, row: int, i: int) -> Trajectory:
        p = self.problems[i]
        every = self.columns[i]
        t = every[:, 1]
        how = {name: p.start.measure(name).how for name in self.tracks}
        moved = self.moved.of(i, t, dict.fromkeys(self.shapes, ""))
        made = _Recorded(p, every, _as_compared(self.tracked.of(i, t, how)), moved)
        final = {name: a.copy() for name, a in unpack(self.x[row], self.shapes).items()}
        return made.finish(final, Status.COMPLETED, (), 2 * (self.steps + 1))


def _as_compared(sampled: Sampled) -> Sampled:
    """With the distances that a run of its own would know."""
    last = len(sampled.k) - 1
    unknown = np.array([not (compared(i) or i == last) for i in range(last + 1)], dtype=bool)
    values = {n: (v, np.where(unknown, np.nan, off)) for n, (v, off) in sampled.values.items()}
    return sampled._replace(values=values)


class _Columns:
    """Quantities with their error bars and distances, at some of the steps."""

    def __init__(self, at: Sequence[int], names: Sequence[str], count: int):
        self._position = {i: position for position, i in enumerate(at)}
        self._names = names
        self._numbers = np.zeros((len(at), len(names), 3, count))

    def at(self, i: int) -> bool:
        return i in self._position

    def put(self, i: int, j: int, rows: np.ndarray, numbers: tuple[np.ndarray, ...]) -> None:
        """Values, errors and distances."""
        self._numbers[self._position[i], j, :, rows] = np.stack(numbers, axis=1)

    def of(self, row: int, t: np.ndarray, how: Mapping[str, str]) -> Sampled:
        k = np.array(list(self._position), dtype=int)
        columns = np.ascontiguousarray(self._numbers[:, :, :, row].transpose(1, 2, 0))
        values = {}
        for name, (value, error, apart) in zip(self._names, columns, strict=True):
            values[name] = Measured(value, error, how[name]), apart
        return Sampled(k, t[k], np.zeros(len(k)), values)


class _Recorded(Recorder):
    """With its columns made elsewhere."""

    def __init__(self, p: AnyProblem, columns: np.ndarray, tracked: Sampled, moves: Sampled):
        super().__init__(p, p.train, tuple(tracked.values))
        self._made, self._quantities, self._distances = columns, tracked, moves

    def _columns(self) -> np.ndarray:
        return self._made.T

    def _tracked(self) -> Sampled:
        return self._quantities

    def _moves(self) -> Sampled:
        return self._distances


def unpack_rows(x: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> Params:
    theta, at = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape, dtype=int))
        theta[name] = np.ascontiguousarray(x[:, at : at + size]).reshape(-1, *shape)
        at += size
    return theta
