"""The exit code of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deqcheck.cli.errors import (
    BUG,
    FAILED,
    INTERRUPTED,
    NOTHING_DECIDED,
    NUMERICAL,
    OK,
    USAGE,
)
from deqcheck.records.verdict import Outcome, Report, Status, Verdict

PRECEDENCE = (INTERRUPTED, BUG, USAGE, NUMERICAL, FAILED, NOTHING_DECIDED, OK)
BROKEN = set(Status) - {Status.COMPLETED, Status.INTERRUPTED}
NEGATIVE = {Outcome.REFUTED, Outcome.INCONSISTENT}
OPEN = {Outcome.NOT_APPLICABLE, Outcome.UNDECIDED, None}


def exit_code(reports: Sequence[Report]) -> int:
    """The gravest code of the reports."""
    return gravest(_judged(report) for report in reports)


def status_code(reports: Sequence[Report]) -> int:
    """For what judges nothing: how the numerics fared."""
    return gravest(_status(report) for report in reports)


def gravest(codes: Iterable[int]) -> int:
    return min(codes, key=PRECEDENCE.index, default=OK)


def _judged(report: Report) -> int:
    codes = [_status(report), *(_verdict(verdict) for verdict in report.verdicts)]
    if _nothing_decided(report):
        codes.append(NOTHING_DECIDED)
    return gravest(codes)


def _status(report: Report) -> int:
    if report.status is Status.INTERRUPTED:
        return INTERRUPTED
    if report.expected_status == report.status.word:
        return OK
    if report.status in BROKEN:
        return NUMERICAL
    return OK if report.expected_status is None else FAILED


def _verdict(verdict: Verdict) -> int:
    refuted = verdict.outcome in NEGATIVE and verdict.met is None
    return FAILED if refuted or verdict.met is False else OK


def _nothing_decided(report: Report) -> bool:
    """Nothing decided, unless the case expected just that, or the run to break off."""
    if any(verdict.outcome not in OPEN for verdict in report.verdicts):
        return False
    if report.status in BROKEN and report.expected_status == report.status.word:
        return False
    return not report.verdicts or not all(verdict.met for verdict in report.verdicts)
