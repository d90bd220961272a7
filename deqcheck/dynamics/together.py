"""Descents of equal shape, advanced together: every array has a leading axis, a slice for each.

What is recorded of each does not depend on who is beside it, to the last digit, and is within the
error bars what its run made step by step would record. A run that leaves the plain way (it
diverges, comes within its error of a kink, loses its equilibrium or its precision) drops out, and
is made step by step. A run beside which there is none is advanced together with its own perturbed
run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, groupby
from typing import Any, NamedTuple

import numpy as np

from deqcheck.dynamics.columns import Columns, Made, as_compared, row_views
from deqcheck.dynamics.perturbed_run import PerturbedRuns
from deqcheck.dynamics.recorder import (
    EVERY_DISTANCE,
    PROGRESS_EVERY,
    KeptStates,
    OnProgress,
    Progress,
    Step,
    compared,
    looked_at,
    schedule,
    silent,
)
from deqcheck.linalg.along import Along
from deqcheck.linalg.followed_stacks import HOW, Nearby
from deqcheck.linalg.stacked import dots, norms
from deqcheck.models.problem import AnyProblem, pack, unpack
from deqcheck.models.stack import Spectral, Stack, StackState
from deqcheck.records.basis import weakest
from deqcheck.records.measured import EPS
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status
from deqcheck.records.words import DESCENT

# So many at once: their arrays stay in the cache.
MOST = 60
# Where a Step has its time and its gap.
TIME, GAP = (Step._fields.index(name) for name in ("t", "gap"))
# Steps whose singular values are found from those of one of them, whoever else is there; how many
# times as many are looked at together, and of how many parameters at most.
ENDS, TIMES, NUMBERS = 16, 4, 100_000


def run_together(
    problems: Sequence[AnyProblem], tracks: Sequence[Sequence[str]]
) -> list[Trajectory | None]:
    """The trajectory of each problem, with its own quantities tracked; None where it has to be made
    by itself."""
    found: list[Trajectory | None] = [None] * len(problems)
    groups: dict[Any, list[int]] = {}
    for i, p in enumerate(problems):
        if _short(p):
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


def run_one(problem: AnyProblem, tracks: Sequence[str], report: OnProgress) -> Trajectory | None:
    """The same for a problem by itself."""
    return _group([problem], tracks, report)[0] if _short(problem) else None


def _short(p: AnyProblem) -> bool:
    return bool(p.dynamics == DESCENT and p.train.steps <= EVERY_DISTANCE)


@np.errstate(all="ignore")
def _group(
    problems: Sequence[AnyProblem], tracks: Sequence[str], report: OnProgress = silent
) -> list[Trajectory | None]:
    nothing: list[Trajectory | None] = [None] * len(problems)
    models = [p.model for p in problems]
    stack = models[0].stacked([*models, *models], problems[0].shapes)
    if stack is None or not set(tracks) <= set(stack.names):
        return nothing
    try:
        return _Runs(problems, stack, tracks).walk(report)
    except np.linalg.LinAlgError:
        return nothing


class Waiting(NamedTuple):
    """The parameters of the runs at a step, and of the perturbed ones; other arrays whose distances
    are recorded, with their radii, of the runs and then of the perturbed ones."""

    i: int
    growth: np.ndarray
    x: np.ndarray
    beside: np.ndarray
    features: dict[str, tuple[np.ndarray, np.ndarray]]
    # Quantities that are measured for several steps at once.
    spectral: dict[str, Spectral]

    def kept(self, slices: np.ndarray) -> Waiting:
        both = np.concatenate([slices, slices])
        features = {name: (a[both], radius[both]) for name, (a, radius) in self.features.items()}
        spectral = {name: each.kept(both) for name, each in self.spectral.items()}
        growth, x, beside = (each[slices] for each in (self.growth, self.x, self.beside))
        return Waiting(self.i, growth, x, beside, features, spectral)


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
        self.tracked = Columns(tracked, self.tracks, count)
        self.moved = Columns(range(points), tuple(self.shapes), count)
        self.told = set(schedule(self.steps, problems[0].record_points).tolist())
        self.kept = {i: KeptStates() for i, p in enumerate(problems) if p.record_states}
        # Of all that moves: where it begins, the norm of that, and its radius.
        self.start = {
            name: (a, norms(a), np.zeros(count))
            for name, a in row_views(self.x, self.shapes).items()
        }
        self.first = self.x
        masks, known = stack.first([p.start for p in problems])
        self.near = Along(masks)
        # How many steps are known, and where the last of them is.
        self.seen = 0, self.x
        self.waiting: list[Waiting] = []
        self.block = ENDS * max(1, min(TIMES, NUMBERS // (ENDS * self.x.size)))
        # Whose singular values come from those of other steps.
        self.turned = {name: np.zeros(count, dtype=bool) for name in tracks}
        self._keep(known)

    def walk(self, report: OnProgress) -> list[Trajectory | None]:
        """Raises KeyboardInterrupt, but for a problem by itself."""
        status = Status.COMPLETED
        try:
            for i in range(self.steps + 1):
                if not len(self.left):
                    break
                self._advance(i)
                if i % PROGRESS_EVERY == 0 or i in self.told:
                    self._tell(i, report)
        except KeyboardInterrupt:
            if len(self.problems) > 1:
                raise
            status = Status.INTERRUPTED
        self._look(last=True)
        if status is Status.INTERRUPTED and not len(self.left):
            # It would be made once more.
            raise KeyboardInterrupt
        found: list[Trajectory | None] = [None] * len(self.problems)
        for row, i in enumerate(self.left.tolist()):
            found[i] = self._finished(row, i, status)
        return found

    def _tell(self, i: int, report: OnProgress) -> None:
        """How far the first problem is."""
        t, gap = self.columns[0, i, [TIME, GAP]].tolist()
        report(Progress("descent", i, t, i / self.steps, gap))

    def _advance(self, i: int) -> None:
        """Looks at all of step i, and goes on to the next."""
        here = self.x
        theta = row_views(np.concatenate([here, self.beside.x]), self.shapes)
        state = self.stack.at(theta, self.near)
        slope, at = self._record(i, state), len(self.left)
        good = state.fine[:at] & state.fine[at:] & np.isfinite(slope)
        if i < self.steps:
            self._step(i, state, slope)
            good &= ~self.beside.lost
        self.seen = i + 1, here
        self._keep(good)
        if i in self.told:
            self._keep_states(i)
        if len(self.waiting) >= self.block:
            self._look()

    def _keep_states(self, i: int) -> None:
        for row, problem in enumerate(self.left.tolist()):
            if problem in self.kept:
                self.kept[problem].keep(i, unpack(self.seen[1][row], self.shapes))

    def _step(self, i: int, state: StackState, slope: np.ndarray) -> None:
        at = len(self.left)
        self.x = self.x - self.beside.step[:, None] * state.gradient[:at]
        self.beside.follow(i, self.x, slope, state.radius[:at], state.gradient[at:])

    def _keep(self, slices: np.ndarray) -> None:
        if slices.all():
            return
        both = np.concatenate([slices, slices])
        self.left, self.x = self.left[slices], self.x[slices]
        self.seen = self.seen[0], self.seen[1][slices]
        self.waiting = [w.kept(slices) for w in self.waiting]
        self.beside.keep(slices)
        self.near.keep(slices)
        if len(self.left):
            self.stack = self.stack.kept(both)

    def _record(self, i: int, state: StackState) -> np.ndarray:
        at, growth = len(self.left), self.beside.error_growth
        gradient = state.gradient[:at]
        slope: np.ndarray = np.sqrt(dots(gradient, gradient))
        gap, other = state.gap[:at], state.gap[at:]
        # The fields of a Step.
        row = np.empty((at, len(Step._fields)))
        t, error, push = i * self.beside.step, state.error[:at], self.beside.push
        for j, each in enumerate((i, t, gap, error, slope, other, 0.0, growth, push)):
            row[:, j] = np.asarray(each)
        self.columns[self.left, i] = row
        spectral: dict[str, Spectral] = {}
        for name in self.tracks if self.tracked.at(i) else ():
            later = state.spectral(name)
            if later is not None:
                spectral[name] = later
                continue
            value, error, _ = state.measure(name)
            apart = growth * np.abs(value[:at] - value[at:])
            self.tracked.put([i], name, self.left, (value[:at], error[:at], apart))
        features = dict(state.features)
        if i == 0:
            self._begin(features)
        self.waiting.append(Waiting(i, growth, self.x, self.beside.x, features, spectral))
        return slope

    def _begin(self, features: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        count, at = len(self.problems), len(self.left)
        if not features:
            return
        for name, (array, radius) in features.items():
            first, known = np.zeros((count, *array.shape[1:])), np.zeros(count)
            first[self.left], known[self.left] = array[:at], radius[:at]
            self.start[name] = first, norms(first), known
        self.moved = Columns(range(self.steps + 1), tuple(self.start), count)

    def _look(self, last: bool = False) -> None:
        """At the steps that wait for it; `last`: none will follow."""
        waiting = [w for w in self.waiting if w.i < self.seen[0]]
        good = np.ones(len(self.left), dtype=bool)
        if waiting and len(self.left):
            self._distances(waiting)
            for _, group in groupby((w for w in waiting if w.spectral), lambda w: w.i // ENDS):
                some = list(group)
                for name in some[0].spectral:
                    good &= self._singular(name, some, waiting[-1].i if last else -1)
        # Whoever interrupts before gets them looked at in the end.
        self.waiting = []
        self._keep(good)

    def _singular(self, name: str, waiting: Sequence[Waiting], last: int) -> np.ndarray:
        """A quantity at steps nearby, and of the perturbed runs where it is their turn, or at the
        last step; where it is known."""
        at, every = len(self.left), [w.spectral[name] for w in waiting]
        turns = [compared(self.tracked.place(w.i)) or w.i == last for w in waiting]
        beside = list(compress(waiting, turns))
        here = Spectral.of_steps(every, slice(at))
        near = Nearby(here.matrices[len(every) // 2], here.upper)
        ends = near.ends(here.matrices)
        value, error, fine = here.told(ends.value, ends.error)
        apart = np.full(value.shape, np.nan)
        if beside:
            there = Spectral.of_steps([w.spectral[name] for w in beside], slice(at, None))
            other = near.ends(there.matrices)
            others, _, known = there.told(other.value, other.error)
            growth = np.stack([w.growth for w in beside])
            apart[turns] = growth * np.abs(value[turns] - others)
            fine = np.concatenate([fine, known])
        self.tracked.put([w.i for w in waiting], name, self.left, (value, error, apart))
        self.turned[name][self.left] |= ends.turned.any(axis=0)
        return np.asarray(fine.all(axis=0))

    def _distances(self, waiting: Sequence[Waiting]) -> None:
        steps, growth = [w.i for w in waiting], np.stack([w.growth for w in waiting])
        for name, (moved, radius, apart) in self._moved(waiting).items():
            size, known = (a[self.left] for a in self.start[name][1:])
            error = radius + known + 4 * EPS * (moved + size)
            self.moved.put(steps, name, self.left, (moved, error, growth * apart))

    def _moved(self, waiting: Sequence[Waiting]) -> dict[str, tuple[np.ndarray, ...]]:
        """Of what is recorded of its distance, at every step one number for each run: how far it
        is from its start, its radius, and how far from that of the perturbed run."""
        at, found = len(self.left), dict[str, tuple[np.ndarray, ...]]()
        sides = np.empty((2, len(waiting), *self.x.shape))
        start, nothing = self.first[self.left], np.zeros((len(waiting), at))
        for i, w in enumerate(waiting):
            np.subtract(w.x, start, out=sides[0, i])
            np.subtract(w.x, w.beside, out=sides[1, i])
        every = row_views(sides.reshape(-1, sides.shape[3]), self.shapes)
        for name, array in every.items():
            moved, apart = norms(array).reshape(sides.shape[:3])
            found[name] = moved, nothing, apart
        for name in waiting[0].features:
            array, radius = (np.stack([w.features[name][i] for w in waiting]) for i in (0, 1))
            here, there = array[:, :at], array[:, at:]
            moved, apart = _norms(here - self.start[name][0][self.left]), _norms(here - there)
            found[name] = moved, radius[:, :at], apart
        return found

    def _finished(self, row: int, i: int, status: Status) -> Trajectory:
        p = self.problems[i]
        count, x = self.seen
        every = self.columns[i, :count]
        t = every[:, 1]
        how = {
            name: weakest(p.start.measure(name).how, HOW if turned[i] else "")
            for name, turned in self.turned.items()
        }
        moved = self.moved.of(i, t, dict.fromkeys(self.start, ""))
        made = Made(p, every, as_compared(self.tracked.of(i, t, how)), moved)
        if i in self.kept:
            made.states = self.kept[i]
        final = {name: a.copy() for name, a in unpack(x[row], self.shapes).items()}
        return made.finish(final, status, (), 2 * count)


def _norms(a: np.ndarray) -> np.ndarray:
    """Of all but the first two axes."""
    return norms(a.reshape(-1, *a.shape[2:])).reshape(a.shape[:2])
