"""Numbers read back from the facts of a case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome, Report, Status, Verdict

Entry = Mapping[str, Any]
STATUSES = {status.word: status for status in Status}


def side(entry: Entry) -> Measured:
    """A measured number as `deqcheck.report.json` writes it."""
    value, error = entry["value"], entry["error"]
    value = float(entry["marker"]) if value is None else value
    return Measured(value, math.inf if error == "inf" else error or 0.0)


def ratio_error(entry: Entry) -> float | None:
    """The radius of `ratio`."""
    if entry["ratio"] is None:
        return None
    left, right = side(entry["left"]), side(entry["right"])
    quotient = left / right if entry["relation"] in (">=", ">") else right / left
    return quotient.error if math.isfinite(quotient.error) else None


def named(judged: list[Entry]) -> Iterator[tuple[str, Entry]]:
    """Each with a name of its own: a check that was made twice is numbered."""
    seen: dict[str, int] = {}
    for entry in judged:
        name = entry["name"]
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} [{seen[name]}]"), entry


def report(facts: Entry, expect: Mapping[str, Any], name: str, title: str) -> Report:
    """As much of the report as an exit code needs, with the expectations of the case."""
    return Report(
        title=title,
        name=name,
        digest=facts["digest"],
        resolved={},
        environment={},
        quantities={},
        verdicts=tuple(_verdict(entry, expect) for entry in facts["statements"]),
        status=STATUSES[facts["status"]],
        expected_status=expect.get("status"),
        notes=tuple(facts["notes"]),
    )


def _verdict(entry: Entry, expect: Mapping[str, Any]) -> Verdict:
    expected = expect.get(entry["id"])
    return Verdict(
        id=entry["id"],
        title=entry["title"],
        edition=entry["edition"],
        outcome=Outcome(entry["outcome"]),
        hypotheses=(),
        number=entry["number"],
        expected=expected.get(entry["edition"]) if isinstance(expected, Mapping) else expected,
    )
