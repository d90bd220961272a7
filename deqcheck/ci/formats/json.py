"""JSON, schema `deqcheck-ci/1`: sorted, finite; everything that is timed is called `seconds`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from deqcheck.ci.facts import outcomes
from deqcheck.ci.records import Gate, Row
from deqcheck.report.json import dumps
from deqcheck.report.parts.render_options import RenderOptions

SCHEMA = "deqcheck-ci/1"


def render(gate: Gate, options: RenderOptions) -> str:
    return dumps(
        {
            "schema": SCHEMA,
            "environment": dict(gate.environment),
            "exit_code": gate.exit_code,
            "partial": gate.partial,
            "summary": {
                "cases": len(gate.rows),
                **gate.count(),
                "missing": len(gate.missing),
                "unfinished": len(gate.unfinished),
            },
            "baseline": gate.baseline,
            "missing": list(gate.missing),
            "skipped": list(gate.skipped),
            "unfinished": list(gate.unfinished),
            "seconds": round(gate.seconds, 3),
            "cases": [_case(row) for row in gate.rows],
        }
    )


def _case(row: Row) -> dict[str, Any]:
    result, facts = row.result, row.result.reply.facts
    return {
        "id": result.id,
        "path": result.path,
        "title": result.title,
        "result": row.word,
        "exit_code": row.exit_code,
        "digest": facts["digest"] if facts else None,
        "status": facts["status"] if facts else None,
        "sentences": list(row.sentences),
        "changes": [asdict(change) | {"sentence": change.sentence} for change in row.changes],
        "notes": list(row.notes),
        "replay": result.replay,
        "seconds": result.reply.seconds,
        "statements": _statements(row),
    }


def _statements(row: Row) -> list[dict[str, Any]]:
    result = row.result
    if result.reply.facts is None:
        return []
    return [
        dict(entry) | {"expected": expected, "met": expected and expected == outcome}
        for entry, outcome, expected in outcomes(result.reply.facts, result.expect)
    ]
