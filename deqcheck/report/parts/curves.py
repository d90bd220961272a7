"""The curves of a report: which bounds speak of the loss, and under which name they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deqcheck.records.claim import CurveFacts, Judged
from deqcheck.records.verdict import Outcome, Report, Track, Verdict

# A bound speaks of the gap if its left side is the gap, up to rounding, where it was decided.
SAME = 1e-9


class Bound(NamedTuple):
    """`key` is the statement's id; the printed edition beside another one is `id@printed`."""

    key: str
    verdict: Verdict
    judged: Judged
    facts: CurveFacts


def bounds(report: Report) -> Iterator[Bound]:
    times = Counter(verdict.id for verdict in report.verdicts)
    for verdict in report.verdicts:
        beside = times[verdict.id] > 1 and verdict.edition == "printed"
        key = f"{verdict.id}@printed" if beside else verdict.id
        for judged in verdict.conclusions:
            if judged.curve is not None:
                yield Bound(key, verdict, judged, judged.curve)


def relative_bound(bound: Bound, track: Track) -> np.ndarray | None:
    """The bound in units of the first gap, if it is a bound on the gap and is claimed at all."""
    if bound.verdict.outcome is Outcome.NOT_APPLICABLE:
        return None
    start = float(track.gap.value[0])
    at = _decisive(bound.facts, track)
    if at is None or bound.judged.relation not in ("<=", "<"):
        return None
    gap, left = float(track.gap.value[at]), bound.judged.left.value
    if np.isclose(left, gap, rtol=SAME, atol=0):
        return np.asarray(bound.facts.bound.value) / start
    if np.isclose(left, gap / start, rtol=SAME, atol=0):
        return np.asarray(bound.facts.bound.value)
    return None


def _decisive(facts: CurveFacts, track: Track) -> int | None:
    point = facts.first_violation or facts.tightest
    if point is None:
        return None
    found = np.flatnonzero((track.k == point.k) & (track.t == point.t))
    return int(found[0]) if len(found) else None
