"""What statements of Kawaguchi are made of, held by numbers that are known."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import judge
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.series import Series
from deqcheck.theorems.kawaguchi2021.divergence import Mode
from deqcheck.theorems.kawaguchi2021.expansion import _sides
from deqcheck.theorems.kawaguchi2021.gd import SMOOTHNESS, curvature
from deqcheck.theorems.kawaguchi2021.hessian import Hessian
from deqcheck.theorems.kawaguchi2021.infima import Infima

Make = Callable[..., Problem]


@pytest.mark.parametrize("turned", [0.1, 0.6, 0.999, 1.001, 1.7, 3.0])
def test_the_inverse_on_the_way_is_bounded_by_what_is_known_there(
    turned: float, delm: Make
) -> None:
    """|V(0)|/(1 - gamma |V(0)| |alpha G|/2) where that is a bound, and sqrt(m)/(1 - gamma)."""
    state = delm(30, 5, 1, 0.9).start
    here, most = np.linalg.norm(np.linalg.inv(state.U), 2), np.sqrt(30) / (1 - 0.9)
    step = np.zeros((30, 30))
    step[1, 2] = 2 * turned / (0.9 * here)
    wanted = min(most, here / (1 - turned)) if turned < 1 else most
    assert _sides(state, step)["inverse"].value == pytest.approx(wanted, rel=1e-9)


def test_the_ball_that_holds_a_minimiser_is_large_enough_for_every_one(delm: Make) -> None:
    """W* = (1, ..., 1) has W* U = (1 - gamma) W*, as the columns of S sum to 1."""
    Phi = np.random.default_rng(1).normal(size=(3, 5))
    found = judge(Infima, delm(3, 5, 1, 0.9, Phi=Phi, Y=Phi.sum(axis=0, keepdims=True)))
    (claim,) = (c for c in found.conclusions if c.name == Infima.covered.name)
    assert claim.decision is Decision.HOLDS


def test_what_an_eigenvector_sees_is_as_unsure_as_its_eigenvalue_is_near_to_others(
    delm: Make,
) -> None:
    """An off-diagonal rounding turns it by the rounding over the gap."""
    gap, rounding = 1e-9, 2e-16
    Phi = [[1.0], [1.0]]
    seen = [
        Mode.of(delm(2, 1, 1, A=[[2.0, 0.0], [off, 2.0 - gap]], Phi=Phi, Y=[[1.0]])).seen
        for off in (0.0, rounding)
    ]
    assert seen[0].error >= rounding / gap
    assert abs(seen[0].value - seen[1].value) <= min(each.error for each in seen)
    assert seen[0].error <= 1e-4


@pytest.mark.parametrize("size", [1.0, 1e10])
def test_differences_of_slopes_round_with_the_labels(size: float, delm: Make) -> None:
    Y = size * np.random.default_rng(1).normal(size=(2, 9))
    assert judge(Hessian, delm(Y=Y)).outcome == "confirmed"


@pytest.mark.parametrize("turned", [0.3, 0.7, 0.99, 1.01, 2.0])
def test_the_curvature_is_bounded_while_no_inverse_is_lost_on_the_segment(
    turned: float, delm: Make
) -> None:
    """gamma |V| |step|/2 < 1."""
    p = delm(4, 9, 1, 0.5, train=GradientDescent(step=1.0, steps=1))
    v, slope = 3.0, turned / (0.5 * 3.0 / 2)
    series = {
        name: Series(np.arange(2), np.arange(2.0), Measured(np.full(2, value)))
        for name, value in zip((*SMOOTHNESS, "lambda_min_D"), (1.0, v, 1.0, 1.0), strict=True)
    }
    run = Mock(series=series, gradient=np.full(2, slope), k=np.arange(2))
    found = curvature(p, run)
    assert np.isfinite(found.value).all() == (turned < 1)


def test_singular_values_that_are_equal_up_to_rounding_claim_no_equality() -> None:
    """Found by a search: exact numbers told the sides apart."""
    Phi = [
        [-0.6585287833132956, 0.6916070290496944],
        [-0.516227728403097, -0.7019994139908023],
        [0.5475844902621775, 0.16993098636100726],
    ]
    Y, B = (
        [[10.905816411071303, -5.177451828354634]],
        [[0.0, 1.9293573551897778, -2.57247647358637]],
    )
    start = {"A": np.zeros((3, 3)), "B": B}
    near = dq.problem("delm", {"Phi": Phi, "Y": Y}, start, gamma=0.99)
    found = dq.judge("kawaguchi2021/convexity", near)
    assert found.outcome == "confirmed" and found.conclusions[0].relation == ">="
    equal = dq.problem("delm", {"Phi": np.eye(3)[:, :2], "Y": Y}, start, gamma=0.99)
    assert dq.judge("kawaguchi2021/convexity", equal).conclusions[0].relation == "=="
