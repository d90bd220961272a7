"""All statements of a question on one problem: train once, judge each, collect the verdicts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from deqcheck import threads
from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.engines import Engine
from deqcheck.environment import environment
from deqcheck.judging.errors import UsageError
from deqcheck.judging.predictions import compared
from deqcheck.judging.question import Question, choose, remarks_on
from deqcheck.judging.second_look import one_by_one, settled
from deqcheck.judging.training import check_start, tracks_of, train
from deqcheck.judging.verdicts import (
    Drawing,
    all_hold,
    before_training,
    foreseen,
    verdict,
    without_equilibrium,
)
from deqcheck.models.problem import AnyProblem, NoEquilibrium, quantities
from deqcheck.records import tower
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.report import Report
from deqcheck.records.tower.following import Followed, following
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status, Verdict
from deqcheck.records.words import DESCENT
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.quantities import of_papers

NOT_INSTALLED = (
    "exact numbers need python-flint, which is not installed: pip install 'deqcheck[certify]'"
)
ASK = Question()
Asked = Sequence[AnyStatement]


def run(
    problem: AnyProblem,
    question: Question = ASK,
    *,
    progress: Callable[[Progress], None] | None = None,
    store: Store | None = None,
    certify: bool = False,
    engine: Engine | None = None,
    made: Trajectory | None = None,
) -> Report:
    """Train the model and judge every statement asked for. Raises UsageError.

    Trials over seeds are kept in the store, and found there again; an engine draws them, if one is
    given. Certifying, what doubles decide is computed again in exact numbers. `made` is the run, if
    it was made already, by `trained_together`.
    """
    if certify and tower.flint() is None:
        raise UsageError(NOT_INSTALLED)

    def judged(asked: Asked) -> dict[str, Any]:
        shown = silent if progress is None else _with_bound(progress, problem, asked)
        drawing = Drawing(store, progress or silent, engine)

        def each(s: AnyStatement, run: Trajectory | None = None) -> Verdict:
            return verdict(s, problem, run, drawing)

        if problem.train is None:
            known, stopped = one_by_one(asked, each, progress or silent)
            if stopped:
                return {"verdicts": tuple(known), "status": Status.INTERRUPTED, "notes": (stopped,)}
            return {"verdicts": tuple(known), **_runs(problem, None, progress or silent)}
        trained, found = settled(problem, asked, shown, each, made)
        return {"verdicts": tuple(found), **_runs(problem, trained, progress or silent)}

    with tower.certifying(certify), following(_in_balls(problem) if certify else None):
        return _report(problem, question, judged)


def trained_together(
    asked: Sequence[tuple[AnyProblem, Question]],
) -> list[Trajectory | None]:
    """Runs of problems of equal shape, advanced together, for `run`; None where `run` has to make
    its own."""
    problems, tracks = [], []
    for problem, question in asked:
        with suppress(UsageError):
            wanted = tracks_of(choose(question, problem))
            problems.append(problem)
            tracks.append(wanted)
    # Only narrow ones are run here.
    with threads.fitting({}):
        from deqcheck.dynamics.together import run_together

        runs = run_together(problems, tracks)
    found = {id(p): run for p, run in zip(problems, runs, strict=True)}
    return [found.get(id(problem)) for problem, _ in asked]


def _in_balls(p: AnyProblem) -> Followed | None:
    """Its descent in exact numbers, made when a claim asks for it."""
    if p.dynamics != DESCENT:
        return None
    from deqcheck.dynamics.in_balls import InBalls

    try:
        return InBalls(p)
    except (NoEquilibrium, OutOfRange):
        return None


def bounds(problem: AnyProblem, question: Question = ASK) -> Report:
    """Everything known before training. Raises UsageError."""

    def judged(asked: Asked) -> dict[str, Any]:
        return {"verdicts": tuple(foreseen(s, problem) for s in asked)}

    return _report(problem, question, judged)


def _report(p: AnyProblem, question: Question, judged: Callable[[Asked], dict[str, Any]]) -> Report:
    with threads.fitting(p.shapes):
        return _reported(p, question, judged)


def _reported(
    p: AnyProblem, question: Question, judged: Callable[[Asked], dict[str, Any]]
) -> Report:
    started = time.perf_counter()
    asked = choose(question, p)
    told = tuple(dict.fromkeys(remarks_on(question, asked)))
    try:
        # What overflows or is undefined shows in the error bars, not in warnings.
        with in_range():
            found = _measured(p, asked, judged)
    except OutOfRange as stop:
        # Nothing is judged: a number that is lost may be behind any of the others.
        found = {"verdicts": (), "status": stop.status, "notes": (str(stop),)}
    first = tuple(filter(None, [found.get("warning", "")]))
    found["notes"] = tuple(dict.fromkeys((*first, *told, *found["notes"])))
    expect = question.expect
    verdicts = (replace(v, expected=expect.of(v.id, v.edition)) for v in found.pop("verdicts"))
    return Report(
        **{"quantities": {}, **_labels(p), **found},
        verdicts=tuple(verdicts),
        environment=environment(),
        expected_status=expect.status,
        seconds=time.perf_counter() - started,
    )


def _measured(
    p: AnyProblem, asked: Asked, judged: Callable[[Asked], dict[str, Any]]
) -> dict[str, Any]:
    try:
        check_start(p)
        every = quantities(p.start) | of_papers(p.model.kind, p.start)
        measured = {name: number.forgetting() for name, number in every.items()}
    except NoEquilibrium as stop:
        known = (without_equilibrium(s, p) for s in asked)
        failing = tuple(verdict for verdict in known if verdict.failing)
        return {"verdicts": failing, "status": stop.status, "notes": (str(stop),)}
    found = {"quantities": measured, "notes": (), **judged(asked)}
    agree, told = compared(p)
    found["warning"] = "" if agree else told
    # What a model has to say about its initial parameters.
    found["notes"] = (*filter(None, [told]), *p.told, *p.start.warnings, *found["notes"])
    return found


def _runs(
    p: AnyProblem, made: Trajectory | None, progress: Callable[[Progress], None]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if made is not None:
        found |= {"trajectory": made, "status": made.status, "notes": made.notes}
    other = p.companion
    if other is not None:
        found |= {"companion": train(other, (), progress), "companion_name": other.model.kind}
    return found


def _labels(p: AnyProblem) -> dict[str, Any]:
    origin = p.origin
    if origin is None:
        return {}
    return {
        "title": origin.full_title,
        "name": origin.full_name,
        "written": origin,
        "place": origin.place,
        "replay": origin.replay,
    }


def _with_bound(
    progress: Callable[[Progress], None], p: AnyProblem, asked: Asked
) -> Callable[[Progress], None]:
    """Progress that tells the best bound of the statements that apply, if one is known by now."""
    rates = [
        rate.low
        for s in asked
        if p.dynamics in s.dynamics and (rate := s.guaranteed_rate(p)) is not None and rate.low > 0
        if all_hold(before_training(s, p))
    ]
    if not rates:
        return progress
    start, best = p.start.objective.gap, max(rates)

    def shown(step: Progress) -> None:
        along = not math.isnan(step.gap)
        bound = start * math.exp(-best * step.t)
        progress(step._replace(bound=bound) if along else step)

    return shown
