"""The moment of entry: the first point of a run from which a convergence theorem applies.

A theorem may be applied at any point of a trajectory, taken as the initial point. Its hypotheses
need not become easier with time, so every recorded point is looked at; the rest of the run is then
made again from there and judged like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from deqcheck import judging
from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.engines import Engine
from deqcheck.frozen import dataclass
from deqcheck.judging.question import Question, choose
from deqcheck.judging.verdicts import before_training, decide, first_failing, of_setting
from deqcheck.linalg import minimax
from deqcheck.models.memory import Memory
from deqcheck.models.problem import AnyProblem, NoEquilibrium, Params
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.comparison import Decision
from deqcheck.records.entry import Entry, trend
from deqcheck.records.judged import Judged
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.records.words import DESCENT
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import Frequency

# Between two recorded steps of gradient descent so many are looked at, twice.
BETWEEN = 32
# From so many points a rest of the run is made for a statement whose hypotheses along it may fail.
RESTS = 3
# The trend of a hypothesis is read off at so many points.
TREND_POINTS = 12
# Relative: ratios nearer to each other than this are alike.
TIED = 1e-9
ONLY_AT_START = "it speaks of a random initialisation, which later points of a run are not"
NOT_AGAIN = "such a run cannot be made again from a later point"
ENTRY_INTERRUPTED = "interrupted while looking for the points from which theorems apply"
NOT_KEPT = "the run kept no parameters but the last"
NOTHING_LEFT = "the run ends where its hypotheses begin to hold: train longer"


def run(
    problem: AnyProblem,
    question: Question,
    *,
    progress: Callable[[Progress], None] | None = None,
    store: Store | None = None,
    certify: bool = False,
    engine: Engine | None = None,
) -> Report:
    """As `judging.run`, and where a convergence theorem does not apply at the start, from where on
    it does."""
    started = time.perf_counter()
    keeping = replace(problem, record_states=True)
    report = judging.run(
        keeping, question, progress=progress, store=store, certify=certify, engine=engine
    )
    if report.status is Status.INTERRUPTED:
        return report
    try:
        report = with_entries(report, problem, question, progress or silent)
    except KeyboardInterrupt:
        # What was judged is not lost.
        report = replace(
            report, status=Status.INTERRUPTED, notes=(*report.notes, ENTRY_INTERRUPTED)
        )
    return replace(report, seconds=time.perf_counter() - started)


def with_entries(
    report: Report,
    problem: AnyProblem,
    question: Question,
    progress: Callable[[Progress], None] = silent,
) -> Report:
    """The report of a run that kept its states, with the entry of every convergence theorem that
    does not apply at the start."""
    run = report.trajectory
    if run is None or len(run.k) < 2:
        return report
    asked = {(s.id, s.edition): s for s in choose(question, problem)}
    wanted = [
        (i, asked[v.id, v.edition])
        for i, v in enumerate(report.verdicts)
        if (v.id, v.edition) in asked and enters(asked[v.id, v.edition], problem, v)
    ]
    verdicts = list(report.verdicts)
    found = entries([s for _, s in wanted], problem, run, progress)
    for (i, _), entry in zip(wanted, found, strict=True):
        verdicts[i] = replace(verdicts[i], entry=entry)
    # Nobody asks for the states any more.
    return replace(report, verdicts=tuple(verdicts), trajectory=replace(run, states={}))


def enters(s: AnyStatement, p: AnyProblem, found: Verdict) -> bool:
    """Whether it is asked for: a convergence theorem for these dynamics that does not apply."""
    if not s.bounds_the_loss() or found.outcome is not Outcome.NOT_APPLICABLE:
        return False
    return all(each.decision is not Decision.VIOLATED for each in of_setting(s, p))


def entries(
    statements: Sequence[AnyStatement],
    p: AnyProblem,
    run: Trajectory,
    progress: Callable[[Progress], None] = silent,
) -> list[Entry]:
    """One for each statement, on a run of this problem that kept its states."""
    scan = Scan(p, run, progress)
    with in_range():
        return scan.entries(statements)


@dataclass(frozen=True)
class Point:
    """A point of the run, taken as the initial one."""

    k: int
    t: float
    problem: AnyProblem
    # Whether anything of the run is left from here.
    goes_on: bool


class Scan:
    def __init__(self, p: AnyProblem, run: Trajectory, progress: Callable[[Progress], None]):
        self.p, self.run, self.progress = p, run, progress
        self.kept = sorted(i for i in run.states if i > 0)
        # How many recorded points there are after the start.
        self.points = len(run.k) - 1

    def entries(self, statements: Sequence[AnyStatement]) -> list[Entry]:
        waiting = {i: _Search(s) for i, s in enumerate(statements) if not self._exempt(s)}
        searches = dict(waiting)
        before = 0
        for n, position in enumerate(self.kept):
            if not waiting:
                break
            point = self._kept(position)
            self.progress(
                Progress("entry", point.k, point.t, n / len(self.kept), self._gap(position))
            )
            for i, search in list(waiting.items()):
                entered = search.met_at(point) and self._enter(search, before, point)
                if entered or search.rests == RESTS:
                    del waiting[i]
            before = position
        return [
            self._told(searches[i])
            if i in searches
            else Entry(0, self.points, reason=self._exempt(s))
            for i, s in enumerate(statements)
        ]

    def _exempt(self, s: AnyStatement) -> str:
        """Why no later point is looked at; empty where they are."""
        if isinstance(s, Frequency):
            return ONLY_AT_START
        return "" if self.p.train.rest(0, 0.0) is not None else NOT_AGAIN

    def _gap(self, position: int) -> float:
        return float(self.run.gap.value[position])

    def _kept(self, position: int) -> Point:
        k, t = int(self.run.k[position]), float(self.run.t[position])
        return self._from(k, t, dict(self.run.states[position]))

    def _from(self, k: int, t: float, theta: Params) -> Point:
        """What was drawn is drawn no more, and nothing is compared. Where the run ends, hypotheses
        on the step are asked of as long a run as it was."""
        left = self.p.train.rest(k, t)
        rest = replace(
            self.p,
            theta0=theta,
            train=self.p.train if left is None else left,
            laws={},
            companion=None,
            origin=None,
            record_states=False,
        )
        return Point(k, t, rest, left is not None)

    def _enter(self, search: _Search, before: int, point: Point) -> bool:
        """Judge the rest of the run from the first point between the last one that was looked at
        and this one at which the hypotheses hold; whether that is the entry."""
        first = self._first_between(search, before, point)
        if not first.goes_on:
            search.found, search.verdict = first, None
            return True
        search.rests += 1
        verdict = decide(search.statement, first.problem)
        if verdict.outcome is Outcome.NOT_APPLICABLE:
            # A hypothesis along the run fails from here on.
            search.broken = verdict
            return False
        search.found, search.verdict = first, verdict
        return True

    def _first_between(self, search: _Search, before: int, point: Point) -> Point:
        """Descent is made again between two recorded steps; a flow has no steps of its own."""
        if self.p.dynamics != DESCENT:
            return point
        theta, low = dict(self.run.states[before]), int(self.run.k[before])
        with suppress(NoEquilibrium, OutOfRange):
            for _ in range(2):
                for between in self._descended(theta, low, _spaced(low, point.k)):
                    if search.met_at(between):
                        point = between
                        break
                    theta, low = between.problem.theta0, between.k
        return point

    def _descended(self, theta: Params, k: int, wanted: Sequence[int]) -> Iterator[Point]:
        """The states of gradient descent at these steps, from its state at step k on."""
        memory, step = Memory(), self.p.step
        asked = set(wanted)
        while asked:
            gradient = self.p.model.at(theta, memory).objective.gradient
            theta = {name: a - step * gradient[name] for name, a in theta.items()}
            k += 1
            if k in asked:
                asked.discard(k)
                yield self._from(k, k * step, theta)

    def _told(self, search: _Search) -> Entry:
        looked = len(search.looked)
        if search.found is not None:
            k, t = search.found.k, search.found.t
            loss = search.found.problem.start.measure("loss").forgetting()
            reason = NOTHING_LEFT if search.verdict is None else ""
            return Entry(looked, self.points, k, t, loss, search.verdict, reason=reason)
        if not self.kept:
            return Entry(0, self.points, reason=NOT_KEPT)
        if search.broken is not None:
            (blocking, *_) = search.broken.failing
            return Entry(looked, self.points, blocking=blocking)
        return self._blocked(search, looked)

    def _blocked(self, search: _Search, looked: int) -> Entry:
        """What stays broken, and how its ratio moves."""
        some = np.unique(np.linspace(0, len(self.kept) - 1, TREND_POINTS).astype(int))
        points = [self._kept(self.kept[i]) for i in some]
        checks = [_hypotheses(search.statement, point.problem) for point in points]
        known = [each for each in checks if each]
        if not known:
            return Entry(looked, self.points, reason="no equilibrium is known at later points")
        blocking = _furthest(known[-1].values())
        ratios = [each[blocking.name].ratio if blocking.name in each else None for each in checks]
        reason = search.statement.obstacle(self.p)
        moves = trend([point.t for point in points], ratios)
        return Entry(looked, self.points, blocking=blocking, trend=moves, reason=reason)


class _Search:
    """A statement, and how far the search for its entry has come."""

    def __init__(self, s: AnyStatement):
        self.statement = s
        self.looked: set[int] = set()
        self._memory: minimax.Memory = {}
        self.rests = 0
        self.found: Point | None = None
        self.verdict: Verdict | None = None
        self.broken: Verdict | None = None

    def met_at(self, point: Point) -> bool:
        self.looked.add(point.k)
        try:
            return first_failing(self.statement, point.problem, self._memory) is None
        except (NoEquilibrium, OutOfRange):
            return False


def _spaced(low: int, high: int) -> list[int]:
    """Steps between, without the ends: all of them, or so many evenly."""
    every = np.arange(low + 1, high)
    if len(every) <= BETWEEN:
        return [int(k) for k in every]
    return [int(k) for k in np.unique(np.linspace(low + 1, high - 1, BETWEEN).astype(int))]


def _hypotheses(s: AnyStatement, p: AnyProblem) -> Mapping[str, Judged]:
    try:
        return {each.name: each for each in before_training(s, p)}
    except (NoEquilibrium, OutOfRange):
        return {}


def _furthest(checks: Iterable[Judged]) -> Judged:
    """The one that is broken worst: without a ratio no step towards it is known. Of several that
    are so up to rounding, as those that a search for constants has balanced, the first."""
    known = list(checks)
    broken = [each for each in known if each.decision is not Decision.HOLDS] or known
    ratios = [-1.0 if each.ratio is None else each.ratio for each in broken]
    least = min(ratios)
    return next(
        each for each, r in zip(broken, ratios, strict=True) if r <= least + TIED * abs(least)
    )
