"""The public functions of deqcheck: cases and arrays in, reports and verdicts out.

Nothing is printed. Bad input raises CaseError or UsageError with the sentences that the command
line prints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from deqcheck import judging, plugins
from deqcheck.case import Case
from deqcheck.case import only as the_only
from deqcheck.case.embedded import read_named
from deqcheck.case.read import checked
from deqcheck.case.source import Changes, Source
from deqcheck.dynamics import read_train
from deqcheck.dynamics.recorder import Progress
from deqcheck.fields import unknown
from deqcheck.judging import Question, UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.judging.errors import refusals
from deqcheck.models.problem import AnyProblem, Problem
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.records.words import BOTH, EDITIONS, editions
from deqcheck.report.table import explain
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement

Word: TypeAlias = "str | os.PathLike[str]"
CaseOrProblem: TypeAlias = "Word | Mapping[str, Any] | Case | AnyProblem"
Train: TypeAlias = "Mapping[str, Any] | Any"
Constants: TypeAlias = Mapping[str, Mapping[str, float]]
# What the user's own tests may call right: seeds confirm nothing, but they can agree.
SUPPORTED = (Outcome.CONFIRMED, Outcome.CONSISTENT)


def load(path: Word) -> tuple[type, ...]:
    """Load statements, models, losses, data kinds or formats of your own from a Python file or a
    folder, which runs its code; again, if it was changed. Raises UsageError."""
    try:
        return plugins.load(os.fspath(path)).classes
    except plugins.PluginError as error:
        raise UsageError(str(error)) from None


class Statements(tuple[type[AnyStatement], ...]):
    """Statements in the order of their ids; an id finds its own."""

    @overload  # type: ignore[override]
    def __getitem__(self, key: str | int) -> type[AnyStatement]: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[type[AnyStatement], ...]: ...
    def __getitem__(self, key: str | int | slice) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for statement in self:
            if statement.id == key:
                return statement
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return any(key in (statement, statement.id) for statement in self)


def statements() -> Statements:
    """Every statement of the catalogue."""
    return Statements(judging.catalogue().values())


def read(
    source: Word | Mapping[str, Any], *, set: Sequence[str] = (), seed: int | None = None
) -> Case:
    """Read and check a case: a file, the name of an embedded case, or a mapping with the fields of
    a case file. `set` replaces fields, as in `["train.step=1e-3"]`. Raises CaseError."""
    if isinstance(source, Mapping):
        settings = {} if seed is None else {"seed": seed}
        tree = {"deqcheck": 1, **source, **settings}
        if set:
            raise UsageError("`set` changes a case file; set the fields of the mapping itself")
        return checked(Source(written=tree))
    return the_only(read_named(source, Changes(tuple(set), seed)))


def problem(
    model: str,
    data: Mapping[str, Any] | str,
    init: Mapping[str, Any] | str,
    *,
    loss: Mapping[str, Any] | str | None = None,
    train: Train | None = None,
    seed: int = 0,
    title: str = "",
    **fields: Any,
) -> AnyProblem:
    """A model on data, with the parameters to start from.

    `data` and `init` map the names of the model's arrays to arrays, or name a kind as a case file
    does (`{"kind": "gaussian", ...}`). `fields` are those of the model, such as `gamma` of `delm`.
    Raises CaseError.
    """
    tree = {
        "deqcheck": 1,
        "title": title,
        "seed": seed,
        "model": {"kind": model, **fields},
        "data": _arrays(data),
        "init": _arrays(init),
        "loss": loss,
    }
    found = checked(Source(written=tree)).problem()
    return found if train is None else _trained(found, train)


def _arrays(given: Mapping[str, Any] | str) -> Mapping[str, Any] | str:
    """Arrays without a kind are values; lists and arrays are the same here."""
    if isinstance(given, str) or "kind" in given:
        return given
    return {"kind": "values", **{name: np.asarray(a) for name, a in given.items()}}


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
) -> Report:
    """Train the model of a case or problem and judge the theorems on what happened.

    `train` replaces the dynamics, `only` names the statements (ids, or classes of one's own),
    `edition` is printed, corrected or both. Raises CaseError or UsageError.
    """
    found, question = _asked(_one(case, set, seed), train, only, edition, constants)
    return judging.run(found, question, progress=progress, store=_store(store))


def run_all(
    case: Word,
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
    every = read_named(case, Changes(tuple(set), seed))
    asked = [_asked(one, None, only, edition, constants) for one in every]
    kept = _store(store)
    return [judging.run(p, question, progress=progress, store=kept) for p, question in asked]


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
    found, question = _asked(_one(case, set, seed), train, only, edition, constants)
    return judging.bounds(found, question)


def judge(
    statement: Named,
    problem: CaseOrProblem,
    run: Trajectory | None = None,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on one statement (an id, or a class of one's own).

    It is judged along `run`, the trajectory of a report on this very problem; else on a run made
    for it by `train`, else by the problem's own dynamics; a problem without dynamics is judged at
    its initial parameters. Raises CaseError or UsageError.
    """
    found = _one(problem, (), None)
    p = found.problem() if isinstance(found, Case) else found
    return judging.judge(statement, p, run, train=train, edition=edition, constants=constants)


def check(
    statement: Named,
    problem: CaseOrProblem,
    run: Trajectory | None = None,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Verdict:
    """For a test suite: raises AssertionError with the verdict in words unless it is confirmed (or,
    for a statement about probabilities, consistent)."""
    found = judge(statement, problem, run, train=train, edition=edition, constants=constants)
    if found.outcome not in SUPPORTED:
        raise AssertionError(explain(found))
    return found


def _one(case: CaseOrProblem, set: Sequence[str], seed: int | None) -> Case | AnyProblem:
    if not isinstance(case, Case | Problem):
        return read(case, set=set, seed=seed)
    if set or seed is not None:
        raise UsageError("`set` and `seed` change a case file; this one is read already")
    return case


def _asked(
    case: Case | AnyProblem,
    train: Train | None,
    only: Sequence[Named],
    edition: str | None,
    constants: Constants | None,
) -> tuple[AnyProblem, Question]:
    p = case.problem() if isinstance(case, Case) else case
    question = p.origin.question if isinstance(p.origin, Case) else Question()
    if train is not None:
        p = _trained(p, train)
    if edition not in (None, BOTH, *EDITIONS):
        raise UsageError(unknown("no edition", str(edition), (*EDITIONS, BOTH)))
    if isinstance(only, str):
        raise UsageError(f"`only` is a list of statements; found {only!r}")
    chosen = None if edition is None else editions(edition)
    return p, question.narrowed(only, chosen, constants)


def _trained(p: AnyProblem, train: Train) -> AnyProblem:
    with refusals():
        return p.trained_by(read_train(train))


def _store(folder: Word | None) -> Store | None:
    try:
        return None if folder is None else Store(os.fspath(folder))
    except OSError as error:
        raise UsageError(f"cannot keep results in {folder}: {error.strerror}") from None
