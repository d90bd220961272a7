"""The public functions of deqcheck: cases and arrays in, reports and verdicts out.

Nothing is printed. Bad input raises CaseError or UsageError with the sentences that the command
line prints.
"""

from __future__ import annotations

import dataclasses
import numbers
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from deqcheck import judging, plugins
from deqcheck.case import Case, CaseError
from deqcheck.case import only as the_only
from deqcheck.case.embedded import read_named
from deqcheck.case.read import checked
from deqcheck.case.source import Changes, Source
from deqcheck.dynamics import read_train
from deqcheck.dynamics.recorder import Progress
from deqcheck.explore import advice as advising
from deqcheck.explore import entry as entering
from deqcheck.fields import did_you_mean, show, unknown
from deqcheck.judging import Question, UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.judging.errors import refusals
from deqcheck.models.problem import AnyProblem, Problem
from deqcheck.records.advice import Advice
from deqcheck.records.entry import Entry
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.records.words import BOTH, EDITIONS, editions
from deqcheck.report.table import explain
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement

if TYPE_CHECKING:
    from deqcheck.explore.falsify import Falsified

Word: TypeAlias = "str | os.PathLike[str]"
CaseOrProblem: TypeAlias = "Word | Mapping[str, Any] | Case | AnyProblem"
Train: TypeAlias = "Mapping[str, Any] | Any"
Constants: TypeAlias = Mapping[str, Mapping[str, float]]
CONSTANTS = 'a mapping by statement, such as {"ling2022/thm1": {"delta": 0.1}}'
# What the user's own tests may call right: seeds confirm nothing, but they can agree.
SUPPORTED = (Outcome.CONFIRMED, Outcome.CONSISTENT, Outcome.MET)


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
        hint = did_you_mean(key, [statement.id for statement in self])
        raise KeyError(f"there is no statement {key!r}{hint}")

    def __contains__(self, key: object) -> bool:
        return any(key in (statement, statement.id) for statement in self)


def statements() -> Statements:
    """Every statement of the catalogue, with those of installed packages and of `load`."""
    _installed()
    return Statements(judging.catalogue().values())


def read(
    source: Word | Mapping[str, Any], *, set: Sequence[str] = (), seed: int | None = None
) -> Case:
    """Read and check a case: a file, the name of an embedded case, or a mapping with the fields of
    a case file. `set` replaces fields, as in `["train.step=1e-3"]`. Raises CaseError."""
    _installed()
    if isinstance(set, str):
        raise UsageError(f"`set` is a list of settings; found {set!r}")
    if not isinstance(source, Mapping | str | os.PathLike):
        raise UsageError(
            f"{show(source)} is no case; expected a file, the name of an embedded case, a mapping, "
            "a Case or a Problem"
        )
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
    _installed()
    tree = {
        "deqcheck": 1,
        "title": title,
        "seed": _plain(seed),
        "model": {"kind": model, **_plain(fields)},
        "data": _arrays("data", data),
        "init": _arrays("init", init),
        "loss": _plain(loss),
        # Nobody wrote down which one is asked for.
        "edition": BOTH,
    }
    with _mistakes():
        found = checked(Source(written=tree)).problem()
    return found if train is None else _trained(found, train)


def _arrays(name: str, given: Mapping[str, Any] | str) -> Any:
    """Arrays without a kind are values; lists and arrays are the same here."""
    if not isinstance(given, str | Mapping):
        raise UsageError(f"{name} is {show(given)}; expected a mapping from names to arrays")
    if isinstance(given, str) or "kind" in given:
        return _plain(given)
    try:
        return {"kind": "values", **{key: np.asarray(a) for key, a in given.items()}}
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: an array that is none: {error}") from None


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, which case files have."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


_LOOKED: list[bool] = []


def _installed() -> None:
    """Installed packages may bring statements; looked for once, and a broken one is told."""
    if _LOOKED:
        return
    _LOOKED.append(True)
    try:
        plugins.load_installed()
    except plugins.PluginError as error:
        for sentence in str(error).splitlines():
            warnings.warn(f"deqcheck: {sentence}", stacklevel=3)


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
    entry: bool = True,
) -> Report:
    """Train the model of a case or problem and judge the theorems on what happened.

    `train` replaces the dynamics, `only` names the statements (ids, or classes of one's own),
    `edition` is printed, corrected or both. `certify` computes what doubles decide once more, in
    exact numbers. Where a convergence theorem does not apply at the start, `verdict.entry` tells
    from where on it does, unless `entry` is false. Raises CaseError or UsageError.
    """
    with _mistakes():
        found, question = _asked(_one(case, set, seed), train, only, edition, constants)
        kept = _store(store)
        judged = entering.run if entry else judging.run
        return judged(found, question, progress=progress, store=kept, certify=certify)


def entry(
    statement: Named,
    problem: CaseOrProblem,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Entry | None:
    """From which point of the run a convergence theorem applies, with the verdict on the rest of
    the run; None where it applies at the start, or is no convergence theorem for these dynamics.
    Raises CaseError or UsageError."""
    _check_constants(constants)
    fixed = None if constants is None else {_id(statement): constants}
    report = run(
        problem,
        train=train,
        only=[statement],
        edition=edition,
        constants=fixed,
        progress=progress,
    )
    if report.trajectory is None:
        raise UsageError("the problem does not train, and an entry is one into a run: give `train`")
    return report.verdicts[-1].entry if report.verdicts else None


def advise(
    case: Word | Mapping[str, Any] | Case,
    *,
    only: Sequence[Named] = (),
    edition: str | None = None,
    set: Sequence[str] = (),
    seed: int | None = None,
    entry: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> list[Advice]:
    """How near each convergence theorem is to applying to a case, the nearest first, and what would
    make it apply: each remedy is a number that was found by search and judged, with a ready case.
    Unless `entry` is false the case is trained, too. Raises CaseError or UsageError."""
    found = _one(case, set, seed)
    if not isinstance(found, Case):
        raise UsageError("advice changes the fields of a case, and a problem has none: give a case")
    with _mistakes():
        _, question = _asked(found, None, only, edition, None)
        asked = question if only else dataclasses.replace(question, statements=None)
        return advising.advise(found, asked, train=entry, progress=progress)


def _id(statement: Named) -> str:
    return statement if isinstance(statement, str) else statement.id


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
        _installed()
        every: Sequence[Case | AnyProblem] = read_named(case, Changes(tuple(set), seed))
    else:
        every = [_one(case, set, seed)]
    kept = _store(store)
    with _mistakes():
        asked = [_asked(one, None, only, edition, constants) for one in every]
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
    with _mistakes():
        found, question = _asked(_one(case, set, seed), train, only, edition, constants)
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
    found = _one(problem, (), None)
    if isinstance(run, Report):
        run = run.trajectory
    if run is not None and not isinstance(run, Trajectory):
        raise UsageError(f"run is {show(run)}; expected the trajectory of a report")
    _check_constants(constants)
    with _mistakes():
        p = found.problem() if isinstance(found, Case) else found
        how = None if train is None else _plain(train)
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


def falsify(
    statement: Named,
    *,
    edition: str | None = None,
    seconds: float | None = None,
    evaluations: int | None = None,
    seed: int = 1,
    jobs: int = 1,
    sizes: tuple[int, int] | None = None,
    also: str = "",
    feasible: bool = False,
    degenerate: bool = False,
    keep_per_claim: bool = False,
    store: Word | None = None,
    strategy: Callable[[Any], Any] | None = None,
    progress: Callable[[Any], None] = lambda found: None,
) -> Falsified:
    """Search for an instance on which the hypotheses of a statement (an id, or a class of one's
    own) hold and a conclusion fails, and make it simple: `deqcheck docs falsify`.

    Without `evaluations` it stops after a minute, or after `seconds`. `strategy` makes, of the
    statement, an object that proposes the instances, with `ask()` and `tell(instance, score)`.
    Raises UsageError.
    """
    from deqcheck.explore.falsify import Asking, Limits
    from deqcheck.explore.falsify.kept import Kept

    _installed()
    limits = Limits(evaluations, 60.0 if seconds is None and evaluations is None else seconds)
    asking = Asking(limits, seed, sizes, also, feasible, degenerate, keep_per_claim)
    if strategy is not None and (jobs != 1 or store is not None):
        raise UsageError("a strategy of your own searches in this process, and nothing is kept")
    with _mistakes():
        return Kept(store).falsify(statement, edition, asking, jobs, progress, strategy)


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
    if constants is not None and not isinstance(constants, Mapping):
        raise UsageError(f"constants is {show(constants)}; expected {CONSTANTS}")
    for id_, fixed in (constants or {}).items():
        if not isinstance(fixed, Mapping):
            raise UsageError(f"constants[{id_!r}] is {show(fixed)}; expected {CONSTANTS}")
        _check_constants(fixed)
    wanted = None if edition is None else editions(edition)
    return p, question.narrowed(only, wanted, constants)


def _check_constants(constants: Any) -> None:
    """Of one statement."""
    if constants is None:
        return
    if not isinstance(constants, Mapping):
        raise UsageError(f"constants is {show(constants)}; expected a mapping, name to number")
    for name, value in constants.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise UsageError(f"the constant {name} is {show(value)}; expected a number")


@contextmanager
def _mistakes() -> Iterator[None]:
    """What goes wrong in somebody's own file is told with its place."""
    try:
        yield
    except (CaseError, UsageError):
        raise
    except Exception as error:
        mistake = plugins.blamed(error)
        if mistake is None:
            raise
        raise UsageError(mistake) from error


def _trained(p: AnyProblem, train: Train) -> AnyProblem:
    with refusals():
        return p.trained_by(read_train(_plain(train)))


def _store(folder: Word | None) -> Store | None:
    try:
        return None if folder is None else Store(os.fspath(folder))
    except OSError as error:
        raise UsageError(f"cannot keep results in {folder}: {error.strerror}") from None
