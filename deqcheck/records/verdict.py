"""How a statement fares on a problem, and how a run ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

from deqcheck.frozen import dataclass
from deqcheck.records.comparison import Decision
from deqcheck.records.entry import Entry
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured


class Outcome(str, Enum):
    """One of a few words; compares equal to its word."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_APPLICABLE = "not applicable"
    UNDECIDED = "undecided"
    # Nothing to judge here, or beyond the limits of this program: never a word about the statement.
    NOT_CHECKED = "not checked"
    # Of claims with a probability or an order, over draws.
    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    # Of conditions, which claim nothing.
    MET = "met"
    NOT_MET = "not met"

    __str__ = str.__str__

    @property
    def negative(self) -> bool:
        """Whether it speaks against the statement."""
        return self in (Outcome.REFUTED, Outcome.INCONSISTENT)

    @property
    def open(self) -> bool:
        """Whether nothing was decided about the statement."""
        return self in (Outcome.NOT_APPLICABLE, Outcome.UNDECIDED, Outcome.NOT_CHECKED)


class Status(Enum):
    """How a run ended; the value is the sentence with the remedy."""

    COMPLETED = "The run completed."
    INTERRUPTED = "The run was interrupted: only the part until then was judged."
    DIVERGED = "The loss left the range of floating-point numbers: try a smaller step."
    INTEGRATOR_FAILED = (
        "The integrator gave up: try a stiff method (Radau), a looser tolerance or a shorter "
        "horizon."
    )
    NO_EQUILIBRIUM = (
        "No equilibrium was found at some step: check the well-posedness conditions of the model."
    )
    NOT_CERTIFIED = (
        "At some step no equilibrium is known to be the only one: the notes tell what is known."
    )

    OUT_OF_RANGE = (
        "Numbers left the range of floating-point arithmetic, so nothing was judged: try other "
        "scales of the data and the initial parameters, or a smaller step."
    )

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", "-")


def outcome_of(
    hypotheses: Sequence[Judged],
    conclusions: Sequence[Judged],
    complete: bool = True,
    unchecked: bool = False,
) -> Outcome:
    """The design's table: an open question anywhere forbids `confirmed`, and so does a part of the
    statement that nobody looked at."""
    if _any(Decision.VIOLATED, hypotheses):
        return Outcome.NOT_APPLICABLE
    if _any(Decision.UNDECIDED, hypotheses):
        return Outcome.UNDECIDED
    if _any(Decision.VIOLATED, conclusions):
        return Outcome.REFUTED
    if not complete or _any(Decision.UNDECIDED, conclusions):
        return Outcome.UNDECIDED
    return Outcome.CONFIRMED if conclusions and not unchecked else Outcome.NOT_CHECKED


def condition_outcome(parts: Sequence[Judged], unchecked: bool = False) -> Outcome:
    """A condition is met if all of it is."""
    if _any(Decision.VIOLATED, parts):
        return Outcome.NOT_MET
    if _any(Decision.UNDECIDED, parts):
        return Outcome.UNDECIDED
    return Outcome.MET if parts and not unchecked else Outcome.NOT_CHECKED


def _any(decision: Decision, judged: Sequence[Judged]) -> bool:
    return any(each.decision is decision for each in judged)


@dataclass(frozen=True, repr=False)
class Verdict:
    """One statement, judged in one edition. `outcome` is None before training."""

    id: str
    title: str
    edition: str
    outcome: Outcome | None
    hypotheses: tuple[Judged, ...]
    conclusions: tuple[Judged, ...] = ()
    # What deqcheck adds to the paper: it takes no part in the outcome.
    remarks: tuple[Judged, ...] = ()
    # The parts of the statement that were not looked at: why, and what would help.
    unchecked: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    quantities: Mapping[str, Measured] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    erratum: str = ""
    expected: str | None = None
    # The number of the statement in its paper.
    number: str = ""
    # What it says, where it is printed, and whether it is sound as printed.
    text: str = ""
    citation: str = ""
    status: str = ""
    # The spectral quantities whose infimum along the run drives the rate.
    drivers: tuple[str, ...] = ()
    # Whether it bounds the loss along a run.
    convergence: bool = False
    # Whether it was judged on a flow, where time counts, not steps.
    flow: bool = False
    # Of a convergence theorem that does not apply at the start: from where on it does.
    entry: Entry | None = None

    def __repr__(self) -> str:
        return f"<Verdict {self.id} ({self.edition}): {self.word}>"

    @property
    def failing(self) -> tuple[Judged, ...]:
        """The hypotheses that fail."""
        return tuple(h for h in self.hypotheses if h.decision is Decision.VIOLATED)

    @property
    def certified(self) -> bool:
        """Whether every check was decided by exact numbers."""
        checks = (*self.hypotheses, *self.conclusions)
        return bool(checks) and all(each.basis.certified for each in checks)

    @property
    def word(self) -> str:
        """The outcome, or what is known of it before training."""
        if self.outcome is not None:
            return self.outcome.value
        if self.failing:
            return Outcome.NOT_APPLICABLE.value
        holds = all(h.decision is Decision.HOLDS for h in self.hypotheses)
        return "hypotheses hold" if holds else "hypotheses open"

    @property
    def met(self) -> bool | None:
        """Whether the expectation was met; None where the case expects nothing."""
        if self.expected is None or self.outcome is None:
            return None
        return self.expected == self.outcome.value

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report writes it."""
        from deqcheck.report.json import statement

        return statement(self)

    def _repr_html_(self) -> str:
        from deqcheck.report.html import fragment

        return fragment([self])
