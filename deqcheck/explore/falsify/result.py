"""What a search for counterexamples found, or how far it got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deqcheck.records.claim import Judged
from deqcheck.records.verdict import Verdict

SCHEMA = "deqcheck-falsify/1"
# With fewer instances on which the hypotheses held, nothing was searched.
ENOUGH = 50


@dataclass(frozen=True)
class Counterexample:
    """An instance that refutes a statement, as a case with what it expects."""

    case: Mapping[str, Any]
    verdict: Verdict
    # The conclusion that fails, and by how much: between -1 and 0, relative to its sides.
    claim: Judged
    margin: float
    # How many numbers it takes to write it down.
    entries: int
    # What it means for the other edition.
    others: Mapping[str, str]


@dataclass(frozen=True)
class Tight:
    """A claim that was never violated: how near it came, and where."""

    claim: str
    slack: float
    case: Mapping[str, Any]


@dataclass(frozen=True)
class Falsified:
    """Never `confirmed`: what was not refuted was tried so many times."""

    id: str
    edition: str
    evaluations: int
    # How many of the instances met every hypothesis.
    feasible: int
    seconds: float
    # After how many instances, and seconds, the first counterexample was found.
    first: tuple[int, float] | None = None
    # The largest violation, and the simplest instance that keeps half of it.
    worst: Counterexample | None = None
    simplest: Counterexample | None = None
    tightest: tuple[Tight, ...] = ()
    # Of the instance that came nearest to meeting the hypotheses: those that fail, and by how much.
    conflicting: tuple[str, ...] = ()
    short: float | None = None
    # An instance that meets every hypothesis, if one was asked for.
    met: Mapping[str, Any] | None = None

    @property
    def found(self) -> bool:
        return self.worst is not None

    @property
    def searched(self) -> bool:
        """Whether enough instances met the hypotheses to speak of a search."""
        return self.feasible >= ENOUGH

    def to_dict(self) -> dict[str, Any]:
        best = self.simplest
        return {
            "schema": SCHEMA,
            "id": self.id,
            "edition": self.edition,
            "found": self.found,
            "evaluations": self.evaluations,
            "feasible": self.feasible,
            "seconds": self.seconds,
            "first": self.first and {"evaluations": self.first[0], "seconds": self.first[1]},
            "claim": None if best is None else best.claim.name,
            "slack": None if best is None else best.margin,
            "case": None if best is None else dict(best.case),
            "worst": None if self.worst is None else dict(self.worst.case),
            "others": {} if best is None else dict(best.others),
            "tightest": [
                {"claim": t.claim, "slack": t.slack, "case": dict(t.case)} for t in self.tightest
            ],
            "conflicting": list(self.conflicting),
            "met": None if self.met is None else dict(self.met),
        }
