from __future__ import annotations

import pytest

from deqcheck.cli.exit_code import exit_code, status_code
from deqcheck.records.verdict import Outcome, Report, Status, Verdict

CONFIRMED, REFUTED = Outcome.CONFIRMED, Outcome.REFUTED
NOT_APPLICABLE, UNDECIDED = Outcome.NOT_APPLICABLE, Outcome.UNDECIDED


def report(*outcomes, status=Status.COMPLETED, expected_status=None):
    """Each outcome alone, or with what was expected."""
    pairs = [pair if isinstance(pair, tuple) else (pair, None) for pair in outcomes]
    verdicts = tuple(Verdict("x", "", "corrected", o, (), expected=e) for o, e in pairs)
    return Report("", "", "", {}, {}, {}, verdicts, status=status, expected_status=expected_status)


ONE_REPORT = [
    (report(CONFIRMED), 0),
    (report(CONFIRMED, NOT_APPLICABLE, UNDECIDED), 0),
    (report(Outcome.CONSISTENT), 0),
    (report((CONFIRMED, "confirmed")), 0),
    (report((CONFIRMED, "refuted")), 1),
    (report(REFUTED, CONFIRMED), 1),
    (report(Outcome.INCONSISTENT), 1),
    (report((REFUTED, "refuted")), 0),
    (report((REFUTED, "confirmed")), 1),
    (report((UNDECIDED, "confirmed")), 1),
    (report(), 3),
    (report(NOT_APPLICABLE), 3),
    (report(UNDECIDED, NOT_APPLICABLE), 3),
    (report((NOT_APPLICABLE, "not applicable")), 0),
    (report((NOT_APPLICABLE, "not applicable"), UNDECIDED), 3),
    (report((NOT_APPLICABLE, "not applicable"), (UNDECIDED, "undecided")), 0),
    (report(UNDECIDED, status=Status.DIVERGED), 4),
    (report(REFUTED, status=Status.INTEGRATOR_FAILED), 4),
    (report(status=Status.NO_EQUILIBRIUM), 4),
    (report(UNDECIDED, status=Status.DIVERGED, expected_status="diverged"), 0),
    (report(REFUTED, status=Status.DIVERGED, expected_status="diverged"), 1),
    (report(UNDECIDED, status=Status.DIVERGED, expected_status="no-equilibrium"), 4),
    (report(CONFIRMED, expected_status="completed"), 0),
    (report(CONFIRMED, expected_status="diverged"), 1),
    (report(UNDECIDED, expected_status="completed"), 3),
    (report(CONFIRMED, status=Status.INTERRUPTED), 130),
    (report(REFUTED, status=Status.INTERRUPTED), 130),
]


@pytest.mark.parametrize(("given", "code"), ONE_REPORT)
def test_one_report(given, code):
    assert exit_code([given]) == code


def test_the_gravest_of_several_counts():
    by_gravity = [
        report(CONFIRMED),
        report(UNDECIDED),
        report(REFUTED),
        report(status=Status.DIVERGED),
        report(status=Status.INTERRUPTED),
    ]
    codes = [exit_code(by_gravity[: n + 1]) for n in range(len(by_gravity))]
    assert codes == [0, 3, 1, 4, 130]


def test_before_training_only_the_status_counts():
    assert status_code([report(None)]) == 0
    assert status_code([report(None), report(status=Status.NO_EQUILIBRIUM)]) == 4
