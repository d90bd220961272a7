"""CSV, tidy, one of three tables: a row for each hypothesis and conclusion (before training also
for each quantity), for each verdict, or for each recorded step."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.verdict import Verdict
from deqcheck.report.parts.entries import entry_told
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock, reason
from deqcheck.report.parts.steps import steps_of
from deqcheck.report.parts.visible import visible

# Outcomes that need no reason.
SETTLED = ("confirmed", "consistent", "met", "hypotheses hold")
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


VERDICTS = (
    "case",
    "status",
    "id",
    "edition",
    "outcome",
    "expected",
    "number",
    "title",
    "certified",
    "reason",
)
STEPS = ("case", "k", "t")


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    text = io.StringIO()
    if options.table == "trajectory":
        rows = [{"case": r.name} | step for r in reports for step in steps_of(r)]
        columns = tuple(dict.fromkeys((*STEPS, *(name for row in rows for name in row))))
    elif options.table == "verdicts":
        rows, columns = [_verdict(r, v, options) for r in reports for v in r.verdicts], VERDICTS
    else:
        rows, columns = [row for report in reports for row in _rows(report)], COLUMNS
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    # A table is often looked at in a terminal.
    writer.writerows(
        {name: visible(x) if isinstance(x, str) else x for name, x in row.items()} for row in rows
    )
    return text.getvalue()


def _verdict(report: Report, verdict: Verdict, options: RenderOptions) -> dict[str, Any]:
    return {
        "case": report.name,
        "status": report.status.word,
        "id": verdict.id,
        "edition": verdict.edition,
        "outcome": verdict.word,
        "expected": verdict.expected,
        "number": verdict.number,
        "title": verdict.title,
        "certified": verdict.certified,
        "reason": reason(verdict, options) if verdict.word not in SETTLED else "",
    }


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
    for limit in verdict.unchecked:
        yield head | {"part": "not checked", "name": limit}


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
