"""What a build made, or took over, before its pages are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from deqcheck.case import evidence
from deqcheck.case.evidence import Found
from deqcheck.records.figure import Picture


class Drawn(NamedTuple):
    picture: Picture
    png: bytes


@dataclass(frozen=True)
class Built:
    # What came of each case, like an entry of the baseline; of a sweep, of each member.
    cases: Mapping[str, Any] = field(default_factory=dict)
    figures: Sequence[Drawn] = ()
    # Why a case that was run has no outcomes.
    failures: Mapping[str, str] = field(default_factory=dict)
    # What every page has to say of its numbers, where they are not of this build.
    warning: str = ""

    @cached_property
    def evidence(self) -> Found:
        return evidence.gathered(self.cases)

    @property
    def about(self) -> str:
        if self.warning:
            return self.warning
        return (
            f"The outcomes are those of {len(self.cases)} cases that this build ran; it made "
            f"{len(self.figures)} figures of the papers."
        )


def from_baseline() -> Built:
    """Nothing is run."""
    return Built(
        evidence.baseline(),
        warning="A quick build: nothing was run. The outcomes of cases are those of the baseline "
        "that comes with deqcheck, and the figures of the papers were not made.",
    )
