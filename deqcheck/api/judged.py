"""Training and judging."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deqcheck import judging
from deqcheck.api.cases import Train, Word, installed, mistakes, plain
from deqcheck.api.certificates import certified
from deqcheck.api.engines import chosen_engine, engine_errors
from deqcheck.api.questions import (
    CaseOrProblem,
    Constants,
    asked,
    check_constants,
    one,
    opened,
)
from deqcheck.case import Case
from deqcheck.case.embedded import read_named
from deqcheck.case.source import Changes
from deqcheck.dynamics.recorder import Progress
from deqcheck.engines import Engine
from deqcheck.explore import entry as entering
from deqcheck.fields import show
from deqcheck.judging import UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.models.problem import AnyProblem
from deqcheck.records import tower
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.report.table import explain

# What the user's own tests may call right: seeds confirm nothing, but they can agree.
SUPPORTED = (Outcome.CONFIRMED, Outcome.CONSISTENT, Outcome.MET)


def run(
    case: CaseOrProblem,
    *,
    train: Train | None = None,
    only: Sequence[Named] = (),
    edition: str | None = None,
    constants: Constants | None = None,
    set: Sequence[str] = (),
    seed: int | None = None,
    store: Word | None = None,
    progress: Callable[[Progress], None] | None = None,
    certify: bool = False,
    effort: float = 1.0,
    certificate: Word | None = None,
    entry: bool = True,
    engine: str | Engine | None = None,
) -> Report:
    """Train the model of a case or problem and judge the theorems on what happened.

    `train` replaces the dynamics, `only` names the statements (ids, or classes of one's own),
    `edition` is printed, corrected or both. `certify` computes what doubles decide once more, in
    exact numbers, which have `effort` times their usual budget; `certificate` names a file for what
    others need to check the verdicts, and certifies. Where a convergence theorem does not apply at
    the start, `verdict.entry` tells from where on it does, unless `entry` is false. `engine` draws
    the trials of statements about probabilities, as that of `sweep` does its members. Raises
    CaseError or UsageError.
    """
    with mistakes():
        found, question = asked(one(case, set, seed), train, only, edition, constants)
        kept = opened(store)
        judged = entering.run if entry else judging.run
        drawn = None if engine is None else chosen_engine(engine)
        how: dict[str, Any] = {"progress": progress, "store": kept, "engine": drawn}
        with engine_errors(), tower.effort(effort):
            if certificate is not None:
                return certified(certificate, judged, found, question, **how)
            return judged(found, question, certify=certify, **how)


def run_all(
    case: CaseOrProblem,
    *,
    only: Sequence[Named] = (),
    edition: str | None = None,
    constants: Constants | None = None,
    set: Sequence[str] = (),
    seed: int | None = None,
    store: Word | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Report]:
    """The reports of every case that a file states, in the order of its sweeps."""
    if isinstance(case, str | os.PathLike) and not isinstance(set, str):
        installed()
        every: Sequence[Case | AnyProblem] = read_named(case, Changes(tuple(set), seed))
    else:
        every = [one(case, set, seed)]
    kept = opened(store)
    with mistakes():
        questions = [asked(each, None, only, edition, constants) for each in every]
        return [
            judging.run(p, question, progress=progress, store=kept) for p, question in questions
        ]


def bounds(
    case: CaseOrProblem,
    *,
    train: Train | None = None,
    only: Sequence[Named] = (),
    edition: str | None = None,
    constants: Constants | None = None,
    set: Sequence[str] = (),
    seed: int | None = None,
) -> Report:
    """Everything known before training: quantities, hypotheses with margins, promised rates."""
    with mistakes():
        found, question = asked(one(case, set, seed), train, only, edition, constants)
        return judging.bounds(found, question)


def judge(
    statement: Named,
    problem: CaseOrProblem,
    run: Trajectory | Report | None = None,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on one statement (an id, or a class of one's own).

    It is judged along `run`, a report on this very problem or its trajectory; else on a run made
    for it by `train`, else by the problem's own dynamics; a problem without dynamics is judged at
    its initial parameters. Raises CaseError or UsageError.
    """
    found = one(problem, (), None)
    if isinstance(run, Report):
        run = run.trajectory
    if run is not None and not isinstance(run, Trajectory):
        raise UsageError(f"run is {show(run)}; expected the trajectory of a report")
    check_constants(constants)
    with mistakes():
        p = found.problem() if isinstance(found, Case) else found
        how = None if train is None else plain(train)
        return judging.judge(statement, p, run, train=how, edition=edition, constants=constants)


def check(
    statement: Named,
    problem: CaseOrProblem,
    run: Trajectory | Report | None = None,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Verdict:
    """For a test suite: raises AssertionError with the verdict in words unless it is confirmed, for
    a statement about probabilities consistent, for a condition met."""
    found = judge(statement, problem, run, train=train, edition=edition, constants=constants)
    if found.outcome not in SUPPORTED:
        raise AssertionError(explain(found))
    return found
