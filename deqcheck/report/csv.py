"""CSV, tidy: one row for each hypothesis and conclusion; before training also for each quantity."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.records.claim import Judged
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.verdict import Verdict
from deqcheck.report.parts.entries import entry_told
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock

COLUMNS = (
    "case",
    "status",
    "id",
    "edition",
    "outcome",
    "part",
    "name",
    "equation",
    "left",
    "left_error",
    "relation",
    "right",
    "right_error",
    "ratio",
    "decision",
    "horizon",
    "slack",
    "rate_tightness",
    "first_violation_k",
    "first_violation_t",
)


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for report in reports:
        writer.writerows(_rows(report))
    return text.getvalue()


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    case = {"case": report.name, "status": report.status.word}
    if report.trajectory is None:
        yield from (case | row for row in _quantities(report.quantities))
    for verdict in report.verdicts:
        yield from (case | row for row in _statement(verdict))


def _statement(verdict: Verdict) -> Iterator[dict[str, Any]]:
    outcome = verdict.outcome.value if verdict.outcome else ""
    head = {"id": verdict.id, "edition": verdict.edition, "outcome": outcome}
    if verdict.outcome is None:
        yield from (head | row for row in _quantities(verdict.quantities))
    for hypothesis in verdict.hypotheses:
        yield head | {"part": "hypothesis"} | _judged(hypothesis)
    for conclusion in verdict.conclusions:
        yield head | {"part": "conclusion"} | _judged(conclusion)
    for remark in verdict.remarks:
        yield head | {"part": "remark"} | _judged(remark)
    if verdict.entry is not None:
        yield head | {"part": "entry", "name": entry_told(verdict.entry, Clock(verdict.flow))}
    for reason in verdict.unchecked:
        yield head | {"part": "not checked", "name": reason}


def _quantities(quantities: Mapping[str, Measured]) -> Iterator[dict[str, Any]]:
    for name, m in quantities.items():
        yield {"part": "quantity", "name": name} | _side("left", m)


def _judged(judged: Judged) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": judged.name,
        "equation": judged.equation,
        "relation": judged.relation,
        "ratio": judged.ratio,
        "decision": judged.decision.value,
    }
    row |= _side("left", judged.left) | _side("right", judged.right)
    facts = judged.curve
    if facts is not None:
        row["horizon"] = facts.horizon
        row["rate_tightness"] = facts.rate_tightness
        row["slack"] = facts.tightest.slack if facts.tightest else None
        if facts.first_violation is not None:
            row["first_violation_k"] = facts.first_violation.k
            row["first_violation_t"] = facts.first_violation.t
    return row


def _side(name: str, m: Measured) -> dict[str, Any]:
    """A vector, one value for each sample, is joined by spaces."""
    error = "" if m.exact else _text(m.error)
    return {name: _text(m.value), f"{name}_error": error}


def _text(value: Any) -> str:
    return " ".join(map(repr, np.ravel(value).tolist()))
