"""Gradient flow, integrated twice by scipy's solve_ivp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from deqcheck.dynamics.recorder import OnProgress, Progress, Recorder, Step, silent
from deqcheck.dynamics.sliding import Sliding, Watch
from deqcheck.fields import Refusal, choice, number
from deqcheck.kinds import Dynamics
from deqcheck.models.memory import Memory
from deqcheck.models.problem import (
    AnyProblem,
    NoEquilibrium,
    Params,
    State,
    gradient_norm,
    pack,
    unpack,
)
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status
from deqcheck.records.words import FLOW

EXPLICIT = ("DOP853", "RK45", "RK23")
STIFF = ("Radau", "BDF", "LSODA")
# The second integration is this much tighter; solve_ivp does not go below 100 eps.
TIGHTER, TIGHTEST = 1e-2, 2.3e-14
# Looser runs step over a kink of the loss, or past a minimum, alike: their difference is blind.
LOOSEST = 1e-6
# Error of the tighter run over the difference of the two: multistep methods of varying order keep
# no fixed proportion between tolerance and error.
MULTISTEP = ("BDF", "LSODA")
ONE_STEP_SAFETY, MULTISTEP_SAFETY = 10.0, 300.0
SEGMENTS = 20
# An explicit method that needs more evaluations than this for one segment is starving.
STARVED = 20_000
# The dense Jacobian of a stiff method is out of reach above this number of parameters.
STIFF_LIMIT = 2000
# Evaluations spent on locating an infimum between samples.
REFINEMENTS = 12


@dataclass(frozen=True)
class GradientFlow(Dynamics):
    """d theta/dt = -gradient, by scipy.integrate.solve_ivp."""

    kind: ClassVar[str] = FLOW
    horizon: float = number(above=0, doc="final time T")
    method: str = choice(*EXPLICIT, *STIFF, default="DOP853", doc="solver of solve_ivp")
    rtol: float = number(
        above=0,
        at_most=LOOSEST,
        default=1e-10,
        doc="relative tolerance; a second run is 100x tighter",
    )
    atol: float = number(
        above=0, at_most=LOOSEST, default=1e-12, doc="absolute tolerance, relative to |theta(0)|"
    )

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        times = record_times(self.horizon, problem.record_points)
        # Near the smallest tolerance that solve_ivp takes, the first run is the looser one.
        coarser = max(1.0, TIGHTEST / TIGHTER / self.rtol)
        memory = Memory()
        loose = Integration(problem, self, times, coarser, memory)
        tight = Integration(problem, self, times, TIGHTER, memory)
        safety = MULTISTEP_SAFETY if self.method in MULTISTEP else ONE_STEP_SAFETY
        recorder = Recorder(problem, self, tracks, safety)
        pieces = Pieces(problem)
        theta, interrupted = problem.theta0, False
        try:
            # In step with each other, so that an interruption leaves both at the same time.
            for (_, coarse), (i, theta) in zip(loose.samples(), tight.samples(), strict=False):
                state, other = (problem.model.at(x, memory) for x in (theta, coarse))
                t, here = float(times[i]), state.objective
                slope = gradient_norm(here.gradient)
                # What one step's tolerance may do to the loss: early steps of both runs can be
                # so alike that their difference shows less.
                tolerance = tight.tolerance(theta)
                alike = safety * slope * tolerance if i else 0.0
                there = other.objective.gap
                recorder.record_inexpensive(
                    Step(i, t, here.gap, here.error, slope, there, accumulated=alike)
                )
                blur = tolerance / slope if slope > 0 and i else 0.0
                recorder.record_expensive(i, t, state, other, blur)
                pieces.visit(t, state)
                report(Progress(self.kind, i, t, t / self.horizon, here.gap))
            if loose.status is tight.status is Status.COMPLETED:
                for name in infima:
                    _refine(recorder, tight, name)
        except KeyboardInterrupt:
            interrupted = True
        status = loose.status if loose.status is not Status.COMPLETED else tight.status
        return recorder.finish(
            theta,
            Status.INTERRUPTED if interrupted else status,
            [
                *dict.fromkeys([*loose.notes, *tight.notes]),
                *pieces.notes(min(loose.kink, tight.kink)),
            ],
            loose.evaluations + tight.evaluations,
            pieces.crossings,
        )


def record_times(horizon: float, points: int) -> np.ndarray:
    """0 and a grid that is fine at the start, where a flow moves fastest, and even later on."""
    early = np.geomspace(horizon * 1e-4, horizon, points // 4)
    even = np.linspace(0, horizon, points - points // 4)
    return np.unique(np.concatenate([early, even]))


class Pieces:
    """Follows the activation pattern of a piecewise smooth model along a flow."""

    def __init__(self, problem: AnyProblem):
        self.crossings: list[tuple[float, float]] = []
        self._last: tuple[float, np.ndarray] | None = None
        start = problem.start.kinks
        if start is not None and start.zeros:
            raise Refusal(
                "init",
                f"{start.zeros} pre-activations are exactly zero, and a flow is not defined on a "
                "kink: perturb the initialisation, or use gradient descent (train.kind: gd)",
            )

    def visit(self, t: float, state: State) -> None:
        kinks = state.kinks
        if kinks is None:
            return
        if self._last is not None and not np.array_equal(kinks.pattern, self._last[1]):
            self.crossings.append((self._last[0], t))
        self._last = (t, kinks.pattern)

    def notes(self, kink: float) -> list[str]:
        """`kink` is when the flow began to slide, inf where it did not."""
        notes = []
        if np.isfinite(kink):
            notes.append(f"kink reached at t = {kink:.6g}: the flow slides along it")
        if self.crossings:
            first = self.crossings[0]
            notes.append(
                f"the activation pattern changed in {len(self.crossings)} recorded intervals, "
                f"first between t = {first[0]:g} and t = {first[1]:g}"
            )
        return notes


class Starving(Exception):
    """The explicit method needs too many evaluations."""


class Integration:
    """One pass over the recorded times, in segments, with dense output kept for refinements."""

    def __init__(
        self,
        problem: AnyProblem,
        flow: GradientFlow,
        times: np.ndarray,
        factor: float,
        memory: Memory,
    ):
        self.problem, self.times, self.memory = problem, times, memory
        self.method = flow.method
        self.rtol = max(flow.rtol * factor, TIGHTEST)
        scale = float(np.sqrt(np.mean(pack(problem.theta0) ** 2)))
        self.atol = max(flow.atol * factor * (scale or 1.0), 1e-300)
        self.status = Status.COMPLETED
        self.notes: list[str] = []
        # When the flow began to slide along a kink.
        self.kink = np.inf
        self.evaluations = 0
        self._budget = STARVED
        self._left: NoEquilibrium | None = None
        self.pieces: list[Any] = []

    def samples(self) -> Iterator[tuple[int, Params]]:
        """(index of the recorded time, parameters there), as far as the integration gets."""
        shapes = self.problem.shapes
        x = pack(self.problem.theta0)
        yield 0, unpack(x, shapes)
        for first, last in self._segments():
            piece = self._advance(x, first, last)
            if piece is None:
                return
            for i, column in enumerate(piece.y.T[1:], start=first + 1):
                yield i, unpack(np.ascontiguousarray(column), shapes)
            if self.status is not Status.COMPLETED:
                return
            x = piece.y[:, -1]

    def tolerance(self, theta: Params) -> float:
        size = pack(theta)
        return self.rtol * float(np.linalg.norm(size)) + self.atol * float(np.sqrt(size.size))

    def _segments(self) -> Iterator[tuple[int, int]]:
        cuts = np.unique(np.linspace(0, len(self.times) - 1, SEGMENTS + 1).astype(int))
        yield from zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)

    def _advance(self, x: np.ndarray, first: int, last: int) -> Any:
        span = self.times[first : last + 1]
        self._budget, self._left = STARVED, None
        self._watch = Watch(float(span[-1] - span[0]))
        try:
            with np.errstate(all="ignore"):
                piece = scipy.integrate.solve_ivp(
                    self._velocity,
                    (span[0], span[-1]),
                    x,
                    method=self.method,
                    t_eval=span,
                    dense_output=True,
                    rtol=self.rtol,
                    atol=self.atol,
                )
        except Starving:
            return self._stiffer(x, first, last)
        except Sliding as slide:
            return self._until_kink(x, first, slide.t)
        except NoEquilibrium as stop:
            return self._lost(float(span[0]), stop)
        if not piece.success and self._left is not None:
            return self._lost(float(span[0]), self._left)
        if not piece.success or not np.isfinite(piece.y).all():
            self.status = Status.INTEGRATOR_FAILED
            self.notes.append(f"{self.method} stopped after t = {span[0]:g}: {piece.message}")
            return None
        self.pieces.append(piece.sol)
        return piece

    def _lost(self, t: float, stop: NoEquilibrium) -> None:
        self.status = stop.status
        self.notes.append(f"after t = {t:g}: {stop}")

    def _stiffer(self, x: np.ndarray, first: int, last: int) -> Any:
        """An explicit method that starves is replaced for the rest, and the notes say so."""
        t = self.times[first]
        if self.method in STIFF or x.size > STIFF_LIMIT:
            self.status = Status.INTEGRATOR_FAILED
            self.notes.append(f"{self.method} needed over {STARVED} evaluations after t = {t:g}")
            return None
        self.notes.append(f"{self.method} starved after t = {t:g}: continued with Radau")
        self.method = "Radau"
        return self._advance(x, first, last)

    def _until_kink(self, x: np.ndarray, first: int, t: float) -> Any:
        """What lies before a kink along which the flow slides is still integrated."""
        self.status = Status.KINK_REACHED
        self.kink = t
        before = int(np.searchsorted(self.times, t)) - 1
        return self._advance(x, first, before) if before > first else None

    def _velocity(self, t: float, x: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        self._budget -= 1
        if self._budget < 0:
            raise Starving
        state = self.problem.model.at(unpack(x, self.problem.shapes), self.memory)
        try:
            found = state.objective
        except NoEquilibrium as stop:
            if self.method not in EXPLICIT:
                raise
            # Perhaps a trial step only: an explicit method takes nan for too large a step.
            self._left = stop
            return np.full_like(x, np.nan)
        self._watch.see(t, state)
        return -pack(found.gradient)

    def theta(self, t: float) -> Params:
        """Dense output at any time of the run."""
        for piece in self.pieces:
            if t <= piece.t_max:
                return unpack(piece(t), self.problem.shapes)
        raise ValueError(f"t = {t} lies beyond the run")


def _refine(recorder: Recorder, run: Integration, name: str) -> None:
    """Sample more densely around the smallest recorded value, halving towards the infimum."""
    for _ in range(REFINEMENTS // 2):
        t, value = recorder.samples(name)
        lowest = int(np.argmin(value))
        for neighbour in (lowest - 1, lowest + 1):
            if 0 <= neighbour < len(t):
                between = float(t[lowest] + t[neighbour]) / 2
                state = recorder.problem.model.at(run.theta(between), run.memory)
                recorder.record_expensive(int(np.searchsorted(run.times, between)), between, state)
