from __future__ import annotations

import pytest

from deqcheck.cli.exit_code import exit_code, status_code
from deqcheck.records.report import Ending
from deqcheck.records.verdict import Outcome, Status

CONFIRMED, REFUTED = Outcome.CONFIRMED, Outcome.REFUTED
NOT_APPLICABLE, UNDECIDED = Outcome.NOT_APPLICABLE, Outcome.UNDECIDED


def ending(*outcomes, status=Status.COMPLETED, expected_status=None):
    """Each outcome alone, or with what was expected."""
    pairs = [pair if isinstance(pair, tuple) else (pair, None) for pair in outcomes]
    return Ending(status, expected_status, tuple(pairs))


ONE = [
    (ending(CONFIRMED), 0),
    (ending(CONFIRMED, NOT_APPLICABLE, UNDECIDED), 0),
    (ending(Outcome.CONSISTENT), 0),
    (ending((CONFIRMED, "confirmed")), 0),
    (ending((CONFIRMED, "refuted")), 1),
    (ending(REFUTED, CONFIRMED), 1),
    (ending(Outcome.INCONSISTENT), 1),
    (ending((REFUTED, "refuted")), 0),
    (ending((REFUTED, "confirmed")), 1),
    (ending((UNDECIDED, "confirmed")), 1),
    (ending(), 3),
    (ending(NOT_APPLICABLE), 3),
    (ending(UNDECIDED, NOT_APPLICABLE), 3),
    (ending((NOT_APPLICABLE, "not applicable")), 0),
    (ending((NOT_APPLICABLE, "not applicable"), UNDECIDED), 3),
    (ending((NOT_APPLICABLE, "not applicable"), (UNDECIDED, "undecided")), 0),
    (ending(UNDECIDED, status=Status.DIVERGED), 4),
    (ending(REFUTED, status=Status.INTEGRATOR_FAILED), 4),
    (ending(status=Status.NO_EQUILIBRIUM), 4),
    (ending(UNDECIDED, status=Status.DIVERGED, expected_status="diverged"), 0),
    (ending(REFUTED, status=Status.DIVERGED, expected_status="diverged"), 1),
    (ending(UNDECIDED, status=Status.DIVERGED, expected_status="no-equilibrium"), 4),
    (ending(CONFIRMED, expected_status="completed"), 0),
    (ending(CONFIRMED, expected_status="diverged"), 1),
    (ending(UNDECIDED, expected_status="completed"), 3),
    (ending(CONFIRMED, status=Status.INTERRUPTED), 130),
    (ending(REFUTED, status=Status.INTERRUPTED), 130),
]


@pytest.mark.parametrize(("given", "code"), ONE)
def test_one_ending(given, code):
    assert exit_code([given]) == code


def test_the_gravest_of_several_counts():
    by_gravity = [
        ending(CONFIRMED),
        ending(UNDECIDED),
        ending(REFUTED),
        ending(status=Status.DIVERGED),
        ending(status=Status.INTERRUPTED),
    ]
    codes = [exit_code(by_gravity[: n + 1]) for n in range(len(by_gravity))]
    assert codes == [0, 3, 1, 4, 130]


def test_before_training_only_the_status_counts():
    assert status_code([ending(None)]) == 0
    assert status_code([ending(None), ending(status=Status.NO_EQUILIBRIUM)]) == 4
