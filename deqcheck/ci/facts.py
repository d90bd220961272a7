"""The outcomes in the facts of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.records.expectations import Expectations
from deqcheck.records.report import Ending
from deqcheck.records.verdict import Outcome, Status

Facts = Mapping[str, Any]
STATUSES = {status.word: status for status in Status}


def outcomes(facts: Facts, expect: Expectations) -> Iterator[tuple[Facts, Outcome, str | None]]:
    """Each statement with what came out and what was expected."""
    for entry in facts["statements"]:
        yield entry, Outcome(entry["outcome"]), expect.of(entry["id"], entry["edition"])


def ending(facts: Facts, expect: Expectations) -> Ending:
    pairs = tuple((outcome, expected) for _, outcome, expected in outcomes(facts, expect))
    return Ending(STATUSES[facts["status"]], expect.status, pairs)
