"""Condition 1 of Ling et al. at its edges, in rationals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deqcheck.judging import judge
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022 import condition1, sec2_2, sec3_2_eq8
from deqcheck.theorems.ling2022.condition import Condition, condition
from deqcheck.theorems.ling2022.condition1 import Condition1
from deqcheck.theorems.ling2022.sec3_2 import Constants
from deqcheck.theorems.ling2022.sec3_2_eq8 import WidthOf8
from tests.theorems.ling2022_problems import F1, relu_deq

# 1 - ||W||: a unit in the last place of ||W|| is 1e-8 of it.
ROOM = 2.0**-27


def leads(delta: float, F: float) -> bool:
    """(9) for ||U|| = 1, a = 0 and lambda_0 = 1, exactly."""
    d, left = Fraction(delta), Fraction(ROOM) - Fraction(delta)
    c_u, c_a = d / left, (1 + d) / left
    return 4 * ((c_u * c_a) ** 2 + c_u**2) * Fraction(F) ** 2 <= 1


@pytest.mark.parametrize("unsure", [0.0, 0.1])
@pytest.mark.parametrize("F", [0.3, 1.0, 7.0])
def test_the_edge_of_the_window_is_in_its_bar_where_little_room_is_left(
    F: float, unsure: float
) -> None:
    """Without a residual it is where (9) ends."""
    q, norm_u, norm_a = map(Measured, (1 - ROOM, 1.0, 0.0))
    of = Condition(q, norm_u, norm_a, Measured(F, F * unsure), Measured(0.0), Measured(1.0))
    window = of.measured_window()
    assert window is not None
    edge = window[1]
    assert leads(edge.low, of.F.high) and not leads(edge.high, of.F.low)
    assert edge.error <= (0.25 if unsure else 1e-3) * edge.value


@pytest.mark.parametrize("q", [0.7, 1.5])
def test_where_the_map_need_not_contract_there_is_no_delta(q: float) -> None:
    found = judge(Condition1, relu_deq(4, 2, 3, q, seed=1))
    told = (found.conclusions, found.remarks, found.quantities, found.constants)
    assert [bool(each) for each in told] == [q < 1] * 4


@pytest.mark.parametrize(("labels", "met"), [(1e-6, True), (1e6, False)])
def test_a_draw_is_counted_by_whether_some_delta_serves(
    labels: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = relu_deq(**{**F1, "W": 8 * F1["W"], "U": 1e4 * F1["U"], "y": labels * F1["y"]})
    assert 0.7 < p.start.q.value < 0.71
    monkeypatch.setattr(condition1, "draw", lambda p, seed, name: p.theta0)
    assert Condition1("printed").trial(p, 0) is met


@pytest.mark.parametrize(
    ("labels", "norm", "met"), [(1e-6, 0.7, True), (1e30, 0.7, False), (1e-6, 1.4, False)]
)
def test_a_draw_is_counted_by_whether_8_holds_at_the_start(
    labels: float, norm: float, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    W = norm * F1["W"] / np.linalg.norm(F1["W"], 2)
    start = {"W": W, "U": 1e4 * F1["U"], "a": np.full(2, 1e-9)}
    p = relu_deq(**{**F1, **start, "y": labels * F1["y"]})
    monkeypatch.setattr(sec3_2_eq8, "draw", lambda p, seed, name: p.theta0)
    assert WidthOf8("printed").trial(p, 0) is met


@pytest.mark.parametrize(("norm", "known"), [(0.7, True), (0.87, False), (1.2, False)])
def test_without_a_ball_in_which_the_map_contracts_there_are_no_constants(
    norm: float, known: bool
) -> None:
    """delta = r/4 with r = 1 - sqrt(8 sigma_w^2) = 0.6."""
    p = relu_deq(4, 2, 3, norm, seed=1, sigma_w2=0.02)
    assert (Constants("corrected").number(p, p.theta0) is not None) == known


def test_a_window_is_found_where_the_largest_delta_rounds_to_all_of_the_room() -> None:
    arrays = {"W": np.array([[1 - ROOM]]), "U": np.eye(1), "a": np.zeros(1)}
    found = judge(Condition1, relu_deq(**arrays, X=np.eye(1), y=np.zeros(1)))
    assert found.outcome is Outcome.MET


@pytest.mark.parametrize("q", [0.2, 0.9])
def test_the_cap_is_shown_where_it_is_nearest_to_be_broken(q: float) -> None:
    """Of the deltas that are looked at, by the quotient of its sides; for a small U the right one
    rises first."""
    p, statement = relu_deq(4, 2, 3, q), Condition1()
    p = replace(p, theta0={**p.theta0, "U": 1e-3 * p.theta0["U"]})
    (shown,) = statement.remarks(p, None)
    at, room = condition(p.start), 1 - float(p.start.q.high)
    every = [statement._cap(p, at, delta) for delta in np.geomspace(1e-12, 1 - 1e-6, 60) * room]
    ratios = [c.left.value / c.right.value for c in every]
    assert shown.left.value / shown.right.value >= max(ratios) * (1 - 1e-9)


def test_pairs_of_points_are_counted_from_1() -> None:
    claims = sec2_2._pairs(relu_deq(4, 2, 3, 0.5), Check("pairs", "after <= before"))
    found = [claim.note for claim in claims]
    assert found == [f"pair {i}" for i in range(1, len(found) + 1)] and len(found) > 1
