"""The baseline file, schema `deqcheck-baseline/1`: what came out when it was last agreed upon."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deqcheck.ci.records import GateError, label
from deqcheck.records.facts import Facts, named, ratio_error
from deqcheck.report.json import dumps

SCHEMA = "deqcheck-baseline/1"
# Beside the error bars, numbers may differ by this much without being news.
ALLOWANCE = 1e-4
DIGITS, ERROR_DIGITS = 10, 2
# What a hypothesis has is a margin, what a bound has is a slack.
MEASURE = {"hypotheses": "margin", "conclusions": "slack"}
NUMBERS = (*MEASURE.values(), "rate_tightness")


@dataclass(frozen=True)
class Baseline:
    cases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    allowance: float = ALLOWANCE


def entry(facts: Facts) -> dict[str, Any]:
    """What the baseline keeps of a case."""
    return {
        "digest": facts["digest"],
        "status": facts["status"],
        "statements": {label(s): _statement(s) for s in facts["statements"]},
    }


def _statement(statement: Facts) -> dict[str, Any]:
    kept: dict[str, Any] = {"outcome": statement["outcome"]}
    for part, measure in MEASURE.items():
        kept[part] = {name: _check(e, measure) for name, e in named(statement[part])}
    return kept


def _check(judged: Facts, measure: str) -> dict[str, Any]:
    kept = {"decision": judged["decision"]}
    if judged["rounding"]:
        # How far below the noise a zero lies differs from machine to machine.
        return kept | {"rounding": True}
    kept |= _number(measure, judged["ratio"], ratio_error(judged))
    if judged.get("rate_tightness") is not None:
        kept |= _number("rate_tightness", judged["rate_tightness"], judged["rate_error"])
    return kept


def _number(name: str, value: float | None, error: float | None) -> dict[str, Any]:
    """Nothing without an error bar; the radius is rounded up."""
    if value is None or error is None:
        return {}
    rounded = float(f"{value:.{DIGITS}g}")
    radius = (error + abs(value - rounded)) * (1 + 10.0 ** (1 - ERROR_DIGITS))
    return {name: rounded, f"{name}_error": float(f"{radius:.{ERROR_DIGITS}g}")}


def read(path: Path) -> Baseline:
    """Raises GateError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GateError(f"{path}: no such baseline; --update-baseline makes it") from None
    except OSError as error:
        raise GateError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise GateError(f"{path}: not a baseline: not JSON text") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise GateError(
            f"{path}: its schema is {schema!r}, this deqcheck knows {SCHEMA!r}; "
            "--update-baseline makes it anew"
        )
    fault = _fault(document)
    if fault:
        raise GateError(f"{path}: not a baseline: {fault}")
    return Baseline(document["cases"], float(document["relative_allowance"]))


def text(baseline: Baseline) -> str:
    """Sorted, one value in a line."""
    return dumps(
        {
            "schema": SCHEMA,
            "relative_allowance": baseline.allowance,
            "cases": dict(baseline.cases),
        }
    )


def _fault(document: dict[str, Any]) -> str | None:
    allowance = document.get("relative_allowance")
    if allowance is None or not _is_number(allowance) or not 0 <= allowance < math.inf:
        return "relative_allowance must be a number >= 0"
    if not isinstance(document.get("cases"), dict):
        return "cases must be a mapping"
    for name, case in document["cases"].items():
        if not _sound_case(case):
            return f"the entry of {name!r} is damaged"
    return None


def _sound_case(case: Any) -> bool:
    if not isinstance(case, dict) or not isinstance(case.get("statements"), dict):
        return False
    if not isinstance(case.get("status"), str) or not isinstance(case.get("digest"), str):
        return False
    return all(_sound_statement(statement) for statement in case["statements"].values())


def _sound_statement(statement: Any) -> bool:
    if not isinstance(statement, dict) or not isinstance(statement.get("outcome"), str):
        return False
    return all(
        isinstance(statement.get(part), dict)
        and all(_sound_check(check) for check in statement[part].values())
        for part in MEASURE
    )


def _sound_check(check: Any) -> bool:
    if not isinstance(check, dict) or not isinstance(check.get("decision"), str):
        return False
    present = [name for name in NUMBERS if name in check]
    return all(_is_number(check[n]) and _is_number(check.get(f"{n}_error")) for n in present)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
