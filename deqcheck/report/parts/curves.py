"""The curves of a report: which bounds are on the loss, and their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deqcheck.records.judged import CurveFacts, Judged
from deqcheck.records.report import Report
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.records.words import PRINTED


class Bound(NamedTuple):
    """`key` is the statement's id; the printed edition beside another one is `id@printed`."""

    key: str
    verdict: Verdict
    judged: Judged
    facts: CurveFacts


def bounds(report: Report) -> Iterator[Bound]:
    times = Counter(verdict.id for verdict in report.verdicts)
    for verdict in report.verdicts:
        beside = times[verdict.id] > 1 and verdict.edition == PRINTED
        key = f"{verdict.id}@printed" if beside else verdict.id
        for judged in verdict.conclusions:
            if judged.curve is not None:
                yield Bound(key, verdict, judged, judged.curve)


def relative_bound(bound: Bound) -> np.ndarray | None:
    """The bound in units of the first gap, if it is a bound on the gap and is claimed at all."""
    if bound.verdict.outcome is Outcome.NOT_APPLICABLE or not bound.facts.decays:
        return None
    return np.asarray(bound.facts.bound.value)
