"""JSON, schema `deqcheck-report/2` (schema/deqcheck-report-2.json): sorted, finite, and named.

A measured number is `{"value": v, "error": e}`. `error` is an absolute radius, null where the value
is exact, and the string "inf" where no radius could be had. A value that is not finite is null and
has a `marker`: "inf", "-inf" or "nan". Inside arrays a number that is not finite is null, and an
exact one has the error 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.records.entry import Entry
from deqcheck.records.judged import CurveFacts, Judged, Point
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.series import Series
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status, Verdict
from deqcheck.report.parts.curves import bounds
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.thin import thin

SCHEMA = "deqcheck-report/2"
# Of deqcheck 0.1: one report as it is, several in a list.
OLD, OLD_SEVERAL = "deqcheck-report/1", "deqcheck-reports/1"


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    entries = [entry(report) for report in reports]
    if options.schema > 1:
        return dumps({"schema": SCHEMA, "reports": entries})
    old = [{"schema": OLD, **each} for each in entries]
    return dumps(old[0] if len(old) == 1 else {"schema": OLD_SEVERAL, "reports": old})


def dumps(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return f"{text}\n"


def finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def entry(report: Report) -> dict[str, Any]:
    """One element of `reports`."""
    found: dict[str, Any] = {
        "case": _case(report),
        "environment": plain(report.environment),
        "status": {
            "word": report.status.word,
            "sentence": report.status.value,
            "expected": report.expected_status,
        },
        "partial": report.status is not Status.COMPLETED,
        "notes": list(report.notes),
        "replay": report.replay,
        "seconds": finite(report.seconds),
        "quantities": _quantities(report.quantities),
        "statements": [statement(verdict) for verdict in report.verdicts],
    }
    if report.certificate:
        found["certificate"] = report.certificate
    if report.trajectory is not None:
        found["trajectory"] = _trajectory(report.trajectory) | {"bounds": _bounds(report)}
    if report.companion is not None:
        found["companion"] = _trajectory(report.companion) | {"model": report.companion_name}
    return found


def _case(report: Report) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "title": report.title,
        "name": report.name,
        "digest": report.digest,
        "resolved": plain(report.resolved),
    }
    if report.place is not None:
        entry["sweep"] = {"name": report.place.sweep, "settings": dict(report.place.settings)}
    return entry


def statement(verdict: Verdict) -> dict[str, Any]:
    """One verdict with everything that was judged."""
    entry: dict[str, Any] = {
        "id": verdict.id,
        "edition": verdict.edition,
        "number": verdict.number,
        "title": verdict.title,
        "outcome": None if verdict.outcome is None else verdict.outcome.value,
        "certified": verdict.certified,
        "expected": verdict.expected,
        "met": verdict.met,
        "constants": {name: finite(x) for name, x in verdict.constants.items()},
        "quantities": _quantities(verdict.quantities),
        "notes": list(verdict.notes),
        "erratum": verdict.erratum or None,
        "hypotheses": [judged_of(h) for h in verdict.hypotheses],
    }
    if verdict.outcome is not None:
        entry["conclusions"] = [judged_of(c) for c in verdict.conclusions]
        entry["remarks"] = [judged_of(c) for c in verdict.remarks]
        entry["unchecked"] = list(verdict.unchecked)
    if verdict.entry is not None:
        entry["entry"] = entry_of(verdict.entry)
    return entry


def entry_of(found: Entry) -> dict[str, Any]:
    """Where a statement begins to apply that does not at the start, or what stays broken."""
    told: dict[str, Any] = {
        "k": found.k,
        "looked_at": found.looked_at,
        "points": found.points,
        "reason": found.reason or None,
    }
    if found.found:
        judged = found.verdict
        outcome = None if judged is None or judged.outcome is None else judged.outcome.value
        return told | {
            "t": finite(found.t),
            "loss": None if found.loss is None else measured_of(found.loss),
            "outcome": outcome,
            "hypotheses": [] if judged is None else [judged_of(h) for h in judged.hypotheses],
            "conclusions": [] if judged is None else [judged_of(c) for c in judged.conclusions],
            "quantities": {} if judged is None else _quantities(judged.quantities),
        }
    trend = found.trend
    return told | {
        "blocking": None if found.blocking is None else judged_of(found.blocking),
        "trend": None
        if trend is None
        else {
            "word": trend.word,
            "first": finite(trend.first),
            "last": finite(trend.last),
            "extrapolated_t": finite(trend.at),
        },
    }


def judged_of(judged: Judged) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": judged.name,
        "equation": judged.equation,
        "formula": judged.formula,
        "left": measured_of(judged.left),
        "relation": judged.relation,
        "right": measured_of(judged.right),
        "ratio": finite(judged.ratio),
        "decision": judged.decision.value,
        "caught": finite(judged.caught),
        "rounding": judged.rounding,
        "note": judged.note,
        "basis": {"kind": judged.basis.kind, "by": judged.basis.by},
    }
    if judged.undecided:
        entry["undecided"] = judged.undecided
    return entry if judged.curve is None else entry | _facts(judged.curve)


def _facts(facts: CurveFacts) -> dict[str, Any]:
    return {
        "horizon": facts.horizon,
        "last": facts.last,
        "points": facts.points,
        "horizon_t": finite(facts.horizon_t),
        "last_t": finite(facts.last_t),
        "tightest": _point(facts.tightest),
        "rate_tightness": finite(facts.rate_tightness),
        "rate_error": finite(facts.rate_error),
        "first_violation": _point(facts.first_violation),
    }


def _point(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    return {"k": point.k, "t": finite(point.t), "slack": finite(point.slack)}


def _trajectory(track: Trajectory) -> dict[str, Any]:
    at, loss = thin(len(track.k)), track.loss
    return {
        "steps": int(track.k[-1]) if len(track.k) else 0,
        "k": _array(track.k[at]),
        "t": _array(track.t[at]),
        "loss": _array(loss.value[at]),
        "loss_error": _array(loss.error[at]),
        "gap": _array(track.gap.value[at]),
        "gap_error": _array(track.gap.error[at]),
        "gradient": _array(track.gradient[at]),
        "series": {name: _series(series) for name, series in track.series.items()},
        "events": [{"kind": e.kind, "kink": e.kink, "t": measured_of(e.t)} for e in track.events],
    }


def _series(series: Series) -> dict[str, Any]:
    at = thin(len(series.k))
    return {
        "k": _array(series.k[at]),
        "t": _array(series.t[at]),
        "value": _array(series.value.value[at]),
        "error": _array(series.value.error[at]),
    }


def _bounds(report: Report) -> dict[str, Any]:
    entries: dict[str, dict[str, Any]] = {}
    for key, _, judged, facts in bounds(report):
        at = thin(len(facts.k))
        entries.setdefault(key, {})[judged.name] = {
            "k": _array(facts.k[at]),
            "t": _array(facts.t[at]),
            "value": _array(facts.bound.value[at]),
        }
    return entries


def _quantities(quantities: Mapping[str, Measured]) -> dict[str, Any]:
    return {name: measured_of(m) for name, m in quantities.items()}


def measured_of(m: Measured) -> dict[str, Any]:
    if np.ndim(m.value):
        return {"value": _array(m.value), "error": None if m.exact else _array(m.error)}
    entry: dict[str, Any] = {"value": finite(m.value), "error": None if m.exact else m.error}
    if math.isinf(m.error):
        entry["error"] = "inf"
    if entry["value"] is None:
        entry["marker"] = str(m.value)
    return entry


def _array(values: np.ndarray) -> list[Any]:
    return [x if math.isfinite(x) else None for x in np.asarray(values).tolist()]


def plain(value: Any) -> Any:
    """Mappings, lists and scalars of any library as JSON knows them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
