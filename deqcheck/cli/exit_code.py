"""The exit code of a run."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.cli.errors import (
    BUG,
    FAILED,
    INTERRUPTED,
    NOTHING_DECIDED,
    NUMERICAL,
    OK,
    USAGE,
)
from deqcheck.records.report import Ending
from deqcheck.records.verdict import Outcome, Status

PRECEDENCE = (INTERRUPTED, BUG, USAGE, NUMERICAL, FAILED, NOTHING_DECIDED, OK)
BROKEN = set(Status) - {Status.COMPLETED, Status.INTERRUPTED}


def exit_code(endings: Iterable[Ending]) -> int:
    """The gravest code of these endings."""
    return gravest(_judged(ending) for ending in endings)


def status_code(endings: Iterable[Ending]) -> int:
    """For what judges nothing: how the numerics fared."""
    return gravest(_status(ending) for ending in endings)


def gravest(codes: Iterable[int]) -> int:
    return min(codes, key=PRECEDENCE.index, default=OK)


def _judged(ending: Ending) -> int:
    codes = [_status(ending), *(_outcome(*pair) for pair in ending.outcomes)]
    if _nothing_decided(ending):
        codes.append(NOTHING_DECIDED)
    return gravest(codes)


def _status(ending: Ending) -> int:
    if ending.status is Status.INTERRUPTED:
        return INTERRUPTED
    if ending.expected_status == ending.status.word:
        return OK
    if ending.status in BROKEN:
        return NUMERICAL
    return OK if ending.expected_status is None else FAILED


def _outcome(outcome: Outcome | None, expected: str | None) -> int:
    if outcome is None or outcome == expected:
        return OK
    return FAILED if expected is not None or outcome.negative else OK


def _nothing_decided(ending: Ending) -> bool:
    """Nothing decided, unless the case expected just that, or the run to break off, or no more than
    that it completes."""
    if any(outcome is not None and not outcome.open for outcome, _ in ending.outcomes):
        return False
    if ending.expected_status == ending.status.word and (
        ending.status in BROKEN or not ending.outcomes
    ):
        return False
    return not ending.outcomes or not all(_met(*pair) for pair in ending.outcomes)


def _met(outcome: Outcome | None, expected: str | None) -> bool:
    return outcome is not None and outcome == expected
