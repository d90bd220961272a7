"""Where an optimum is flat, the point that is told does not depend on rounding."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg.minimax import Optimum, gap, minimise_largest, nearest, roughly

BOX = (-35.0, 35.0)
ROOM = 1e-4


def floored(x: np.ndarray) -> np.ndarray:
    """A floor of log 1000 that x hardly raises, and a row of x[0] that falls: a log posynomial."""
    reach = 1 + 1e-3 * np.exp(x)
    return np.array([np.log(1000 * reach[0] * reach[1]), np.log(1e-6) - x[0]])


@pytest.mark.parametrize("shift", [(0.0, 0.0), (-3.0, 2.0), (4.0, -6.0)])
def test_every_optimum_of_a_flat_valley_leads_to_the_same_point(shift: tuple[float, float]) -> None:
    flat = np.array([-15.0, -20.0]) + shift
    best = Optimum(flat, float(np.log(1000)))
    found = nearest(floored, best, np.zeros(2), BOX, ROOM)
    assert found.value <= best.value + ROOM * (1 + 1e-6)
    # Both components are alike where only the first row counts: each has half of the room.
    expected = np.log(np.expm1(ROOM / 2) / 1e-3)
    assert found.x == pytest.approx([expected, expected], abs=1e-5)


def test_a_goal_that_is_good_enough_is_taken() -> None:
    best = minimise_largest(floored, np.zeros(2), BOX)
    goal = np.array([-10.0, -11.0])
    assert nearest(floored, best, goal, BOX, ROOM).x.tolist() == goal.tolist()


def test_without_room_the_optimum_stays() -> None:
    best = minimise_largest(floored, np.zeros(2), BOX)
    assert nearest(floored, best, np.ones(2), BOX, 0.0) is best


@pytest.mark.parametrize(("lower", "stays"), [(0.0, True), (7.0, False)])
def test_roughly_an_optimum_above_zero_stays_where_it_is(lower: float, stays: bool) -> None:
    """log 1000 = 6.9 is above zero; less 7 it is below, and where it is attained matters."""
    best = Optimum(np.array([-15.0, -20.0]), float(np.log(1000)) - lower)
    with roughly({}):
        found = nearest(lambda x: floored(x) - lower, best, np.zeros(2), BOX, ROOM)
    assert (found is best) is stays
    assert nearest(lambda x: floored(x) - lower, best, np.zeros(2), BOX, ROOM) is not best


@pytest.mark.parametrize("seed", range(20))
def test_no_point_lies_further_below_than_the_gap(seed: int) -> None:
    """Of random log posynomials, against the smallest of many points."""
    rng = np.random.default_rng(seed)
    shifts, powers = rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 2))

    def f(x: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.log(np.exp(shifts + powers @ x).sum(axis=1))
        return found

    points = rng.uniform(*BOX, size=(200, 2))
    here = Optimum(points[0], float(f(points[0]).max()))
    best = minimise_largest(f, np.zeros(2), BOX)
    lowest = min(best.value, *(float(f(x).max()) for x in points))
    assert gap(f, here, BOX) >= here.value - lowest - 1e-6
    assert -1e-9 <= gap(f, best, BOX) < 1e-6 and best.value <= lowest
