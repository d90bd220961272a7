"""Descents that run ahead: first some steps by gradients alone, then all of them are looked at.

The parameters are those of the run made step by step. Its perturbed run follows behind, since it
has to know how much a step may lose. A run that leaves the plain way (it diverges, loses its
precision, or comes to numbers that a state alone would treat in another way) is given up, and made
step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from deqcheck.dynamics.columns import Columns, Made, as_compared, row_views
from deqcheck.dynamics.perturbed_run import PerturbedRun
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
)
from deqcheck.linalg.stacked import norms
from deqcheck.models.many import Looked, Many
from deqcheck.models.problem import AnyProblem, NoEquilibrium, Params, norm, pack, unpack
from deqcheck.records.basis import weakest
from deqcheck.records.measured import EPS
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

# Steps that are looked at together, and of how many parameters at most.
STEPS, NUMBERS = 256, 200_000
# There is one run in the columns.
ONE = np.zeros(1, dtype=int)
# Arrays with a row for each step, and their radii.
Moving = Mapping[str, tuple[np.ndarray, np.ndarray]]


@np.errstate(all="ignore")
def run_ahead(problem: AnyProblem, tracks: Sequence[str], report: OnProgress) -> Trajectory | None:
    """The trajectory; None where it has to be made step by step."""
    many = problem.model.many(problem.shapes)
    if many is None:
        return None
    try:
        return _Ahead(problem, many, tracks).walk(report)
    except (np.linalg.LinAlgError, NoEquilibrium):
        return None


class _GivenUp(Exception):
    pass


def _moving(theta: Params, looked: Looked) -> Moving:
    """Whose distances are recorded: parameters are what they are."""
    rows = len(looked.gap)
    return {**{name: (a, np.zeros(rows)) for name, a in theta.items()}, **looked.features}


class _Ahead:
    def __init__(self, problem: AnyProblem, many: Many, tracks: Sequence[str]):
        self.problem, self.many, self.tracks = problem, many, tuple(tracks)
        self.shapes, self.step, self.steps = problem.shapes, problem.train.step, problem.train.steps
        at = sorted(looked_at(problem, self.steps))
        self._at = range(self.steps + 1) if self.steps <= EVERY_DISTANCE else at
        # The next step, and the run there.
        self.next, self.x = 0, pack(problem.theta0)
        self.beside = PerturbedRun(problem, self.step)
        first = row_views(self.x[None], self.shapes)
        self._begin({name: (a, np.zeros(1)) for name, a in first.items()})
        self.columns = np.zeros((self.steps + 1, len(Step._fields)))
        self.tracked = Columns(at if tracks else [], self.tracks, 1)
        self.told = set(schedule(self.steps, problem.record_points).tolist())
        self.how: dict[str, list[str]] = {}
        self.kept = KeptStates()
        # The last step that is known.
        self.last = self.x
        self.block = max(1, min(STEPS, NUMBERS // self.x.size))

    def _begin(self, start: Moving) -> None:
        """Where all that moves begins, with its radius."""
        self.start = start
        self.moved = Columns(self._at, tuple(start), 1)

    def walk(self, report: OnProgress) -> Trajectory | None:
        status = Status.COMPLETED
        try:
            while self.next <= self.steps:
                first = self.next
                self._go_on(min(self.block, self.steps + 1 - first))
                for i in range(first, self.next):
                    if i % PROGRESS_EVERY == 0 or i in self.told:
                        _, t, gap, *_ = self.columns[i].tolist()
                        report(Progress("descent", i, t, i / self.steps, gap))
        except _GivenUp:
            return None
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return self._finished(status)

    def _go_on(self, count: int) -> None:
        """By so many steps. An interruption leaves what was known before."""
        x, slope, traces, then = self._run(count)
        theta = row_views(x, self.shapes)
        here = self.many.at(theta, traces)
        radius = here.radius
        if not (here.fine & np.isfinite(slope + radius + here.error)).all():
            raise _GivenUp
        beside, seen, growth, push = self._follow(x, then, slope, radius, traces)
        there = self.many.at(beside, seen)
        i = np.arange(self.next, self.next + count)
        # The fields of a Step.
        rows = i, i * self.step, here.gap, here.error, slope, there.gap, 0.0, growth, push
        self.columns[i] = np.stack(np.broadcast_arrays(*rows), axis=1)
        self._distances(i, _moving(theta, here), _moving(beside, there), growth)
        self._quantities(i, here, there, growth)
        if not there.fine.all():
            raise _GivenUp
        for row, k in enumerate(i.tolist()):
            if self.problem.record_states and k in self.told:
                self.kept.keep(k, unpack(x[row], self.shapes))
        self.next, self.x, self.last = self.next + count, then, x[-1]

    def _run(self, count: int) -> tuple[np.ndarray, np.ndarray, list[Any], np.ndarray]:
        """The parameters of so many steps, the norms of their gradients and what these went
        through, and the parameters after them."""
        here, slopes, seen = np.empty((count + 1, self.x.size)), [], []
        here[0] = self.x
        for theta, (x, after) in zip(self._each(here), pairwise(here), strict=False):
            parts, trace = self.many.gradient(theta)
            gradient = pack(parts)
            slopes.append(norm(gradient))
            seen.append(trace)
            np.subtract(x, self.step * gradient, out=after)
        return here[:-1], np.array(slopes), seen, here[-1]

    def _follow(
        self,
        x: np.ndarray,
        then: np.ndarray,
        slope: np.ndarray,
        radius: np.ndarray,
        traces: Sequence[Any],
    ) -> tuple[Params, list[Any], np.ndarray, np.ndarray]:
        """The perturbed run beside these steps and what its gradients went through, how far its
        distance may fall short, and what the step before may have lost."""
        beside, rows, seen, growth, push = self.beside, np.empty(x.shape), [], [], []
        each = zip(
            rows, self._each(rows), [*x[1:], then], slope.tolist(), radius.tolist(), traces,
            strict=True,
        )  # fmt: skip
        for i, (row, theta, after, steep, wide, run) in enumerate(each, self.next):
            row[:] = beside.x
            growth.append(beside.error_growth)
            push.append(beside.push)
            gradient, trace = self.many.gradient(theta, run)
            seen.append(trace)
            if i < self.steps:
                beside.follow(i, after, steep, wide, pack(gradient))
                if beside.precision_lost:
                    raise _GivenUp
        return row_views(rows, self.shapes), seen, np.array(growth), np.array(push)

    def _each(self, rows: np.ndarray) -> Iterator[Params]:
        """The parameters in each row, which may not be known yet."""
        every = row_views(rows, self.shapes)
        for arrays in zip(*every.values(), strict=True):
            yield dict(zip(every, arrays, strict=True))

    def _distances(self, i: np.ndarray, here: Moving, there: Moving, growth: np.ndarray) -> None:
        if not self.next:
            self._begin({name: (a[:1], off[:1]) for name, (a, off) in here.items()})
        told = self.moved.rows(i)
        if not len(told):
            return
        # All of them need no copies.
        rows: Any = told if len(told) < len(i) else slice(None)
        for name, (start, known) in self.start.items():
            array, radius, other = (a[rows] for a in (*here[name], there[name][0]))
            moved, size = norms(array - start), norms(start)
            error = radius + known + 4 * EPS * (moved + size)
            apart = growth[rows] * norms(array - other)
            self.moved.put(i[rows], name, ONE, (moved, error, apart))

    def _quantities(self, i: np.ndarray, here: Looked, there: Looked, growth: np.ndarray) -> None:
        """The perturbed run is looked at where it will be compared, and at the last of them."""
        if not self.tracks:
            return
        rows = self.tracked.rows(i)
        if not len(rows):
            return
        places = [self.tracked.place(k) for k in i[rows].tolist()]
        beside = np.array([compared(place) or place == places[-1] for place in places])
        measured, others = here.some(rows), there.some(rows[beside])
        for name in self.tracks:
            found = measured.measure(name)
            value, error = np.asarray(found.value), np.asarray(found.error)
            self.how.setdefault(name, []).append(found.how)
            apart = np.full(len(rows), np.nan)
            off = np.abs(value[beside] - others.values(name, measured, np.flatnonzero(beside)))
            apart[beside] = growth[rows[beside]] * off
            self.tracked.put(i[rows], name, ONE, (value, error, apart))
        if not (measured.fine.all() and others.fine.all()):
            raise _GivenUp

    def _finished(self, status: Status) -> Trajectory:
        p, every = self.problem, self.columns[: self.next]
        t = every[:, 1]
        how = {name: weakest(*self.how.get(name, ())) for name in self.tracks}
        moved = self.moved.of(0, t, dict.fromkeys(self.start, ""))
        made = Made(p, every, as_compared(self.tracked.of(0, t, how)), moved)
        made.states = self.kept
        final = {name: a.copy() for name, a in unpack(self.last, self.shapes).items()}
        return made.finish(final, status, (), 2 * self.next)
