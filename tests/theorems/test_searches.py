"""Where searches begin, what solvers are given and which points are tried: numbers that are known
in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

import deqcheck as dq
from deqcheck.losses.square import Square
from deqcheck.models.opteq.convex import Quadratic
from deqcheck.models.opteq.network import Layer
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeq
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.gao2022 import lem3_1
from deqcheck.theorems.hieu2022 import radii
from deqcheck.theorems.jfb.descent import contracted, guaranteed
from deqcheck.theorems.kawaguchi2021 import constant, convexity, infima
from deqcheck.theorems.ling2022 import condition1, sec2_2
from deqcheck.theorems.ling2022.condition import Condition
from deqcheck.theorems.xie2021 import blocks, factors
from deqcheck.theorems.xie2021.common import states_around, work
from deqcheck.theorems.xie2021.hidden import Hidden, preimage
from deqcheck.theorems.xie2021.lem12 import StateBound
from deqcheck.theorems.xie2021.resting import SOLVED, RestingSet
from deqcheck.theorems.xie2021.sec41_explicit import Explicit
from deqcheck.theorems.xie2021.thm4 import selected, tracked
from tests.opteq_instances import arrays, parameters, problem

Builder = Callable[..., Problem]


def at_rest(lambda_0: float) -> Condition:
    """|W| = 1/2, |U| = 1, a = 0, F = 2, no residual."""
    q, norm_u, norm_a, F, r0 = (Measured(x) for x in (0.5, 1.0, 0.0, 2.0, 0.0))
    return Condition(q, norm_u, norm_a, F, r0, Measured(lambda_0))


def test_without_a_residual_delta_is_one_that_9_allows() -> None:
    """sqrt(lambda_0) >= 2 F c_u (1 + c_a) is enough for (9). For delta <= (1 - |W|)/2 = 1/4,
    c_u <= 4 delta and c_a <= 5: delta <= sqrt(lambda_0)/96 is; it is taken 2 e^3 times smaller.
    A large lambda_0 allows every delta, and it is e^3 times smaller than the largest, 1/2."""
    for lambda_0 in (1e-6, 1.0, 4.0):
        allowed = math.sqrt(lambda_0) / 96
        found = at_rest(lambda_0)
        assert found.best == pytest.approx(allowed / 2 * math.exp(-3), rel=1e-9)
        assert found.worst(allowed) > 0
    assert at_rest(1e6).best == pytest.approx(0.5 * math.exp(-3), rel=1e-9)


def one_relu(w: float) -> Problem:
    """z = relu(w z + x), a = 0 and no label: there is no residual."""
    theta = {"W": np.array([[w]]), "U": np.array([[1.0]]), "a": np.array([0.0])}
    data = {"X": np.array([[1.0]]), "y": np.array([0.0])}
    return Problem(ReluDeq(sigma_w2=0.1).build(data, None), theta, None)


@pytest.mark.parametrize(("w", "contracts"), [(-1.5, False), (-0.9, True)])
def test_delta_is_looked_for_where_the_map_contracts(
    w: float, contracts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For |W| = 3/2 it would be negative; for 9/10 and a = 0 a small one meets the condition."""
    p, cls = one_relu(w), dq.statements()["ling2022/condition1"]
    monkeypatch.setattr(condition1, "draw", lambda *_: p.theta0)
    own, printed = cls("corrected"), cls("printed")
    every = [
        list(own.claims(p, p.start)), list(own.remarks(p, None)), list(own.notes(p)),
        own.quantities(p), own.constants_used(p), printed.trial(p, 0),
    ]  # fmt: skip
    assert [bool(each) for each in every] == 6 * [contracts]
    assert not any((list(printed.remarks(p, None)), list(printed.notes(p)), printed.quantities(p)))


@pytest.mark.parametrize(
    ("norm_A", "r0", "wanted"),
    [
        # R_u = 8 X r0 R_U/(m lambda0^2) = 8 * 3 * 11 * 7/(1/2 * 4).
        (0.4, 11.0, (1.0, 7.0, 924.0)),
        (5.0, 11.0, (5.0, 7.0, 924.0)),
        # lambda0 m/(X (1 + 4 R_U R_A/m)) = 1/(3 * (1 + 56)), 1/(3 * (1 + 280)).
        (0.4, 0.0, (1.0, 7.0, 1 / 171)),
        (5.0, 0.0, (5.0, 7.0, 1 / 843)),
    ],
)
def test_where_the_search_for_radii_begins(
    norm_A: float, r0: float, wanted: tuple[float, float, float]
) -> None:
    base = {"lambda0": 2.0, "X": 3.0, "m": 0.5, "norm_A": norm_A, "norm_U": 7.0, "r0": r0}
    assert np.exp(radii._start(base, ("R_A", "R_U", "R_u"))) == pytest.approx(wanted)


@pytest.mark.parametrize(("label", "told"), [(3.0, "R-bar = 3"), (0.0, "R-bar = 1")])
def test_the_ball_that_holds_a_minimiser(delm: Builder, label: float, told: str) -> None:
    """One unit: U = 1 - gamma and |B*|/(1 - gamma) = |W*| = 3/2, twice that; for W* = 0, 1."""
    p = delm(1, 1, 1, 0.25, Phi=[[2.0]], Y=[[label]], A=[[0.3]], B=[[0.7]])
    notes = [each.note for each in dq.judge("kawaguchi2021/infima", p).conclusions]
    assert told in notes


def test_points_that_bound_a_constant(delm: Builder) -> None:
    """L0 = |W Phi|^2 has the curvatures 8 and 1/50, and the quotient is the smaller one along the
    flattest direction. That is followed by 1/10 and 100 times the size of Z from where descent
    ends."""
    Phi = np.array([[2.0, 0.0], [0.0, 0.1]])
    p = delm(2, 2, 1, 0.5, loss=Square(), Phi=Phi, Y=np.zeros((1, 2)), A=np.eye(2), B=[[3.0, 4.0]])
    scale = 1 + float(np.abs(p.start.Z).max())
    points = np.array(list(constant._points(p)))[:, 0]
    ends = points.reshape(5, constant.STEPS + len(constant.FAR), 2)
    # What is steep is gone after 200 steps of 1/8; what is flat is 1 - 1/400 times as much in each.
    for first, *walk in ends:
        end, far = walk[constant.STEPS - 2], np.array(walk[constant.STEPS - 1 :])
        left = (1 - 0.02 / 8) ** np.array([constant.STEPS - 1, constant.STEPS])
        assert end == pytest.approx([0.0, left[0] * first[1]], abs=1e-12 * scale)
        assert far[:, 0] == pytest.approx(0.0, abs=1e-12 * scale)
        moved = np.abs(far[:, 1] - left[1] * first[1])
        assert moved == pytest.approx(scale * np.array([100, 0.1, 0.1, 100]), rel=1e-9)
    assert ends[0, 0] == pytest.approx(p.start.Z[0])
    assert float(constant.ceiling(p).high) == pytest.approx(0.02, rel=1e-9)


@pytest.mark.parametrize("share", [math.inf, 1.0])
def test_points_that_are_drawn_for_a_constant(delm: Builder, share: float) -> None:
    """Their norm is about 1 and the largest entry of Z, or half the radius of a ball if that is
    less: 400 normal numbers have the root mean square 1 within 5 times its deviation 1/sqrt(800).
    """
    size = 1 + float(np.abs(delm(1, 2, 400, 0.5, scale=2.0).start.Z).max())
    R = share * size
    p = delm(1, 2, 400, 0.5, scale=2.0, loss=Square(R=R))
    every = np.array(list(constant._points(p)))[:, :, 0]
    edge, walks = (every[:-1020], every[-1020:]) if math.isfinite(R) else (every[:0], every)
    drawn = np.linalg.norm(walks.reshape(5, -1, 400)[1:, 0], axis=1)
    assert drawn == pytest.approx(min(size, R / 2), rel=5 / math.sqrt(800))
    # Next to the edge of the ball on both sides, in five directions.
    assert len(edge) == (10 if math.isfinite(R) else 0)
    assert np.abs(edge).sum(axis=1) == pytest.approx((1 - 1e-6) * R, rel=1e-12)
    assert edge[::2] == pytest.approx(-edge[1::2])


@pytest.mark.parametrize(("size", "least"), [(1.0, 1.0), (1e12, 1e9)])
def test_drawn_states_lie_as_far_apart_as_the_state_is_large(size: float, least: float) -> None:
    """By 1/10 to 10 times the larger of 1 and a thousandth of the largest entry."""
    Z0 = np.full((20, 5), size)
    p: Any = SimpleNamespace(
        start=SimpleNamespace(map=lambda Z: Z), model=SimpleNamespace(Z0=Z0), seed=0
    )
    apart = states_around(p, "test", 64) - Z0
    sizes = np.sqrt((apart**2).mean(axis=(1, 2))) / least
    assert 0.1 * 0.6 < sizes.min() < 0.5 and 2 < sizes.max() < 10 * 1.4


def test_a_root_is_looked_for_along_the_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against central differences, of tanh units."""
    data, theta = arrays(3, 3, 2, 2, 1, 1, 2)
    p = problem(data, theta, iterations=1)
    hidden, root, seen = Hidden(p.start.network.layers[0], mu=1.5), scipy.optimize.root, []

    def compared(miss: Any, x: np.ndarray, jac: Any, **options: Any) -> Any:
        for w in (x, x + 0.3):
            steps = 1e-5 * np.eye(len(w))
            slopes = [(miss(w + h) - miss(w - h)) / 2e-5 for h in steps]
            np.testing.assert_allclose(jac(w), np.array(slopes).T, rtol=0, atol=1e-9)
            seen.append(w)
        return root(miss, x, jac=jac, **options)

    monkeypatch.setattr(scipy.optimize, "root", compared)
    Y = np.array([[0.1, -0.2], [0.3, 0.1], [0.0, 0.2]])
    W, left = preimage(hidden, Y, 0.7)
    assert len(seen) == 4 and left < 1e-12
    np.testing.assert_allclose(0.7 * hidden.f(W) + 0.3 * W, Y, atol=1e-12)


def one_unit(s: str, w: float, c: float, mu: float = 1.0) -> Hidden:
    """f(z) = w s(w z + c)/mu."""
    data = {"X": np.array([[1.0]]), "Y": np.array([[0.0]])}
    theta = parameters([[[w]]], [[[c]]], [[0.0]], [[1.0]])
    layers: list[Layer] = problem(data, theta, activation=s, iterations=1).start.network.layers
    return Hidden(layers[0], mu)


@pytest.mark.parametrize(("c", "mu"), [(3.0, 1.0), (-3.0, 1.0), (3.0, 2.0), (3.0, 0.25)])
def test_the_size_of_the_terms_in_a_hidden_objective(c: float, mu: float) -> None:
    """One relu unit at u = w z + c = 2 z + c, z = 4: z^2, S(u) = u^2/2, u s(u) = u^2 and |c| s(u),
    the last three over mu where that is below 1, and 1."""
    u = 8 + c
    wanted = 16 + (u**2 / 2 + u**2 + 3 * u) / min(mu, 1) + 1
    assert one_unit("relu", 2.0, c, mu).scale(np.array([[4.0]])) == pytest.approx(wanted, rel=1e-14)


def test_what_is_granted_to_the_fixed_point_that_is_selected() -> None:
    """T(z) = relu(z) in two dimensions rests where z >= 0; |z - c|^2/2 has its minimum at c, whose
    accuracy is that of its size, or of 1."""
    eye = np.eye(2)
    for c in ([0.0, 0.0], [3.0, 4.0]):
        data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
        theta = parameters([eye], [np.zeros((2, 1))], [np.zeros(2)], [[1.0, 0.0]])
        p = problem(data, theta, activation="relu", iterations=1)
        sam: Any = SimpleNamespace(R=Quadratic(eye, np.array(c)))
        found = selected(p, sam)
        assert found is not None
        assert found.error == pytest.approx(SOLVED * max(1.0, math.hypot(*c)), rel=1e-9)


@pytest.mark.parametrize("c", [[0.5, 2.0], [0.5, -3.0]])
def test_how_far_minimisers_lie_apart(c: list[float]) -> None:
    """Of |z - c|^2/2 over z >= 0 there is one: a linear program is given SOLVED on both sides. Of
    (z_1 - c_1)^2/2 over 0 <= z_2 <= 1 there are many, 1 apart, with as much on both sides."""
    z = np.maximum(c, 0.0)
    both = 2 * SOLVED
    orthant = RestingSet((np.eye(2),), 0.0, np.inf)
    found = orthant.spread(Quadratic(np.eye(2), np.array(c)), z)
    assert found == pytest.approx(both, rel=0.3)
    box = RestingSet((np.eye(2),), 0.0, 1.0)
    assert box.spread(Quadratic(np.eye(2)[:1], np.array(c[:1])), z) == pytest.approx(
        1 + both, abs=1e-9
    )


@pytest.mark.parametrize(("iterations", "depth"), [(3, 2), (1, 1)])
def test_what_is_granted_to_norms_of_1(iterations: int, depth: int) -> None:
    """Twice for each layer of each iteration, and twice for the bound itself."""
    p = problem(*arrays(1, 2, 2, 2, 1, depth, 2), iterations=iterations)
    more = StateBound().growth(p).value - 1
    assert more == pytest.approx((2 * iterations * depth + 2) * 1e-12, rel=1e-3, abs=0)


@pytest.mark.parametrize("radius", ["R_A", "R_B", "R_U", "R_u"])
@pytest.mark.parametrize("statement", ["hieu2022/thm3.3.1", "hieu2022/thm3.3.5"])
def test_every_radius_is_positive(monotone: Builder, statement: str, radius: str) -> None:
    cls = dq.statements()[statement]
    for R, decision in ((1.0, "holds"), (0.0, "violated")):
        fixed = {**dict.fromkeys(("R_A", "R_B", "R_U", "R_u"), 1.0), radius: R}
        every = cls(fixed=fixed).hypotheses(monotone())
        (found,) = (claim for claim in every if claim.name == "positive radii")
        assert found.judge().decision == decision


def test_random_starts_are_as_large_as_the_state(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one sweep they are as far from Z as they are large: inputs 1024 times as large make
    everything so, without rounding. Where Z = 0 they have the size 1."""
    monkeypatch.setattr(lem3_1, "CAP", 1)
    p = implicit()
    large = implicit(X=1024 * p.model.X)
    apart, farther = ([off for off, _ in lem3_1._ends(q, q.start)] for q in (p, large))
    assert farther == pytest.approx([1024 * off for off in apart], rel=1e-9)
    assert min(apart) > 0
    # With A = 1 and gamma = 1/2 a sweep halves them: |x|/2 for 2000 normal x.
    still = implicit(N=2000, d=1, m=1, gamma=0.5, X=np.ones((2000, 1)), W=[[-1.0]], A=[[1.0]])
    halved = [off / math.sqrt(2000) for off, _ in lem3_1._ends(still, still.start)]
    assert halved == pytest.approx([0.5] * len(halved), rel=5 / math.sqrt(4000))


def test_a_unit_that_is_off_leaves_a_row_of_the_identity(implicit: Builder) -> None:
    """|Q| = 1, not less: |I - D| with D = diag(1/10, 0) where the second unit is off."""
    p = implicit(1, 1, 2, gamma=0.1, X=[[1.0]], W=[[1.0, -1.0]], A=np.eye(2), b=[1.0, 1.0], y=[0.0])
    (claim,) = (c for c in dq.judge("gao2022/eq29", p).conclusions if "norm_Q" in c.formula)
    assert claim.left.low == 1.0


@pytest.mark.parametrize(("alpha", "bend"), [(0.75, 1 + 1.5 + 3.0), (1.0, 1 + 1.5 + 1.0)])
def test_a_smallest_value_is_unsure_by_the_square_of_the_equilibrium(
    alpha: float, bend: float
) -> None:
    """Next to a minimiser an objective rises with its curvature: 1 of the proximal term, g times 3
    of R = 3 |z|^2/2, at most a/(1 - a) of the envelope (for a = 1 it is not differentiated)."""
    theta = parameters([[[0.8]]], [[[0.3]]], [[0.1]], [[1.0]])
    data, prox = {"X": np.ones((1, 1)), "Y": np.zeros((1, 1))}, {"kind": "distance", "weight": 3}
    rooms = []
    for error in (1e-3, 0.0):
        p = problem(data, theta, alpha=alpha, solver="implicit", prox=prox, explicit_step=0.5)
        vars(p.start)["solved"] = replace(p.start.solved, error=error)
        (claim,) = (c for c in Explicit().claims(p, None) if "minimises" in c.name)
        rooms.append(float(claim.right.value))
    assert rooms[0] - rooms[1] == pytest.approx(bend * 1e-6, rel=1e-6)


def test_the_smallest_curvature_is_as_unsure_as_its_weights(delm: Builder) -> None:
    """Phi diag(w) Phi^T with Phi = 2 I is 4 w, known up to 4 |I|_F^2 = 8 times the radius of w."""
    p = delm(2, 2, 1, Phi=2 * np.eye(2))
    found = convexity._smallest(p, np.array([0.5, 0.25]), 1e-3)
    assert found.value == pytest.approx(1.0, rel=1e-12)
    assert found.error == pytest.approx(8e-3, rel=1e-9)


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        # The smallest of those that can be told from 0.
        ([Measured(0.5, 0.6), Measured(0.7, 0.1), Measured(0.9, 0.1)], 0.7),
        ([Measured(0.5, 0.6), given(0.0), Measured(0.9, 0.1)], 0.0),
        ([Measured(0.5, 0.6), Measured(0.3, 0.6)], 0.3),
    ],
)
def test_the_lowest_of_drawn_parameters(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, gaps: list[Measured], told: float
) -> None:
    monkeypatch.setattr(infima, "_drawn", lambda p: [SimpleNamespace(gap=gap) for gap in gaps])
    assert infima._lowest(delm()).value == told


@pytest.mark.parametrize(("drive", "size"), [(0.0, 1.0), (5.0, 5.0)])
def test_pairs_are_as_far_apart_as_the_drive_is_large(drive: float, size: float) -> None:
    """Two states of 500 normal numbers each: 1000 size^2 within 5 deviations of a square."""
    theta = {"W": np.zeros((1, 1)), "U": np.full((1, 1), drive), "a": np.ones(1)}
    data = {"X": np.ones((1, 500)), "y": np.zeros(500)}
    p = Problem(ReluDeq().build(data, None), theta, None)
    for claim in sec2_2._pairs(p, sec2_2.WellPosed.contracts):
        square = float(claim.right.value) ** 2 / size**2
        assert square == pytest.approx(1000.0, rel=5 * math.sqrt(2 / 500))


@pytest.mark.parametrize(("r0", "lambda_0"), [(0.3, 1.5), (1e6, 1.5e8)])
@pytest.mark.parametrize(
    "off", [(1e-9, 1e-9), (1e-4, 1e-4), (0.03, 0.03), (1e-9, 0.3), (0.3, 1e-9)]
)
def test_the_bar_of_the_best_delta_is_a_power_of_two(
    off: tuple[float, float], r0: float, lambda_0: float
) -> None:
    """Relatively; |U| and lambda_0 are off, and with them the true best delta. Where both are large
    (7) alone decides: there lambda_0 does not matter, and |U| does by what it is off."""

    def at(norm_u: Measured, lambda_0: Measured) -> Condition:
        q, norm_a, F, r = (Measured(x) for x in (0.5, 0.2, 2.0, r0))
        return Condition(q, norm_u, norm_a, F, r, lambda_0)

    corners = product((1 - off[0], 1 + off[0]), (1 - off[1], 1 + off[1]))
    bests = [at(Measured(u), Measured(lambda_0 * v)).best for u, v in corners]
    found = at(Measured(1.0, off[0]), Measured(lambda_0, lambda_0 * off[1])).measured_best()
    assert found.low <= min(bests) and max(bests) <= found.high
    relative = float(found.error) / float(found.value)
    assert math.log2(relative) == pytest.approx(round(math.log2(relative)), abs=1e-4)
    assert relative <= 8 * (off[0] if r0 > 1 else max(off))


def test_how_far_points_of_a_linear_program_may_move() -> None:
    """A row holds up to 1e-7, and entries of its matrix below 1e-9 are dropped: 1e-9 * 3 * 50 at
    most. |W^T s| and |z| are made of sqrt(2) and sqrt(3) such rows, or sqrt(3) and sqrt(3)."""
    set_ = RestingSet((np.eye(3)[:2], np.eye(3)), 0.0, np.inf)
    row = 1e-7 + 1e-9 * 3 * 50
    wanted = (3 * math.sqrt(3) + math.sqrt(2)) * row
    assert set_.missed(np.array([1.0, -50.0, 7.0])) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("pull", "finite"), [(7e-13, False), (9e-13, True)])
def test_a_map_that_stretches_as_much_as_it_is_pulled_has_no_fixed_point(
    pull: float, finite: bool
) -> None:
    """W^2 = (1 + 4e-13)^2 is granted as 1, and beta g lambda must be more than it stretches."""
    theta = parameters([[[1 + 4e-13]]], [[[0.0]]], [[0.0]], [[1.0]])
    data = {"X": np.ones((1, 1)), "Y": np.zeros((1, 1))}
    p = problem(data, theta, activation="identity", iterations=1)
    weights: Any = SimpleNamespace(beta=pull, lambda_=1e-3)
    sam: Any = SimpleNamespace(gamma=1e3, S=lambda Z, w: Z, noise=lambda size, N: 0.0)
    assert math.isfinite(tracked(p, sam, weights, np.zeros((1, 1)))[1]) is finite


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_every_step_of_a_short_run_is_seen_to_descend(steps: int) -> None:
    p = problem(*arrays(1, 3, 3, 2, 1, 1, 2), iterations=2)
    train = {"kind": "gd", "step": 1e-3, "steps": steps}
    found = dq.judge("xie2021/certificate", p, train=train)
    (descent,) = (each for each in found.hypotheses if each.name == "sampled steps descend")
    assert descent.curve is not None and descent.curve.k.tolist() == list(range(steps))


@pytest.mark.parametrize(("k", "cosine"), [(0.0, 1.0), (0.6, 0.8), (0.96, 0.28)])
def test_the_cosine_that_a_contraction_keeps(k: float, cosine: float) -> None:
    """By triangles with sides 3, 4, 5 and 7, 24, 25."""
    assert contracted(Measured(k)).value == pytest.approx(cosine, rel=1e-14)
    assert guaranteed(Measured(k), Measured(2.0)).value == k / 2


@pytest.mark.parametrize(("W", "singular"), [([[0.0, 0.0]], [1, 1]), ([[3.0, 4.0]], [5, 5])])
def test_free_rows_of_a_factor_are_as_long_as_the_others(
    W: list[list[float]], singular: list[float]
) -> None:
    """W = A B^T with A = (1, 0, 0): one row of B^T is W, and others span its kernel."""
    A = np.array([[1.0, 0.0, 0.0]])
    B = factors.factor(np.array(W), A)
    np.testing.assert_allclose(A @ B.T, W, atol=1e-14)
    assert np.linalg.svd(B, compute_uv=False) == pytest.approx(singular, rel=1e-14)


def test_a_gradient_is_unsure_by_the_steepness_of_the_inverse() -> None:
    """f(z) = tanh(z/2)/2 has the slope (1 - tanh(1)^2)/4 at z = 2, its inverse 1 over it."""
    hidden = one_unit("tanh", 0.5, 0.0)
    slope = (1 - math.tanh(1) ** 2) / 4
    found, error = blocks.block_gradient(hidden.layer, np.array([[math.tanh(1) / 2]]), 1.0)
    assert found[0, 0] == pytest.approx(2 - math.tanh(1) / 2, rel=1e-9)
    loss = blocks.SOLVER_LOSS * work(hidden.layer, 2.0)
    assert error == pytest.approx(loss / slope, rel=0.05)
