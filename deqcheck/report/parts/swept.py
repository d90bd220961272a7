"""A sweep as a table: one row for each member, statement and check, with its coordinates.

JSON, schema `deqcheck-sweep/1` (schema/deqcheck-sweep-1.json), has the same numbers by member.
Nothing in a table is timed: the same sweep gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.records.facts import Facts, named, ratio_error
from deqcheck.records.sweep import Sweep, SweptMember
from deqcheck.report.json import dumps, plain

SCHEMA = "deqcheck-sweep/1"
PARTS = {"hypotheses": "hypothesis", "conclusions": "conclusion", "remarks": "remark"}
# After the coordinates.
COLUMNS = (
    "seed",
    "status",
    "id",
    "edition",
    "outcome",
    "part",
    "check",
    "decision",
    "left",
    "left_error",
    "relation",
    "right",
    "right_error",
    "slack",
    "slack_error",
    "rate_tightness",
    "rate_error",
    "loss",
    "loss_error",
    "note",
    "sweep",
    "member",
    "digest",
    "replay",
)


def columns(sweep: Sweep) -> tuple[str, ...]:
    return (*sweep.keys, *COLUMNS)


def rows(sweep: Sweep) -> Iterator[dict[str, Any]]:
    """What is missing is None."""
    names = columns(sweep)
    for member in sweep:
        for row in _rows(member):
            yield {name: row.get(name) for name in names}


def _rows(member: SweptMember) -> Iterator[dict[str, Any]]:
    head = head_of(member)
    found = False
    for statement in member.statements:
        judged = {key: statement[key] for key in ("id", "edition", "outcome")}
        for check in checks_of(statement):
            found = True
            yield head | judged | check
        if not any(statement[part] for part in PARTS):
            found = True
            yield head | judged | {"note": "; ".join(statement["unchecked"])}
    if not found:
        yield head


def head_of(member: SweptMember) -> dict[str, Any]:
    facts = member.facts or {}
    return {
        **{key: coordinate(value) for key, value in member.settings.items()},
        "sweep": member.sweep,
        "seed": member.seed,
        "member": member.position,
        "status": member.status,
        "note": member.sentence or "; ".join(facts.get("notes", ())),
        "digest": member.digest,
        "replay": member.replay,
        **_side("loss", facts.get("loss")),
    }


def checks_of(statement: Facts) -> Iterator[dict[str, Any]]:
    for part, word in PARTS.items():
        for name, judged in named(statement[part]):
            yield {
                "part": word,
                "check": name,
                "decision": judged["decision"],
                "relation": judged["relation"],
                **_side("left", judged["left"]),
                **_side("right", judged["right"]),
                "slack": judged["ratio"],
                "slack_error": ratio_error(judged),
                "rate_tightness": judged.get("rate_tightness"),
                "rate_error": judged.get("rate_error"),
                "note": judged["note"],
            }


def _side(name: str, measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """An exact number has no error bar: 0; where no radius could be had, it is infinite."""
    if measured is None:
        return {name: None, f"{name}_error": None}
    value, error = measured["value"], measured["error"]
    value = float(measured["marker"]) if value is None else value
    return {name: value, f"{name}_error": 0.0 if error is None else float(error)}


def coordinate(value: Any) -> Any:
    """A number or a word; whatever else varies is told in words."""
    return value if isinstance(value, int | float | str) else json.dumps(value)


def as_csv(sweep: Sweep) -> Iterator[str]:
    yield _line(columns(sweep))
    for row in rows(sweep):
        yield _line(tuple("" if value is None else value for value in row.values()))


def _line(cells: tuple[Any, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def as_json(sweep: Sweep) -> Iterator[str]:
    """The document in parts, a member in a line."""
    empty = '"members": []'
    head, _, tail = dumps(_about(sweep) | {"members": []}).partition(empty)
    yield f"{head}{empty[:-1]}"
    for i, member in enumerate(sweep):
        comma = "," if i else ""
        yield f"{comma}\n  {json.dumps(_entry(member), sort_keys=True, allow_nan=False)}"
    yield f"\n ]{tail}"


def document(sweep: Sweep) -> dict[str, Any]:
    return _about(sweep) | {"members": [_entry(member) for member in sweep]}


def _about(sweep: Sweep) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "case": sweep.name,
        "title": sweep.title,
        "environment": plain(sweep.environment),
        "counts": dict(sweep.counts),
        "axes": {
            name: [
                {"keys": list(axis.keys), "scale": axis.scale, "values": plain(axis.values)}
                for axis in axes
            ]
            for name, axes in sweep.axes.items()
        },
    }


def _entry(member: SweptMember) -> dict[str, Any]:
    facts = member.facts or {}
    return {
        "position": member.position,
        "sweep": member.sweep,
        "coordinates": plain(member.settings),
        "seed": member.seed,
        "digest": member.digest,
        "replay": member.replay,
        "end": member.end,
        "status": member.status,
        "sentence": member.sentence,
        "notes": list(facts.get("notes", ())),
        "loss": facts.get("loss"),
        "quantities": dict(facts.get("quantities", {})),
        "statements": [_statement(member, statement) for statement in member.statements],
    }


def _statement(member: SweptMember, statement: Facts) -> dict[str, Any]:
    return {
        "id": statement["id"],
        "edition": statement["edition"],
        "outcome": statement["outcome"],
        "expected": member.expect.of(statement["id"], statement["edition"]),
        "unchecked": list(statement["unchecked"]),
        "checks": [plain(check) for check in checks_of(statement)],
    }
