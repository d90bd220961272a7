"""What the gate knows about each case, and about all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deqcheck.engines import Reply
from deqcheck.records.expectations import Expectations


class GateError(Exception):
    """The gate cannot be held as asked; the text is one sentence for each reason."""


class NoCase(GateError):
    """There is nothing to run."""


@dataclass(frozen=True)
class Result:
    """A reply together with the case it belongs to."""

    id: str
    path: str
    reply: Reply
    title: str = ""
    expect: Expectations = field(default_factory=Expectations)
    # The command that does it again.
    replay: str = ""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while the cases ran; what was known until then."""

    def __init__(self, results: list[Result], unfinished: tuple[str, ...]):
        super().__init__()
        self.results = results
        # The ids of the cases without a result.
        self.unfinished = unfinished


@dataclass(frozen=True)
class Change:
    """One deviation from the baseline; `what` says which number or word."""

    statement: str
    check: str
    what: str
    before: Any
    after: Any
    direction: str = "changed"
    # Something new is told but does not fail the gate.
    fails: bool = True

    @property
    def sentence(self) -> str:
        place = ": ".join(part for part in (self.statement, self.check) if part)
        place = f"{place}: " if place else ""
        if self.direction in ("new", "missing"):
            return f"{place}{self.what} {self.direction} compared with the baseline"
        return f"{place}{self.what} {self.direction}: {_told(self.before)} -> {_told(self.after)}"


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    result: Result
    exit_code: int
    word: str
    # Expectations that were missed and whatever else went wrong.
    sentences: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def troubles(self) -> tuple[str, ...]:
        return (*self.sentences, *(c.sentence for c in self.changes if c.fails))

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self.notes, *(c.sentence for c in self.changes if not c.fails))

    @property
    def statements(self) -> list[Mapping[str, Any]]:
        facts = self.result.reply.facts
        return [] if facts is None else list(facts["statements"])


@dataclass(frozen=True)
class Gate:
    """The whole report."""

    rows: tuple[Row, ...]
    environment: Mapping[str, Any]
    exit_code: int
    skipped: tuple[str, ...] = ()
    baseline: str | None = None
    # Cases of the baseline that were not found.
    missing: tuple[str, ...] = ()
    seconds: float = 0.0
    # Cases that were still to be run when the gate was interrupted.
    unfinished: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        return bool(self.unfinished)

    def count(self) -> dict[str, int]:
        """How many cases by word, ok first."""
        words = sorted({row.word for row in self.rows}, key=lambda word: (word != "ok", word))
        return {word: sum(row.word == word for row in self.rows) for word in words}


def label(statement: Mapping[str, Any]) -> str:
    return f"{statement['id']} ({statement['edition']})"


def _told(value: Any) -> str:
    if value is None:
        return "unknown"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
