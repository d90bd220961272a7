"""Statements that do not come with deqcheck: a mistake in one is told with its place."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from deqcheck.fields import show, unknown
from deqcheck.judging.errors import UsageError
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.arithmetic import FAILURES, OutOfRange
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.judged import Judged
from deqcheck.theorems.base import AnyStatement, Check


def foreign(s: AnyStatement) -> bool:
    return not type(s).__module__.startswith("deqcheck.")


@contextmanager
def authored(s: AnyStatement, p: AnyProblem) -> Iterator[None]:
    """What goes wrong in a statement of ours is a bug, in any other it is its author's mistake."""
    try:
        yield
    except (NoEquilibrium, OutOfRange, UsageError):
        raise
    except Exception as error:
        if not foreign(s) or (isinstance(error, FAILURES) and not _in_own_code(s, error)):
            raise
        raise UsageError(f"{_place(s, error)}: {_sentence(error, p)}") from error


def judged(claims: Iterable[Claim | Curve], method: str) -> list[Judged]:
    """Every claim, judged; an author may have forgotten to yield one."""
    if not isinstance(claims, Iterable):
        raise ValueError(f"{method} returned {show(claims)}; expected claims, each with `yield`")
    found = []
    for claim in claims:
        if isinstance(claim, Check):
            raise ValueError(
                f"{method} yielded the check {claim.name!r} itself; call it with its values"
            )
        if not isinstance(claim, Claim | Curve):
            raise ValueError(
                f"{method} yielded {show(claim)}; expected a claim, made by calling a Check"
            )
        found.append(claim.judge())
    return found


def check_tracks(s: AnyStatement, p: AnyProblem) -> None:
    """What is to be recorded must be something that the model measures. Raises UsageError."""
    if foreign(s):
        for name in (*s.tracks, *s.infima):
            try:
                p.start.measure(name)
            except KeyError:
                raise UsageError(f"{_place(s)}: tracks: {_no_measure(name, p)}") from None


def _place(s: AnyStatement, error: Exception | None = None) -> str:
    """The file, the last line in it that was reached, and the class."""
    cls = type(s)
    try:
        file = inspect.getsourcefile(cls) or cls.__module__
    except (TypeError, OSError):
        file = cls.__module__
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f"{file}{f':{lines[-1]}' if lines else ''}: class {cls.__name__}"


def _in_own_code(s: AnyStatement, error: Exception) -> bool:
    """Whether the last line that was reached is the author's."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename == inspect.getsourcefile(type(s))


def _sentence(error: Exception, p: AnyProblem) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, KeyError) and any(f.name == "measure" for f in frames):
        return _no_measure(str(error.args[0]), p)
    if isinstance(error, KeyError) and "series[" in (frames[-1].line or ""):
        return f"the run has no series {error.args[0]!r}; name it in `tracks`"
    said = " ".join(str(error).split())
    return said if isinstance(error, ValueError) else f"{type(error).__name__}: {said}"


def _no_measure(name: str, p: AnyProblem) -> str:
    return unknown(f"{p.model.kind!r} has no measure", name, p.start.names)
