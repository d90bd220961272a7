"""Gradient flow, integrated twice in steps that scipy's methods choose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.integration import EXPLICIT, STIFF, TIGHTEST, Integration, Piece
from deqcheck.dynamics.kinked import matched, told
from deqcheck.dynamics.recorder import OnProgress, Progress, Recorder, Step, silent
from deqcheck.fields import choice, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Dynamics
from deqcheck.models.memory import Memory
from deqcheck.models.problem import (
    AnyProblem,
    NoEquilibrium,
    Objective,
    Plain,
    State,
    gradient_norm,
    norm,
    pack,
    unpack,
)
from deqcheck.records.grids import distinct, without
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Event, Trajectory
from deqcheck.records.verdict import Status
from deqcheck.records.words import FLOW

# The second integration is this much tighter, and takes this many steps at least: the two share
# neither the ends of their steps nor, where a single step would do, their length.
TIGHTER, STEPS = 1e-2, 10
# Looser runs step over a kink of the loss, or past a minimum, alike: their difference is blind.
LOOSEST = 1e-6
# Error of the tighter run over the difference of the two: multistep methods of varying order keep
# no fixed proportion between tolerance and error.
MULTISTEP = ("BDF", "LSODA")
ONE_STEP_SAFETY, MULTISTEP_SAFETY = 10.0, 300.0
# Recorded times and steps are small shares of the horizon, and have to be floats.
SHORTEST = 1e-300
# Starving is looked for in each of these parts of the recorded times.
SEGMENTS = 20
# Each accepted step is looked at this often for the tracked quantities, but all steps together
# not more often than that.
LOOKS, MOST_LOOKS = 3, 150
# A part of a step that ends this much of it before a recorded time is looked at there.
NEAR = 1e-2
# Evaluations spent on locating an infimum between samples, and when it is known well enough.
REFINEMENTS, LOCATED = 24, 1e-3
# Of a refutation: another method, which fails otherwise.
ANOTHER = {"LSODA": "DOP853", "BDF": "Radau"}


@cache
def gauss() -> tuple[np.ndarray, np.ndarray]:
    """The points of two Gauss-Legendre rules for the length of the path on a part of a step, and
    the weights of each; their difference is the error of the finer one, and more."""
    from numpy.polynomial import legendre

    (fine, fine_weights), (coarse, coarse_weights) = (legendre.leggauss(n) for n in (7, 4))
    weights = [np.append(fine_weights, 0 * coarse), np.append(0 * fine, coarse_weights)]
    return np.append(fine, coarse), np.array(weights)


@dataclass(frozen=True)
class GradientFlow(Dynamics):
    """d theta/dt = -gradient, by the methods of scipy.integrate."""

    kind: ClassVar[str] = FLOW
    horizon: float = number(above=0, doc="final time T")
    method: str = choice(*EXPLICIT, *STIFF, default="DOP853", doc="solver of scipy.integrate")
    rtol: float = number(
        above=0,
        at_most=LOOSEST,
        default=1e-10,
        doc="tolerance relative to theta - theta(0); a second run is 100x tighter",
    )
    atol: float = number(
        above=0,
        at_most=LOOSEST,
        default=1e-12,
        doc="absolute tolerance, relative to |theta(0)| or to how far theta may move, if less",
    )

    def faults(self, problem: AnyProblem) -> Iterable[tuple[str, str]]:
        if self.horizon < SHORTEST:
            yield "horizon", f"{self.horizon:g} is too short; expected at least {SHORTEST:g}"

    def tighter(self) -> GradientFlow | None:
        """A hundred times, as far as the methods go; None where they are there already."""
        if self.rtol <= TIGHTEST / TIGHTER:
            return None
        rtol = max(self.rtol * TIGHTER, TIGHTEST / TIGHTER)
        return replace(self, rtol=rtol, atol=max(self.atol * TIGHTER, 1e-300))

    def otherwise(self) -> GradientFlow:
        """Another method, and as much tighter: what is refuted by chance is not refuted again."""
        return replace(self.tighter() or self, method=ANOTHER.get(self.method, "LSODA"))

    def rest(self, k: int, t: float) -> GradientFlow | None:
        return replace(self, horizon=self.horizon - t) if t < self.horizon else None

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        times = record_times(self.horizon, problem.record_points)
        pair = Pair(self, problem, tracks)
        theta, interrupted, last = problem.theta0, False, 0.0
        try:
            for i in pair.recorded(times):
                t = float(times[i])
                state = pair.record(i, t)
                theta, last = state.theta, t
                report(Progress(self.kind, i, t, t / self.horizon, state.objective.gap))
            pair.look_at_steps(times, last)
            if pair.status is Status.COMPLETED:
                for name in infima:
                    pair.refine(times, name)
        except NoEquilibrium as stop:
            # A state that an integration passed need not be certified where it is looked at.
            pair.tight.lost(stop, last)
        except KeyboardInterrupt:
            interrupted = True
        events = pair.events(last)
        run = pair.recorder.finish(
            theta,
            Status.INTERRUPTED if interrupted else pair.status,
            [*pair.notes, *told(events)],
            pair.evaluations,
            events,
        )
        return replace(run, gap=_falling(run.gap), path=pair.path(run.t))


def record_times(horizon: float, points: int) -> np.ndarray:
    """0 and a grid that is fine at the start, where a flow moves fastest, and even later on."""
    early = np.geomspace(horizon * 1e-4, horizon, points // 4)
    even = np.linspace(0, horizon, points - points // 4)
    return distinct(early, even)


def _falling(gap: Measured) -> Measured:
    """The loss never rises along a flow: what bounded it before still does."""
    value, low = gap.value, gap.value - gap.error
    high = np.minimum.accumulate(value + gap.error)
    value = np.minimum(value, high)
    # The gap is not negative, and its computed value knows no better.
    error = np.maximum(high - value, np.minimum(value - low, np.maximum(value, high - value)))
    return Measured(value, np.where(np.isnan(error), np.inf, error), gap.how)


class Pair:
    """Two integrations of one flow, and what is recorded of the tighter one."""

    def __init__(self, flow: GradientFlow, problem: AnyProblem, tracks: Sequence[str]):
        self.problem, self.memory = problem, Memory()
        self.safety = MULTISTEP_SAFETY if flow.method in MULTISTEP else ONE_STEP_SAFETY
        self.recorder = Recorder(problem, flow, tracks, self.safety)
        # Near the smallest tolerance that scipy takes, the first run is the looser one.
        factor = max(1.0, TIGHTEST / TIGHTER / flow.rtol)
        loose = (flow.rtol * factor, flow.atol * factor)
        tight = (flow.rtol * TIGHTER, flow.atol * TIGHTER)
        T = flow.horizon
        self.loose = Integration(problem, flow.method, T, loose, self.memory)
        self.tight = Integration(problem, flow.method, T, tight, self.memory, T / STEPS)
        # Largest so far: the curvature |g|^2/(2 gap), and the error as a shift in time.
        self._curvature, self._late = 0.0, 0.0
        # At each recorded time: how far the parameters may be off, whatever the other shows.
        self._off: list[float] = []

    @property
    def status(self) -> Status:
        first = self.loose.status
        return first if first is not Status.COMPLETED else self.tight.status

    @property
    def notes(self) -> list[str]:
        return list(dict.fromkeys([*self.loose.notes, *self.tight.notes]))

    def events(self, last: float) -> list[Event]:
        """What both integrations met until then."""
        if self.tight.kinked is None or self.loose.kinked is None:
            return []
        seen = [each for each in self.tight.kinked.seen if each.t <= last]
        return matched(seen, self.loose.kinked.seen, self.safety)

    @property
    def evaluations(self) -> int:
        return self.loose.evaluations + self.tight.evaluations

    def recorded(self, times: np.ndarray) -> Iterator[int]:
        """Indices of the recorded times, as far as both integrations get."""
        for each in (self.loose, self.tight):
            each.advance(0.0)
        yield 0
        cuts = distinct(np.linspace(0, len(times) - 1, SEGMENTS + 1).astype(int)).tolist()
        for first, last in pairwise(cuts):
            # In step with each other, so that an interruption leaves both at the same time.
            for each in (self.loose, self.tight):
                each.advance(float(times[last]))
            reach = min(self.loose.reach, self.tight.reach)
            yield from (i for i in range(first + 1, last + 1) if times[i] <= reach)
            if reach < times[last]:
                return

    def record(self, i: int, t: float) -> State:
        state, other = self._at(self.tight, t), self._at(self.loose, t)
        here = state.objective
        slope = gradient_norm(here.gradient)
        off = self._offset(t, here, slope)
        wrong = self._accumulated(t, state, slope, off)
        self.recorder.record_inexpensive(Step(i, t, here.gap, here.error, slope, here.gap, wrong))
        self.recorder.record_state(state.theta)
        self._off.append(math.hypot(*off.values()))
        blur = self._off[-1] / slope if slope > 0 else 0.0
        self.recorder.record_expensive(i, t, state, other, blur)
        return state

    def look(self, i: int, t: float, compare: bool) -> None:
        """The tracked quantities between recorded times."""
        state = self._at(self.tight, t)
        here = state.plain
        slope = gradient_norm(here.gradient)
        off = math.hypot(*self._offset(t, here, slope).values())
        other = self._at(self.loose, t) if compare else None
        self.recorder.record_expensive(i, t, state, other, off / slope if slope > 0 else 0.0)

    def _at(self, run: Integration, t: float) -> State:
        found: State = self.problem.model.at(run.theta(t), self.memory)
        slopes = run.slopes(t, found)
        return found if slopes is None else found.with_slopes(slopes)

    def _offset(self, t: float, here: Objective | Plain, slope: float) -> dict[str, float]:
        """How far each array may be off, whatever the other integration shows: by the tolerance
        of a step, and by the defect u' + g of the dense output u, which acts no longer than to the
        next end of a step, nor than the flow takes to contract: d gap/dt = -|g|^2."""
        found = self.tight.tolerance(t)
        if t == 0:
            return dict.fromkeys(found, 0.0)
        piece = self.tight.piece(t)
        lasts = min(t - piece.start, piece.end - t)
        if slope > 0:
            lasts = min(lasts, 2 * here.gap / slope**2)
        defect = unpack(piece.velocity(t) + pack(here.gradient), self.problem.shapes)
        return {name: size + lasts * norm(defect[name]) for name, size in found.items()}

    def _accumulated(self, t: float, state: State, slope: float, off: Mapping[str, float]) -> float:
        """What errors until now may have done to the gap: g e + L |e|^2/2 with e from the distance
        of the two integrations. As a shift in time it does not shrink again."""
        here = state.objective
        if here.gap > 0:
            self._curvature = max(self._curvature, slope**2 / (2 * here.gap))
        apart = unpack(self.tight.displacement(t) - self.loose.displacement(t), self.problem.shapes)
        e = {name: self.safety * (norm(apart[name]) + off[name]) for name in off}
        first = sum(norm(here.gradient[name]) * size for name, size in e.items())
        if slope > 0:
            self._late = max(self._late, first / slope**2)
        second = self._curvature * sum(size**2 for size in e.values())
        return max(first, self._late * slope**2) + second

    def look_at_steps(self, times: np.ndarray, last: float) -> None:
        """What happens between recorded times, as closely as the integration had to look."""
        if not self.recorder.tracks:
            return
        cuts = [np.linspace(p.start, p.end, LOOKS + 1)[1:] for p in self.tight.pieces]
        ends = np.concatenate([np.zeros(1), *cuts])
        after = np.searchsorted(times, ends, side="right")
        # Parts of steps in which nothing is recorded; samples that nearly coincide have no slope.
        apart = NEAR * np.diff(ends) < times[np.minimum(after, len(times) - 1)][1:] - ends[1:]
        fresh = ends[1:][(np.diff(after) == 0) & apart & (ends[1:] < last)]
        fresh = without(fresh, self._look_at_jumps(times, last))
        for t in fresh[:: 1 + len(fresh) // MOST_LOOKS].tolist():
            # At the end of a step the two integrations are compared, but not where one of them may
            # be on the other side of a kink.
            piece = self.tight.piece(t)
            self.look(int(np.searchsorted(times, t)), t, piece.end == t and not piece.meets)

    def _look_at_jumps(self, times: np.ndarray, last: float) -> np.ndarray:
        """On either side of each kink that is met: there what is made of derivatives jumps. The
        times of the two sides."""
        off: dict[float, float] = {}
        for event in self.events(last):
            t = float(event.t.value)
            off[t] = max(off.get(t, 0.0), float(event.t.error))
        self.recorder.jumps = np.array([(t, off[t]) for t in sorted(off)]).reshape(-1, 2)
        sides = np.array([side for t in off for side in (t, np.nextafter(t, np.inf))])
        sides = sides[(sides > 0) & (sides < last)]
        for t in without(sides, times).tolist():
            self.look(int(np.searchsorted(times, t)), t, False)
        return sides

    def refine(self, times: np.ndarray, name: str) -> None:
        """Halve the interval in which the quantity may be lowest, until it cannot matter."""
        for _ in range(REFINEMENTS):
            series = self.recorder.series(name)
            floors, lowest = series.floors(), float(np.min(series.value.low))
            i = int(np.argmin(floors))
            if floors[i] >= lowest - LOCATED * abs(lowest):
                return
            t = float(series.t[i] + series.t[i + 1]) / 2
            if not series.t[i] < t < series.t[i + 1]:
                return
            state = self._at(self.tight, t)
            self.recorder.record_expensive(int(np.searchsorted(times, t)), t, state)

    def path(self, times: np.ndarray) -> Measured:
        """Length of the path until each time: the integral of |u'| over the dense output u."""
        (fine, rough), (other, _) = (_lengths(each, times) for each in (self.tight, self.loose))
        apart = np.maximum.accumulate(np.abs(fine - other))
        off = np.maximum.accumulate(np.array(self._off[: len(times)]))
        return Measured(fine, self.safety * (apart + off) + rough, "two integrations")


def _lengths(run: Integration, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The length until each time, and what the quadrature may be wrong by."""
    if len(times) < 2:
        return np.zeros(len(times)), np.zeros(len(times))
    ends = np.array([p.end for p in run.pieces])
    cuts = distinct(times, ends[ends < times[-1]])
    # The parts of each step: those that end on it.
    until = np.searchsorted(cuts, ends[ends < times[-1]]) + 1
    bounds = [0, *until.tolist(), len(cuts)]
    parts = [
        _parts(run.piece(float(cuts[b - 1])), cuts[max(a - 1, 0) : b])
        for a, b in pairwise(bounds)
        if b > max(a, 1)
    ]
    at = np.searchsorted(cuts, times)
    length, error = np.vstack([np.zeros(2), np.cumsum(np.concatenate(parts), axis=0)]).T
    return length[at], error[at]


def _parts(piece: Piece, cuts: np.ndarray) -> np.ndarray:
    """For each part of a step the finer of two Gauss rules, and their difference."""
    points, weights = gauss()
    half, share = np.diff(cuts) / 2, piece.share(cuts)
    middle, wide = (share[1:] + share[:-1]) / 2, np.diff(share) / 2
    speed, noise = piece.speed(middle[:, None] + wide[:, None] * points)
    fine, coarse = half * (weights @ speed.T)
    return np.column_stack([fine, np.abs(fine - coarse) + half * (weights[0] @ noise.T)])
