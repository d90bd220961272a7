"""From which size on nothing is formed, and which differences are looked at: counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.gradcheck import STEP
from deqcheck.losses.logistic import Logistic
from deqcheck.models.problem import Problem
from deqcheck.theorems.gao2022 import one_step
from deqcheck.theorems.hieu2022 import derivatives
from deqcheck.theorems.kawaguchi2021 import gradient
from deqcheck.theorems.xie2021 import common, lem15
from tests.opteq_instances import arrays, problem

Builder = Callable[..., Problem]

# Entries of W (3 x 2), U (3 x 5), b (3) of both layers and of W_o (1 x 2).
PARAMETERS = 2 * (6 + 15 + 3) + 2
OUTPUT = {"beta": 0.5, "gamma": 0.1, "regularizer": "output"}
# With 7 samples a state has 14 entries, a layer 21, and U 15; three iterations of two layers.
SIZES = {
    "xie2021/lem11": 21 * 21,
    "xie2021/lem15": 14 * PARAMETERS * 3 * 2,
    "xie2021/eq19": 14 * PARAMETERS * 3 * 2,
    "xie2021/eq20": 21 * 21,
    "xie2021/jacobian": 14 * PARAMETERS,
    "xie2021/lem17": 14 * 5,
    "xie2021/lem18": 14 * PARAMETERS,
    "xie2021/lem19": 14 * PARAMETERS,
}


def refused(statement: str, p: Problem) -> list[str]:
    return list(dq.statements()[statement]().unchecked(p))


@pytest.mark.parametrize(("statement", "entries"), SIZES.items())
def test_the_largest_dense_matrix(
    statement: str, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sam = {"sam": OUTPUT} if statement == "xie2021/lem18" else {}
    p = problem(*arrays(1, 2, 3, 5, 1, 2, 7), alpha=0.5, iterations=3, **sam)
    monkeypatch.setattr(common, "DENSE_LIMIT", entries)
    assert not refused(statement, p)
    monkeypatch.setattr(common, "DENSE_LIMIT", entries - 1)
    (told,) = refused(statement, p)
    assert told.startswith(f"the dense form has {entries} entries, and the limit is {entries - 1}:")


@pytest.mark.parametrize("statement", ["xie2021/lem11", "xie2021/lem15"])
def test_the_jacobian_of_many_samples_is_larger_than_any_derivative(
    statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """120 entries of the states against 21 parameters, in one iteration of one layer."""
    p = problem(*arrays(1, 3, 2, 5, 1, 1, 40), alpha=0.5, iterations=1)
    monkeypatch.setattr(common, "DENSE_LIMIT", 0)
    assert f"has {120 * 120} entries" in refused(statement, p)[0]


def test_the_passes_within_all_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of K L sweeps each goes back through those before it, about (K L)^2/2, m times."""
    p = problem(*arrays(1, 3, 2, 2, 1, 2, 2), alpha=0.5, iterations=4)
    monkeypatch.setattr(lem15, "MOST_PASSES", 96)
    assert not refused("xie2021/lem15", p)
    monkeypatch.setattr(lem15, "MOST_PASSES", 95)
    (told,) = refused("xie2021/lem15", p)
    assert "within 4 sweeps take 96 passes" in told and "the limit is 95" in told


@pytest.mark.parametrize(
    ("n", "N", "d", "most"), [(3, 2, 1, 3 * 9), (2, 5, 1, 2 * 10), (2, 5, 7, 2 * 35)]
)
def test_the_largest_kronecker_factor(n: int, N: int, d: int, most: int) -> None:
    """I_n kron A^T, Z^T kron I_n, X^T kron I_n."""
    state: Any = SimpleNamespace(n=n, N=N, X=np.zeros((d, N)))
    assert derivatives.entries(state) == most


@pytest.mark.parametrize("parameter", ["A", "B"])
def test_outputs_move_by_no_more_than_a_difference_allows(
    delm: Builder, parameter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unit, gamma = 1/2: Z = 2 B = 40 and z = 2 phi = 6; a step h moves B z by 6 h, and by A
    at most gamma |Z| h z/2 = 60 h."""
    p = delm(1, 1, 1, 0.5, loss=Logistic(tau=0.0), Phi=[[3.0]], Y=[[1.0]], A=[[0.0]], B=[[20.0]])
    # The step is as long as the parameter, at least 1.
    moved = STEP * {"A": 60.0, "B": 20.0 * 6.0}[parameter]
    for share, kept in ((1.001, True), (0.999, False)):
        monkeypatch.setattr(gradient, "LONGEST_STEP", share * moved)
        told = refused("kawaguchi2021/gradient", p)
        assert any(f"in {parameter} is" in each for each in told) is not kept


def test_directions_and_steps_have_names(delm: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "DENSE_ORDER", 0)
    judged = dq.judge("kawaguchi2021/gradient", delm(2, 3, 1)).conclusions
    names = [each.note for each in judged if each.name == "along a direction"]
    assert names == ["the gradient", "draw 1", "draw 2", "draw 3", "draw 4"]
    for B, wanted in (([[0.5, 0.2]], "step "), ([[0.0, 0.0]], "G = 0")):
        judged = dq.judge("kawaguchi2021/expansion", delm(2, 3, 1, B=B)).conclusions
        notes = [each.note for each in judged if each.name == "remainder of the inverse"]
        assert notes and all(note.startswith(wanted) for note in notes)


@pytest.mark.parametrize(("steps", "looked_at"), [(2, 2), (5, 3)])
def test_so_many_steps_are_taken_once_more(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch, steps: int, looked_at: int
) -> None:
    monkeypatch.setattr(one_step, "REPLAYED", 3)
    p = implicit()
    judged = dq.judge("gao2022/one-step", p, train={"kind": "gd", "step": 1e-6, "steps": steps})
    curves = [each.curve for each in judged.conclusions]
    assert curves
    for curve in curves:
        assert curve is not None and len(curve.k) == looked_at
        assert all(b - a == 1 for a, b in pairwise(curve.k))
