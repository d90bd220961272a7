"""From CASE arguments to problems and reports."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deqcheck.case import Case, CaseError, build_problem, only, read_cases, read_texts
from deqcheck.cli import embedded
from deqcheck.cli.errors import Complaint, NumericalComplaint
from deqcheck.cli.options import Changes
from deqcheck.engine import UsageError
from deqcheck.models.problem import NoEquilibrium, Problem
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.store import Store


class Task(NamedTuple):
    case: Case
    problem: Problem
    # The command that does it again.
    replay: str


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
        cases = _read(word, changes)
    tasks, wrong = [], []
    for case in cases:
        try:
            with sentences():
                tasks.append(_task(word, changes, case))
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
        return _task(word, changes, only(_read(word, changes)))


def _task(word: str, changes: Changes, case: Case) -> Task:
    settings = () if case.member is None else case.member.overrides()
    again = Changes((*changes.settings, *settings), changes.seed)
    replay = shlex.join(["deqcheck", "run", word, *again.arguments()])
    return Task(case, build_problem(case), replay)


def open_store(folder: Path | None) -> Store | None:
    """The store in this folder, which is made if need be."""
    try:
        return None if folder is None else Store(folder)
    except OSError as error:
        raise Complaint(f"deqcheck: {folder}: cannot keep results: {error.strerror}") from None


@contextmanager
def sentences() -> Iterator[None]:
    """Errors of the other rooms as complaints."""
    try:
        yield
    except CaseError as error:
        raise Complaint(str(error)) from None
    except UsageError as error:
        raise Complaint(f"deqcheck: {error}") from None
    except NoEquilibrium as error:
        raise NumericalComplaint(f"deqcheck: no equilibrium: {error}") from None
    except OutOfRange as error:
        raise NumericalComplaint(f"deqcheck: out of range: {error}") from None


def _read(word: str, changes: Changes) -> list[Case]:
    """A file, or else an embedded case of that name."""
    # Not Path.exists: it raises for a name that is too long.
    if os.path.exists(word):
        return read_cases(Path(word), changes.settings, changes.seed)
    found = embedded.find(word)
    if found is None:
        near = difflib.get_close_matches(word, embedded.names(), 1)
        hint = f" (did you mean {near[0]!r}?)" if near else "; `deqcheck cases` lists them"
        raise Complaint(f"{word}: neither a file nor an embedded case{hint}")
    text = found.read_text(encoding="utf-8")
    return read_texts(text, word, found.parent, changes.settings, changes.seed)
