"""The certificate of a report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deqcheck import __version__, verifier
from deqcheck.judging.question import Question
from deqcheck.kinds import Model
from deqcheck.models.opteq.entries import named
from deqcheck.models.problem import AnyProblem, Params
from deqcheck.records.judged import Judged
from deqcheck.records.report import Report
from deqcheck.records.tower.recorder import Recorder, rational_rows, recording
from deqcheck.records.verdict import Verdict
from deqcheck.registry import kinds

# Of a check that carries nothing with it.
UNTOLD: Mapping[str, Any] = {"leaves": {}, "left": None, "right": None}


def certified(
    judge: Callable[..., Report], p: AnyProblem, question: Question, **how: Any
) -> tuple[Report, dict[str, Any]]:
    """The report that `judge` makes of the problem, in exact numbers, and its certificate."""
    table = Recorder(arrays_of(p))
    with recording(table):
        report = judge(p, question, **how)
    found = sealed(_body(p, report, table))
    return replace(report, certificate=found["sha256"]), found


def arrays_of(p: AnyProblem) -> Params:
    return {**p.data, **p.theta0}


def text(certificate: Mapping[str, Any]) -> str:
    return json.dumps(certificate, indent=1, sort_keys=True, allow_nan=False) + "\n"


def sealed(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": verifier.SCHEMA, "sha256": verifier.digest(body), "body": body}


def _body(p: AnyProblem, report: Report, table: Recorder) -> dict[str, Any]:
    stated = _stated(p, report)
    # Of a case whose files are written out nobody else could tell the digest.
    digest = report.digest if stated == report.resolved else ""
    found = {
        "deqcheck": __version__,
        "case": {"name": report.name, "digest": digest, "stated": stated},
        "instance": {
            "model": p.model.kind,
            "loss": p.loss,
            "numbers": _numbers(p, report),
            "sizes": _sizes(p),
            "activation": _activation(p),
            "arrays": {name: rational_rows(a) for name, a in arrays_of(p).items()},
        },
        "rows": table.table(),
        "descent": table.descent,
        "verdicts": [_verdict(v) for v in report.verdicts if v.outcome is not None],
    }
    # As it will be read: lists for tuples.
    read: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    return read


def _numbers(p: AnyProblem, report: Report) -> dict[str, str]:
    """The fields of the model, what they say of it, and the step."""
    stated = {**report.resolved.get("model", {}), **p.model.facts, "step": p.step}
    exact = {name: x for name, x in stated.items() if isinstance(x, float | int)}
    return {name: str(Fraction(x)) for name, x in exact.items() if math.isfinite(x)}


def _activation(p: AnyProblem) -> dict[str, Any] | None:
    """That of the model, if its fields name one."""
    s = getattr(p.model, "s", None)
    return None if s is None else named(s)


def _sizes(p: AnyProblem) -> dict[str, tuple[str, int]]:
    """What each letter in the shapes of the model's arrays counts: an array, and its axis."""
    model = getattr(p.model, "fields", kinds(Model)[p.model.kind])
    found: dict[str, tuple[str, int]] = {}
    for name, letters in {**model.data_arrays, **_mapping(model.parameters)}.items():
        for axis, letter in enumerate(letters):
            if name in arrays_of(p):
                found.setdefault(letter, (name, axis))
    return found


def _mapping(x: Any) -> Mapping[str, tuple[str, ...]]:
    """Where the parameters depend on the fields, a class has no list of them."""
    return x if isinstance(x, Mapping) else {}


def _stated(p: AnyProblem, report: Report) -> dict[str, Any]:
    """The case without files: their arrays are written out."""
    stated = dict(report.resolved)
    if any("path" in stated.get(key, {}) for key in ("data", "init")):
        beside = kinds(Model)[p.model.kind].optional
        kept = {name: a for name, a in p.data.items() if name in beside}
        data = {name: a for name, a in p.data.items() if name not in beside}
        groups = {"data": data, "init": {**p.theta0, **kept}}
        stated["rescale"] = {}
        for key, arrays in groups.items():
            values = {name: a.tolist() for name, a in arrays.items()}
            stated[key] = {"kind": "values", **values}
    return stated


def _verdict(v: Verdict) -> dict[str, Any]:
    return {
        "id": v.id,
        "edition": v.edition,
        "number": v.number,
        "outcome": str(v.outcome),
        "constants": {
            name: str(Fraction(x)) for name, x in v.constants.items() if math.isfinite(x)
        },
        "hypotheses": _claims(v.hypotheses),
        "conclusions": _claims(v.conclusions),
    }


def _claims(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "equation": each.equation,
            "formula": each.formula,
            "decision": str(each.decision),
            "basis": str(each.basis),
            **(each.proof or UNTOLD),
        }
        for each in judged
    ]
