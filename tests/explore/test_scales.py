"""Instances of extreme scales that once refuted a corrected edition, where bars had underflowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.explore.falsify.instance import Instance
from deqcheck.judging.doubts import DOUBTED, NOT_EXACTLY
from deqcheck.linalg.certificates import Monotone
from deqcheck.linalg.relu_equilibrium import peaceman_rachford
from deqcheck.records import tower

TINIEST, SMALLEST = 5e-324, 2.0**-1022
FOUND: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        "gao2022/gradient",
        {"kind": "implicit-relu", "gamma": 1.0},
        {"X": [[1e-300]], "y": [0.6]},
        {"W": [[0.4, -0.2]], "A": [[0.1, 0.03], [-0.01, 0.06]], "b": [2.0, 1.0]},
    ),
    (
        "gao2022/gradient",
        {"kind": "implicit-relu", "gamma": 1.0},
        {"X": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], "y": [-1.0, -1.5]},
        {
            "W": [[-1.0, -1.0, 0.0], [-1.0, 0.5, 0.0], [-0.5, 1.0, 2.0]],
            "A": [[-0.41, -0.56, 0.0], [0.28, 0.0, 0.37], [0.0, -0.09, 0.0]],
            "b": [TINIEST, TINIEST, TINIEST],
        },
    ),
    (
        "gao2022/gradient",
        {"kind": "implicit-relu", "gamma": 4.4e-80},
        {"X": [[SMALLEST, SMALLEST]], "y": [-2.0]},
        {"W": [[403.59943812196013], [0.0]], "A": [[0.5]], "b": [0.854698692569582]},
    ),
    (
        "hieu2022/eq2.13",
        {"kind": "monotone-deq", "m": 10.0},
        {"X": [[-0.008, 0.008]], "y": [SMALLEST, SMALLEST]},
        {
            "A": [[-0.0007, -0.0014], [-0.0007, -0.0014]],
            "B": [[-0.34, -0.73], [-0.59, 1.73]],
            "U": [[2.2e14], [1.1e14]],
            "u": [0.0, 0.0],
        },
    ),
    (
        "hieu2022/eq2.13",
        {"kind": "monotone-deq", "m": 0.5},
        {"X": [[-2e250, 2e250]], "y": [-1e-251, 0.0]},
        {"A": [[-1e150]], "B": [[0.9]], "U": [[-3e-101]], "u": [0.0]},
    ),
    (
        "kawaguchi2021/D",
        {"kind": "delm", "gamma": 0.1},
        {"Phi": [[-0.35136002235308345]], "Y": [[-0.5188656524361512]]},
        {"A": [[-0.9999999402445774]], "B": [[8.61579803264283e68]]},
    ),
]


@pytest.mark.parametrize(("id_", "model", "data", "init"), FOUND)
def test_what_is_true_is_not_refuted(
    id_: str, model: dict[str, Any], data: dict[str, Any], init: dict[str, Any]
) -> None:
    arrays = [{n: np.array(a, dtype=float) for n, a in part.items()} for part in (data, init)]
    with np.errstate(all="ignore"):
        problem = Instance(model, *arrays).problem
        assert dq.judge(id_, problem).outcome != "refuted"


@pytest.mark.parametrize("scale", [1.0, 1e70])
def test_doubles_alone_refute_nothing_at_extreme_scales(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(2.13) as printed has lost 1/N: exact numbers say so at every scale."""
    data = {"X": scale * np.eye(2), "y": np.array([1.0, 1.0])}
    init = {"A": np.eye(2), "B": np.zeros((2, 2)), "U": np.eye(2), "u": np.zeros(2)}
    problem = Instance({"kind": "monotone-deq", "m": 1.0}, data, init).problem
    refuted = dq.judge("hieu2022/eq2.13", problem, edition="printed")
    assert refuted.outcome == "refuted"
    monkeypatch.setattr("deqcheck.records.claim.computed_again", lambda *sides: None)
    for certify in (False, True):
        with tower.certifying(certify):
            alone = dq.judge("hieu2022/eq2.13", problem, edition="printed")
        assert (alone.outcome == "refuted") == (scale == 1)
        assert scale == 1 or alone.outcome == "undecided"
        assert scale == 1 or f"{DOUBTED}, and {NOT_EXACTLY}" in alone.notes


def test_subnormal_numbers_are_out_of_range() -> None:
    """Products with 2e-320 keep three digits, and 1e102 makes their errors large again."""
    data = {"X": np.array([[0.7, 0.2]]), "y": np.array([1.0, 2.0])}
    init = {
        "A": np.array([[2e-320]]), "B": np.zeros((1, 1)), "U": np.array([[5e7]]),
        "u": np.array([1e102]),
    }  # fmt: skip
    problem = Instance({"kind": "monotone-deq", "m": 2.0}, data, init).problem
    found = dq.judge("hieu2022/lem3.2.1", problem)
    assert found.outcome == "undecided"
    assert "A has entries below 2.2e-308" in found.notes[0]


def test_a_splitting_whose_system_is_singular_says_no_more_than_that() -> None:
    """Warnings are errors."""
    W, C = -1e20 * np.ones((40, 40)), np.ones((40, 400))
    with np.errstate(all="ignore"):
        found = peaceman_rachford(W, C, Monotone(1.0), 1.0)
    assert not found.error < np.inf


def test_a_norm_next_to_one_leaves_condition_1_open() -> None:
    """Exact numbers show that the map contracts; the other hypotheses are not skipped."""
    data = {"X": np.array([[1.0000000028754132, 0.9999999957156694]]), "y": np.array([4e-4, 1e-3])}
    W = [[-0.2925779802691815, -0.1345632109486414], [0.8421747984465748, 0.43267592428724777]]
    init = {
        "W": np.array(W),
        "U": np.array([[2.8571486014447074], [-1.6417597255010596]]),
        "a": np.array([1.3151313589756182, -0.7915674001273016]),
    }
    train = {"kind": "gd", "step": 0.0135, "steps": 3}
    problem = Instance({"kind": "relu-deq"}, data, init, train).problem
    assert dq.judge("ling2022/thm1", problem).outcome == "undecided"
