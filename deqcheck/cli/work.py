"""From CASE arguments to problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deqcheck import __version__
from deqcheck.case import Case, CaseError, only
from deqcheck.case.embedded import read_named
from deqcheck.case.source import Changes
from deqcheck.cli.errors import Complaint, NumericalComplaint, say
from deqcheck.engines import EngineError
from deqcheck.judging import UsageError
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.store import Store


class Task(NamedTuple):
    case: Case
    problem: AnyProblem


def prepare(words: Sequence[str], changes: Changes) -> list[Task]:
    """Read and build every case before any work starts; all that is wrong is said at once."""
    tasks, wrong = [], []
    for word in words:
        try:
            tasks += tasks_of(word, changes)
        except Complaint as complaint:
            wrong.append(complaint)
    if wrong:
        raise type(wrong[0])("\n".join(complaint.message for complaint in wrong))
    return tasks


def tasks_of(word: str, changes: Changes) -> list[Task]:
    """Every case that the file states."""
    with sentences():
        cases = read_named(word, changes)
    tasks, wrong = [], []
    for case in cases:
        try:
            with sentences():
                tasks.append(Task(case, case.problem()))
        except Complaint as complaint:
            wrong.append(complaint)
    if wrong:
        # What all cases of a sweep have wrong is said once.
        lines = dict.fromkeys(complaint.message for complaint in wrong)
        raise type(wrong[0])("\n".join(lines))
    return tasks


def task(word: str, changes: Changes) -> Task:
    """The only case of a file."""
    with sentences():
        case = only(read_named(word, changes))
        return Task(case, case.problem())


def open_store(folder: Path | None) -> Store | None:
    """The store in this folder, which is made if need be."""
    if folder is None:
        return None
    try:
        store = Store(folder)
        other = store.other_version(__version__)
    except OSError as error:
        raise Complaint(f"cannot keep results in {folder}: {error.strerror}") from None
    if other:
        say(
            f"{folder} holds results of deqcheck {other}, which are computed anew: remove the "
            "folder, or name another one"
        )
    return store


@contextmanager
def sentences() -> Iterator[None]:
    """Errors of the other rooms as complaints."""
    try:
        yield
    except CaseError as error:
        raise Complaint(str(error)) from None
    except (UsageError, EngineError) as error:
        raise Complaint(f"deqcheck: {error}") from None
    except NoEquilibrium as error:
        raise NumericalComplaint(f"deqcheck: no equilibrium: {error}") from None
    except OutOfRange as error:
        raise NumericalComplaint(f"deqcheck: out of range: {error}") from None
