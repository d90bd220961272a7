"""What a check-up of a trained network found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured


class Posed(Enum):
    """Whether there is exactly one equilibrium for every input."""

    YES = "yes"
    NO = "no"
    OPEN = "not decided"


@dataclass(frozen=True)
class Fact:
    """A number with its name, or words alone."""

    name: str
    value: Measured | None = None
    # The theorem that it is from.
    by: str = ""
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """To one of the five questions: a line of words and numbers, and the facts behind it."""

    question: str
    line: tuple[str | Measured, ...]
    facts: tuple[Fact, ...] = ()

    @property
    def words(self) -> str:
        from deqcheck.report.parts.checked import line

        return line(self)


@dataclass(frozen=True)
class Tried:
    """A theorem on uniqueness: its hypothesis, or why it was not looked at."""

    id: str
    title: str
    judged: Judged | None
    reason: str = ""

    @property
    def word(self) -> str:
        if self.judged is None:
            return "not tried"
        words = {"holds": "proves it", "violated": "fails", "undecided": "undecided"}
        return words[self.judged.decision.value]


@dataclass(frozen=True)
class Sample:
    """One input: inf where something is not known, nan where it was not asked for."""

    # Of the computed equilibrium, and of the point that was given.
    error: float
    residual: float = float("nan")
    distance: float = float("nan")
    kink: float = float("nan")
    predicted: int = 0
    margin: float = float("nan")
    radius: float = float("nan")
    radius_norms: float = float("nan")
    cosine: Measured | None = None


@dataclass(frozen=True)
class TwoEquilibria:
    """For one c both solve z = relu(W z + c); the input with U x + b = c, if there is one."""

    c: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]
    how: str
    input: tuple[float, ...] | None = None


@dataclass(frozen=True, repr=False)
class Checkup:
    """The five answers, the theorems that were tried, and what is known of each sample."""

    name: str
    # units, inputs, outputs, samples.
    sizes: Mapping[str, int]
    activation: str
    weights: str
    posed: Posed
    answers: tuple[Answer, ...]
    tried: tuple[Tried, ...]
    two: TwoEquilibria | None = None
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def proof(self) -> str:
        """The first theorem that proves uniqueness, the cheapest first; empty without one."""
        return next((t.id for t in self.tried if t.word == "proves it"), "")

    def __repr__(self) -> str:
        by = f" by {self.proof}" if self.proof else ""
        return f"<Checkup {self.name}: one equilibrium for every input: {self.posed.value}{by}>"

    def to_dict(self) -> dict[str, Any]:
        from deqcheck.report.parts.checked import document

        return document(self)

    def _repr_html_(self) -> str:
        from deqcheck.report.parts.checked_page import fragment

        return fragment(self)
