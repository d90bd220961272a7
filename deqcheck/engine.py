"""From a problem to a report: train, let every statement judge, collect the verdicts."""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.dynamics.trajectory import Trajectory
from deqcheck.environment import environment
from deqcheck.fields import Refusal
from deqcheck.models.problem import NoEquilibrium, Problem, gradient_norm, quantities
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.claim import Decision, Judged
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Place, Report, Status, Track, Verdict, outcome_of
from deqcheck.registry import members
from deqcheck.store import Store
from deqcheck.theorems.base import STATIC, Statement
from deqcheck.theorems.frequency import Frequency
from deqcheck.trials import tally

T = TypeVar("T")


class UsageError(Exception):
    """What was asked for does not fit the case; the text is one sentence."""


def catalogue() -> Mapping[str, type[Statement]]:
    """Every statement by its id."""
    return members("deqcheck.theorems", Statement)


def statements() -> list[type[Statement]]:
    return list(catalogue().values())


def run(
    case: Any,
    problem: Problem,
    *,
    editions: Sequence[str] | None = None,
    only: Sequence[str] = (),
    progress: Callable[[Progress], None] | None = None,
    store: Store | None = None,
) -> Report:
    """Train the model of the case and judge every statement asked for.

    Trials over seeds are kept in the store, and found there again.
    """
    started = time.perf_counter()
    asked = chosen(case, problem, editions, only)
    try:
        # What overflows or is undefined shows in the error bars, not in warnings.
        with in_range():
            return _run(case, problem, asked, progress, store, started)
    except OutOfRange as stop:
        return _out_of_range(case, stop, started)


def _run(
    case: Any,
    problem: Problem,
    asked: Sequence[Statement],
    progress: Callable[[Progress], None] | None,
    store: Store | None,
    started: float,
) -> Report:
    try:
        measured = _at_start(problem)
    except NoEquilibrium as stop:
        return _no_equilibrium(case, problem, asked, stop, started)
    shown = silent if progress is None else _with_bound(progress, problem, asked)
    trajectory = trained(problem, asked, shown) if problem.train else None
    tried = _Tried(case, problem, store, progress or silent)
    verdicts = tuple(
        _unless_lost(s, case, problem, partial(_judge, s, case, problem, trajectory, tried))
        for s in asked
    )
    other = problem.companion
    return Report(
        **_labels(case),
        quantities=measured,
        verdicts=verdicts,
        status=trajectory.status if trajectory else Status.COMPLETED,
        track=_track(problem, trajectory) if trajectory else None,
        companion=_track(other, trained(other, (), progress or silent)) if other else None,
        companion_name=other.model.kind if other else "",
        notes=(*_warnings(problem), *(trajectory.notes if trajectory else ())),
        seconds=time.perf_counter() - started,
    )


def bounds(
    case: Any, problem: Problem, *, editions: Sequence[str] | None = None, only: Sequence[str] = ()
) -> Report:
    """Everything known before training."""
    started = time.perf_counter()
    asked = chosen(case, problem, editions, only)
    try:
        with in_range():
            return _bounds(case, problem, asked, started)
    except OutOfRange as stop:
        return _out_of_range(case, stop, started)


def _bounds(case: Any, problem: Problem, asked: Sequence[Statement], started: float) -> Report:
    try:
        measured = _at_start(problem)
    except NoEquilibrium as stop:
        return _no_equilibrium(case, problem, asked, stop, started)
    verdicts = [_unless_lost(s, case, problem, partial(_foreseen, s, case, problem)) for s in asked]
    return Report(
        **_labels(case),
        quantities=measured,
        verdicts=tuple(verdicts),
        notes=_warnings(problem),
        seconds=time.perf_counter() - started,
    )


@in_range()
def trained(
    problem: Problem, asked: Sequence[Statement], progress: Callable[[Progress], None]
) -> Trajectory:
    """Raises OutOfRange where there is no step to take."""
    with suppress(NoEquilibrium):
        start = problem.start.objective
        _finite_at_start("loss", start.gap)
        _finite_at_start("norm of the gradient", gradient_norm(start.gradient))
    tracks, infima = _union(s.tracks for s in asked), _union(s.infima for s in asked)
    getattr(problem.model, "forget", lambda: None)()
    try:
        run: Trajectory = problem.train.run(problem, tracks, infima, progress)
    except Refusal as refusal:
        raise UsageError("; ".join(sentence for _, sentence in refusal.problems)) from None
    return run


def _warnings(problem: Problem) -> tuple[str, ...]:
    """What a model has to say about its initial parameters."""
    return getattr(problem.start, "warnings", ())


def _at_start(problem: Problem) -> dict[str, Measured]:
    check_start(problem)
    return quantities(problem.start)


def check_start(problem: Problem) -> None:
    """Raises OutOfRange where even the loss of the initial parameters is no float."""
    _finite_at_start("loss", float(problem.start.measure("loss").value))


def _finite_at_start(what: str, value: float) -> None:
    if not math.isfinite(value):
        raise OutOfRange(f"the {what} is {value:g} at the initial parameters")


def _out_of_range(case: Any, stop: OutOfRange, started: float) -> Report:
    """Nothing is judged: a number that is lost may be behind any of the others."""
    return Report(
        **_labels(case),
        quantities={},
        verdicts=(),
        status=stop.status,
        notes=(str(stop),),
        seconds=time.perf_counter() - started,
    )


def _no_equilibrium(
    case: Any, p: Problem, asked: Sequence[Statement], stop: NoEquilibrium, started: float
) -> Report:
    """Without an equilibrium a hypothesis can still be known to fail."""
    judged = [(s, _until_equilibrium(s, p)) for s in asked]
    return Report(
        **_labels(case),
        quantities={},
        verdicts=tuple(
            _verdict(s, case, p, hypotheses, outcome=outcome_of(hypotheses, (), complete=False))
            for s, hypotheses in judged
            if any(h.decision is Decision.VIOLATED for h in hypotheses)
        ),
        status=stop.status,
        notes=(str(stop),),
        seconds=time.perf_counter() - started,
    )


def _until_equilibrium(s: Statement, p: Problem) -> tuple[Judged, ...]:
    """The hypotheses that come before the first one which needs the equilibrium."""
    judged: list[Judged] = []
    with suppress(NoEquilibrium):
        for claim in chain(s.setting(p), s.hypotheses(p)):
            judged.append(claim.judge())
    return tuple(judged)


def _unless_lost(s: Statement, case: Any, p: Problem, verdict: Callable[[], Verdict]) -> Verdict:
    """A statement may look at other parameters than the initial ones, where there need not be an
    equilibrium: that one is left open."""
    try:
        return verdict()
    except NoEquilibrium as stop:
        known = _until_equilibrium(s, p)
        left = _verdict(s, case, p, known, outcome=outcome_of(known, (), complete=False))
        return replace(left, notes=(*left.notes, f"no equilibrium where it is needed: {stop}"))


def _foreseen(s: Statement, case: Any, p: Problem) -> Verdict:
    return _verdict(s, case, p, tuple(_before_training(s, p)))


def _before_training(s: Statement, p: Problem) -> list[Judged]:
    claims = (*s.setting(p), *s.hypotheses(p), *(s.step_hypotheses(p) if p.step else ()))
    return [claim.judge() for claim in claims]


class _Tried(NamedTuple):
    """How the seeds of a statement about probabilities are tried."""

    case: Any
    problem: Problem
    store: Store | None
    progress: Callable[[Progress], None]

    def __call__(self, s: Frequency) -> Judged:
        def done(finished: int, total: int) -> None:
            self.progress(Progress(f"seeds of {s.id}", finished, 0.0, finished / total, np.nan))

        results = tally(s, self.problem, self.case.resolved, self.store, done)
        return s.tallied(self.problem, results).judge()


def _judge(s: Statement, case: Any, p: Problem, run: Trajectory | None, tried: _Tried) -> Verdict:
    hypotheses = _before_training(s, p)
    conclusions = [c.judge() for c in s.claims(p, p.start)]
    counted = s if isinstance(s, Frequency) and s.counted else None
    if counted and _applies(hypotheses):
        conclusions.append(tried(counted))
    complete = True
    if run is not None and STATIC not in s.dynamics:
        if len(run.k) > 1:
            hypotheses += [h.judge() for h in s.path_hypotheses(p, run)]
            conclusions += [c.judge() for c in s.conclusions(p, run)]
        complete = run.complete
    outcome = outcome_of(hypotheses, conclusions, complete)
    if counted:
        outcome = counted.word(outcome)
    return _verdict(s, case, p, tuple(hypotheses), conclusions=tuple(conclusions), outcome=outcome)


def _applies(hypotheses: Sequence[Judged]) -> bool:
    return all(h.decision is Decision.HOLDS for h in hypotheses)


def _verdict(s: Statement, case: Any, p: Problem, hypotheses: tuple, **more: Any) -> Verdict:
    return Verdict(
        **{"outcome": None, **more},
        id=s.id,
        number=s.cite.number,
        title=s.title,
        text=s.text(),
        citation=str(s.cite),
        status=s.status,
        drivers=s.infima,
        edition=s.edition,
        hypotheses=hypotheses,
        constants=_if_known(lambda: s.chosen(p), s.fixed),
        quantities=_if_known(lambda: s.quantities(p), {}),
        erratum=s.erratum,
        notes=_if_known(lambda: tuple(s.notes(p)), ()),
        expected=_expected(case.expect.get(s.id), s.edition),
    )


def _if_known(make: Callable[[], T], otherwise: T) -> T:
    """What a statement says, or less where that needs an equilibrium that there is not."""
    try:
        return make()
    except NoEquilibrium:
        return otherwise


def _expected(entry: Any, edition: str) -> str | None:
    """One word for every edition, or a word for each."""
    return entry.get(edition) if isinstance(entry, dict) else entry


def chosen(
    case: Any, p: Problem, editions: Sequence[str] | None, only: Sequence[str]
) -> list[Statement]:
    """The statements to be judged: asked for, named by the case, or all that speak of it."""
    known = catalogue()
    for wanted in only:
        if wanted not in known:
            near = difflib.get_close_matches(wanted, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise UsageError(f"there is no statement {wanted!r}{hint}")
    ids = only or case.theorems or [s.id for s in known.values() if _speaks_of(s, p)]
    for id_ in ids:
        misfit = known[id_].misfit(p.model.kind, p.loss)
        if misfit:
            raise UsageError(misfit)
    wanted_editions = editions or case.editions
    found = [
        known[id_](edition, case.constants.get(id_))
        for id_ in ids
        for edition in known[id_].judged_in(wanted_editions)
    ]
    faults = dict.fromkeys(fault for statement in found for fault in statement.faults())
    if faults:
        raise UsageError("; ".join(faults))
    return found


def _speaks_of(s: type[Statement], p: Problem) -> bool:
    return not s.silence(p.model.kind, p.loss, p.dynamics)


def _union(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def _track(p: Problem, run: Trajectory) -> Track:
    return Track(
        k=run.k,
        t=run.t,
        loss=run.gap + p.model.infimum,
        gap=run.gap,
        gradient=run.gradient,
        series={name: (s.k, s.t, s.value) for name, s in run.series.items()},
    )


def _with_bound(
    progress: Callable[[Progress], None], p: Problem, asked: Sequence[Statement]
) -> Callable[[Progress], None]:
    """Progress that tells the best bound of the statements that apply, if one is known by now."""
    rates = [
        rate.low
        for s in asked
        if p.dynamics in s.dynamics and (rate := s.guaranteed_rate(p)) is not None and rate.low > 0
        if all(h.decision is Decision.HOLDS for h in _before_training(s, p))
    ]
    if not rates:
        return progress
    start, best = p.start.objective.gap, max(rates)
    return lambda step: progress(step._replace(bound=start * math.exp(-best * step.t)))


def _labels(case: Any) -> dict[str, Any]:
    return {
        "title": case.full_title,
        "name": case.full_name,
        "digest": case.digest,
        "resolved": case.resolved,
        "environment": environment(),
        "expected_status": case.expect.get("status"),
        "place": _place(case),
    }


def _place(case: Any) -> Place | None:
    member = case.member
    return member and Place(case.name, case.title, member.sweep, member.words)
