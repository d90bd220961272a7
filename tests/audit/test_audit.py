"""The audit finds what is wrong, and only that."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import deqcheck as dq
from deqcheck.models.problem import AnyProblem
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, measured, vanishing
from deqcheck.records.tower import rational
from tests.shipped import stated

from .__main__ import Audit, accepted, audited, watching

pytest.importorskip("flint")


def seen(claim: Claim) -> Audit:
    audit = Audit()
    audit.look_at(claim)
    return audit


def test_a_decision_that_exact_numbers_contradict_is_told() -> None:
    wrong = Measured(3.0, 0.5, again=rational(1))
    told = seen(Claim("c", wrong, "<=", measured(2))).wrong
    assert len(told) == 2
    assert "violated in doubles, holds exactly (rational)" in told[0]
    assert "left: 1.0 is outside 3.0 +- 0.5" in told[1]


def test_a_bar_that_misses_the_number_is_told_although_the_decision_is_right() -> None:
    wrong = Measured(1.5, 0.25, again=rational(1))
    assert len(seen(Claim("c", wrong, "<=", measured(2))).wrong) == 1


def test_what_is_right_or_open_is_not_told() -> None:
    right = Claim("c", given(0.1) * 3, "<=", measured(1))
    assert seen(right).compared.total() == 1
    assert not seen(right).wrong
    assert seen(Claim("c", Measured(1.0), "<=", measured(2))).without.total() == 1
    noise = Claim("c", Measured(1e-17, again=rational(0)), "<=", vanishing(1e-9), formula="noise")
    assert not seen(noise).wrong


# How many decisions can be compared at least, and seeds of instances that take little time.
DRAWN = {
    "relu-deq": (40, (10_001, 10_003, 10_004)),
    "implicit-relu": (90, (10_000, 10_005)),
    "delm": (40, range(10_000, 10_005)),
    "monotone-deq": (130, (10_002, 10_003, 10_004)),
    "opteq": (110, (10_001, 10_003, 10_004)),
}


@pytest.mark.parametrize(
    ("model", "seed"), [(model, seed) for model, (_, seeds) in DRAWN.items() for seed in seeds]
)
def test_instances_whose_decisions_and_bars_are_right(model: str, seed: int) -> None:
    audit = audited({"drawn": lambda: accepted(model, seed)})
    least, _ = DRAWN[model]
    assert audit.compared.total() > least
    assert not audit.wrong


def test_identities_have_bars_that_hold_the_error_of_their_state() -> None:
    """Both sides of them are made of the same one, so that it does not part them."""
    case = stated()["hieu2022/flow-early-convergence"]
    only = ["hieu2022/eq2.4", "hieu2022/lem3.2.3", "hieu2022/eq2.13"]
    audit = Audit()
    with watching(audit):
        dq.run(replace(case.problem(), train=None), only=only, edition="both")
    assert audit.compared.total() > 15
    assert not audit.wrong


def test_what_two_sides_share_belongs_to_their_bars_and_does_not_part_them() -> None:
    near = [Measured(x, 1e-13) for x in (1.0, 1.0 + 1e-13, 1.0 + 1e-9)]
    for shared, decisions in (
        (0.0, ("holds", "violated")),
        (1e-8, ("holds", "holds")),
        (1e-4, ("holds", "undecided")),
    ):
        claims = [Claim("c", near[0], "==", other, shared=shared) for other in near[1:]]
        judged = [claim.judge() for claim in claims]
        assert tuple(j.decision for j in judged) == decisions
        assert [j.left.error for j in judged] == [1e-13 + shared] * 2


def test_a_problem_is_audited_as_it_starts() -> None:
    data = {"Phi": [[1.0, 0.0], [0.5, 2.0]], "Y": [[1.0, -1.0]]}
    init = {"A": [[0.0, 1.0], [0.5, 0.0]], "B": [[1.0, 0.25]]}
    train = {"kind": "gd", "step": 1e-3, "steps": 10}
    audit = audited({"one": lambda: dq.problem("delm", data, init, gamma=0.5, train=train)})
    assert audit.compared.total() > 30
    assert not audit.wrong


def unit_sample() -> AnyProblem:
    """Of length 1 up to rounding."""
    X = [[0.6, 0.8]]
    assert sum(Fraction(x) ** 2 for x in X[0]) != 1
    data, init = {"X": X, "y": [1.0]}, {"W": [[1.0], [0.5]], "A": [[0.5]], "b": [1.0]}
    return dq.problem("implicit-relu", data, init, gamma=0.5)


@pytest.mark.parametrize(
    ("make", "statement", "check"),
    [
        # An eigenvector in doubles is none exactly.
        (
            lambda: accepted("monotone-deq", 10_003),
            "hieu2022/lem2.3.2",
            "strongly monotone, worst pair",
        ),
        (unit_sample, "gao2022/eta-claim", "every sample has length 1"),
    ],
)
def test_what_holds_up_to_rounding_is_not_refuted_by_certifying(
    make: Any, statement: str, check: str
) -> None:
    report = dq.run(make(), only=[statement], edition="both", certify=True)
    found = [
        judged.decision
        for verdict in report.verdicts
        for judged in (*verdict.hypotheses, *verdict.conclusions)
        if judged.name == check
    ]
    assert found == ["holds"]
