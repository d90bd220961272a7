"""Numbers read back from the facts of a case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.records.expectations import Expectations
from deqcheck.records.measured import Measured
from deqcheck.records.report import Ending
from deqcheck.records.verdict import Outcome, Status

Facts = Mapping[str, Any]
STATUSES = {status.word: status for status in Status}


def side(entry: Facts) -> Measured:
    """A measured number as `deqcheck.report.json` writes it."""
    value, error = entry["value"], entry["error"]
    value = float(entry["marker"]) if value is None else value
    return Measured(value, math.inf if error == "inf" else error or 0.0)


def ratio_error(entry: Facts) -> float | None:
    """The radius of `ratio`."""
    if entry["ratio"] is None:
        return None
    left, right = side(entry["left"]), side(entry["right"])
    quotient = left / right if entry["relation"] in (">=", ">") else right / left
    return quotient.error if math.isfinite(quotient.error) else None


def named(judged: list[Facts]) -> Iterator[tuple[str, Facts]]:
    """Each with a name of its own: a check that was made twice is numbered."""
    seen: dict[str, int] = {}
    for entry in judged:
        name = entry["name"]
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} [{seen[name]}]"), entry


def outcomes(facts: Facts, expect: Expectations) -> Iterator[tuple[Facts, Outcome, str | None]]:
    """Each statement with what came out and what was expected."""
    for entry in facts["statements"]:
        yield entry, Outcome(entry["outcome"]), expect.of(entry["id"], entry["edition"])


def ending(facts: Facts, expect: Expectations) -> Ending:
    pairs = tuple((outcome, expected) for _, outcome, expected in outcomes(facts, expect))
    return Ending(STATUSES[facts["status"]], expect.status, pairs)
