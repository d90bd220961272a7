"""What a search for counterexamples found, or how far it got."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Verdict

SCHEMA = "deqcheck-falsify/1"
# With fewer instances on which the hypotheses held, nothing was searched.
ENOUGH = 50
# Exit codes: a counterexample, none, none and too few instances to speak of a search.
FOUND, NOT_FOUND, NOTHING_SEARCHED = 1, 0, 3


@dataclass(frozen=True, repr=False)
class Counterexample:
    """An instance that refutes a statement, as a case with what it expects."""

    case: Mapping[str, Any]
    # The same as a file has it.
    text: str
    verdict: Verdict
    # The conclusion that fails, and by how much: between -1 and 0, relative to its sides.
    claim: Judged
    margin: float
    # How many numbers its arrays have.
    entries: int
    # What it means for the other edition.
    others: Mapping[str, str]
    # By what other route it was found again.
    confirmed_by: str

    def __repr__(self) -> str:
        return f"<Counterexample of {self.entries} numbers to {self.verdict.id}: {self.claim!r}>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "claim": self.claim.name,
            "formula": self.claim.formula,
            "left": _side(self.claim.left),
            "relation": self.claim.relation,
            "right": _side(self.claim.right),
            "slack": self.margin,
            "numbers": self.entries,
            "confirmed_by": self.confirmed_by,
            "others": dict(self.others),
            "case": dict(self.case),
        }


def _side(side: Measured) -> dict[str, float | None]:
    value, error = float(side.value), float(side.error)
    return {
        "value": value if math.isfinite(value) else None,
        "error": error if math.isfinite(error) else None,
    }


@dataclass(frozen=True)
class Tight:
    """A claim that was never violated: how near it came, and where."""

    claim: str
    slack: float
    case: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"claim": self.claim, "slack": self.slack, "case": dict(self.case)}


@dataclass(frozen=True, repr=False)
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
    # If asked for, the simplest one for each claim that is violated.
    each: tuple[Counterexample, ...] = ()
    tightest: tuple[Tight, ...] = ()
    # Of the instance that came nearest to meeting the hypotheses: those that fail, and by how much.
    conflicting: tuple[str, ...] = ()
    short: float | None = None
    # An instance that meets every hypothesis.
    met: Mapping[str, Any] | None = None
    # Whether only that was asked for.
    only_feasible: bool = False
    # Refutations that another route did not find again.
    withdrawn: int = 0

    def __repr__(self) -> str:
        found = "counterexample" if self.found else "not refuted"
        tried = f"{self.evaluations} tried, {self.feasible} feasible"
        return f"<Falsified {self.id} ({self.edition}): {found}, {tried}>"

    @property
    def found(self) -> bool:
        return self.simplest is not None

    @property
    def searched(self) -> bool:
        """Whether enough instances met the hypotheses to speak of a search."""
        return self.feasible >= ENOUGH

    @property
    def code(self) -> int:
        """The exit code of the command."""
        if self.only_feasible:
            return NOT_FOUND if self.met is not None else NOTHING_SEARCHED
        if self.found:
            return FOUND
        return NOT_FOUND if self.searched else NOTHING_SEARCHED

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it: schema/deqcheck-falsify-1.json."""
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
            "claim": best and best.claim.name,
            "slack": best and best.margin,
            "case": best and dict(best.case),
            "simplest": best and best.to_dict(),
            "worst": self.worst and self.worst.to_dict(),
            "each": [one.to_dict() for one in self.each],
            "tightest": [tight.to_dict() for tight in self.tightest],
            "conflicting": list(self.conflicting),
            "short": self.short,
            "met": self.met and dict(self.met),
            "withdrawn": self.withdrawn,
        }
