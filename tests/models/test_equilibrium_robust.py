"""The ball around an input on which a network is affine, and bounds on the largest entry."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deqcheck.linalg.minors import MOST
from deqcheck.models.equilibrium import distance, lipschitz
from deqcheck.models.equilibrium.illposed import _units, witness
from deqcheck.models.equilibrium.parametrised import projected
from deqcheck.models.equilibrium.robust import SLACK, linear_ball
from deqcheck.models.equilibrium.weights import Weights
from deqcheck.records.measured import Measured
from deqcheck.theorems.robust.radius import CertifiedRadius
from tests.independent.equilibrium_model import I1, I2, I4, arrays, drawn, equilibrium, problem


def root(x: Fraction) -> Fraction:
    """To 60 digits."""
    return Fraction(isqrt(x.numerator * 10**120 // x.denominator), 10**60)


def test_the_ball_is_as_far_as_the_nearest_kink_but_for_what_rounding_may_hide() -> None:
    """W = 0 and units that are on: dz/dx = U, and unit i has its kink |U_i x|/|U_i| away. The speed
    and the quotient are each granted SLACK."""
    U, x = [[3, 1], [2, -1], [-5, 7]], [3, 2]
    v = arrays(np.zeros((3, 3)), U, np.eye(3), np.array([x]).T, np.zeros((3, 1)))
    state = problem(v).start
    lengths = [root(Fraction(a * a + b * b)) for a, b in U]
    heights = [abs(a * x[0] + b * x[1]) for a, b in U]
    nearest = float(min(h / s for h, s in zip(heights, lengths, strict=True)))
    found = linear_ball(state, 0, lipschitz.jacobian(state, 0))
    assert found == pytest.approx(nearest * (1 - 2 * SLACK), rel=1e-13)


def test_inside_the_ball_no_unit_switches_and_just_outside_one_does() -> None:
    v = drawn(3, n=4, d=3, q=2, scale=0.2)
    state = problem(v).start
    J = lipschitz.jacobian(state, 0)
    rho, speed = linear_ball(state, 0, J), v["W"] @ J + v["U"]
    H = v["W"] @ equilibrium(v) + v["U"] @ v["X"]
    i = int(np.argmin(np.abs(H[:, 0]) / np.linalg.norm(speed, axis=1)))
    way = -np.sign(H[i, 0]) * speed[i] / np.linalg.norm(speed[i])
    for share, same in ((0.999, True), (1.001, False)):
        X = v["X"] + share * rho * way[:, None]
        there = v["W"] @ equilibrium({**v, "X": X}) + v["U"] @ X
        assert (np.sign(there) == np.sign(H)).all() == same


@pytest.mark.parametrize(("W", "count"), [(I1["W"], 1), (I2["W"], 1), (I4["W"], 0)])
def test_a_radius_is_attacked_where_a_diagonal_is_known(W: np.ndarray, count: int) -> None:
    """Of two outputs, and of one none."""
    n = len(W)
    C, U = np.array([[1.0], [0.0]]) * np.ones(n), np.ones((n, 1))
    for rows in (2, 1):
        p = problem(arrays(W, U, C[:rows], [[1.0]], np.zeros((rows, 1))))
        assert len(list(CertifiedRadius().claims(p, p.start))) == (count if rows == 2 else 0)


def test_the_largest_entry_moves_by_what_the_rows_of_the_weights_leave() -> None:
    """|W|_inf is the largest sum of a row, here 0.75; those of columns are 0.25 and 1.25."""
    W, c, z = np.array([[0.0, 0.75], [0.25, 0.5]]), np.array([1.0, 0.5]), np.zeros(2)
    r = distance.Residual(z - np.maximum(W @ z + c, 0), np.zeros(2))
    found = distance.by_norm_inf(Weights(W), r)
    assert found.value == pytest.approx(1 / (1 - 0.75), rel=1e-14)
    there = np.linalg.solve(np.eye(2) - W, c)
    assert (there > 0).all() and np.abs(there - z).max() <= found.high


@pytest.mark.parametrize(("last", "known"), [(0.4999, True), (0.5, False), (0.5001, False)])
def test_nothing_is_known_where_a_row_has_the_sum_1(last: float, known: bool) -> None:
    """Of 1/2 + 1/2 doubles know no more than that it is within their rounding of 1."""
    W, r = np.array([[0.5, last], [0.0, 0.0]]), distance.Residual(np.ones(2), np.zeros(2))
    found = distance.by_norm_inf(Weights(W), r)
    assert bool(np.isfinite(found.value)) is known and (found is distance.UNKNOWN) is not known
    edge: Any = SimpleNamespace(norm_inf=Measured(0.75, 0.25), norm2=Measured(0.75, 0.25))
    assert distance.by_norm_inf(edge, r) is distance.by_norm2(edge, r) is distance.UNKNOWN


def test_the_equilibrium_moves_by_the_norm_of_the_inputs_over_the_modulus() -> None:
    """|U|_2 = 3 for diag(3, 2), and W = I/4 leaves 3/4."""
    v = arrays(np.eye(2) / 4, np.diag([3.0, 2.0]), np.eye(2), [[1], [1]], [[0], [0]])
    assert lipschitz.by_modulus(problem(v).start).value == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize("name", ["U", "C"])
def test_the_bar_of_the_worst_jacobian_has_its_unit(name: str) -> None:
    v = drawn(3, n=3, d=2, q=2, scale=0.2)
    plain, scaled = (
        lipschitz.over_patterns(problem({**v, name: c * v[name]}).start) for c in (1.0, 2.0**20)
    )
    assert plain is not None and scaled is not None
    assert scaled.value == pytest.approx(2.0**20 * plain.value, rel=1e-12)
    assert scaled.error == pytest.approx(2.0**20 * plain.error, rel=1e-9, abs=0)


def test_outputs_move_by_the_norm_of_the_read_out() -> None:
    """Of diag(2, 1)."""
    assert problem(I2).start.read_out.value == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize(("entry", "units"), [(1.0, [3]), (1.5, [3]), (0.75, None)])
def test_a_unit_that_feeds_itself_enough_is_a_minor_by_itself(
    entry: float, units: list[int] | None
) -> None:
    W = np.zeros((MOST + 1, MOST + 1))
    W[3, 3] = entry
    found = _units(W)
    assert (None if found is None else found.tolist()) == units


def test_a_change_by_rounding_leads_to_whole_multiples() -> None:
    """Of the largest entry over 2^3 - 1, with 4 bits, and by half of one at most."""
    v = drawn(3, n=3, d=2, q=2, scale=0.5)
    unit = np.abs(v["W"]).max() / 7
    dW = problem(v, bits=4).model.dW(v["W"])
    assert np.abs(dW).max() <= unit / 2 * (1 + 1e-12) and np.abs(dW).max() > unit / 10
    assert (v["W"] + dW) / unit == pytest.approx(np.round((v["W"] + dW) / unit), abs=1e-9)


def test_a_bound_that_rounding_hides_is_left_to_the_largest_entry() -> None:
    """1 - 1e-20 rounds to 1: no entry is above its excess."""
    found = projected(np.array([[1.0, -1.0], [0.5, -2.0]]), 1e-20)
    assert found.tolist() == [[1e-20, 0.0], [0.0, -1e-20]]


def test_two_equilibria_are_as_far_apart_as_their_largest_difference() -> None:
    found = witness(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert found is not None
    other = replace(found, first=[Fraction(1), Fraction(0)], second=[Fraction(0), Fraction(3)])
    assert other.distance == 3
