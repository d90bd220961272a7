"""Where a rule of a statement begins and ends: numbers from outside on both sides of its edge."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.linalg import exact
from deqcheck.models.delm import spectrum
from deqcheck.models.equilibrium import illposed
from deqcheck.models.opteq.equilibrium import Existence
from deqcheck.records.measured import Measured
from deqcheck.records.tower import compared, rational
from deqcheck.theorems.gao2022 import lem3_2
from deqcheck.theorems.gao2022.thm4_4 import SMALL_STEP
from deqcheck.theorems.hieu2022.smooth import Quadratic
from deqcheck.theorems.kawaguchi2021.metric import steepest
from deqcheck.theorems.ling2022 import common, condition1, thm5_steps
from deqcheck.theorems.ling2022.condition import EQ10, condition
from deqcheck.theorems.ling2022.kernel import PopulationKernel
from deqcheck.theorems.xie2021 import thm4
from deqcheck.theorems.xie2021.resting import RestingSet

from .gao2022 import diagonal
from .gao2022_network import problem as implicit
from .hieu2022_induction import GENERIC, fro, gradient
from .hieu2022_model import problem as monotone
from .kawaguchi2021_model import Delm
from .ling2022_condition import FAR, ball, best, start
from .ling2022_kernel import limit
from .ling2022_model import arrays, drawn
from .ling2022_model import problem as relu
from .xie2021_views import DEEP


@pytest.mark.parametrize(
    ("inputs", "count"), [([0.0], 1), ([1.0], 0), ([-1.0], 2), ([0.0, 1.0], 0), ([0.0, -1.0], 2)]
)
def test_equilibria_of_an_expansive_unit_are_counted(inputs: list[float], count: int) -> None:
    """z = relu(2 z + c): 0 for c = 0, none for c > 0, 0 and -c for c < 0."""
    X = np.array([inputs, np.ones(len(inputs))])
    v = {"W": [[2.0]], "U": [[1.0, 0.0]], "a": [1.0], "X": X, "y": X[1]}
    assert common._equilibria(relu({name: np.array(a) for name, a in v.items()})).value == count


@pytest.mark.parametrize(("s2", "has"), [(0.0626, True), (0.1249, True), (0.1251, False)])
def test_the_bounds_of_section_3_2_have_room_below_one_eighth(s2: float, has: bool) -> None:
    v = arrays(seed=1, m=5, n=2, d=3)
    found = dq.judge("ling2022/sec3.2-phi", drawn(v, s2), constants={"seeds": 1, "t": 0.5})
    wanted = (4 * 2 / (1 - np.sqrt(8 * s2)) ** 2 + float(v["y"] @ v["y"])) / 0.5
    bound = found.quantities.get("bound")
    assert (bound is not None) == has
    if bound is not None:
        assert bound.value == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("off", [1e-4, 0.3])
def test_the_hardest_delta_is_that_of_the_largest_smallest_eigenvalue(off: float) -> None:
    """The best delta for lambda_0 at the upper end of its bar lies within the bar that is given."""
    s, at = start(FAR), condition(relu(FAR).start)
    wide = replace(at, lambda_0=Measured(s["lambda_0"], off * s["lambda_0"]))
    wanted = best({**s, "lambda_0": s["lambda_0"] * (1 + off)})
    found = condition1._hardest(wide)
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(wanted, rel=1e-6)
    # Not the best one for the middle of the bar.
    assert abs(best(s) - wanted) > 1e-6 * wanted


@pytest.mark.parametrize(("id", "shown"), [("lem3.3.8-3.3.10", 2), ("lem3.3.7", 1)])
def test_a_ball_that_the_first_step_leaves_is_shown_with_it(id: str, shown: int) -> None:
    """If the lemma needs that step in the ball; else the start, which is in every ball."""
    far = 0.03 * fro(gradient(GENERIC)["A"])
    verdict = dq.judge(
        f"hieu2022/{id}",
        monotone(GENERIC),
        train={"kind": "gd", "step": 0.03, "steps": 3},
        constants={"R_A": far / 2},
    )
    (ball,) = (each for each in verdict.hypotheses if each.name == "Hypothesis 1, A in its ball")
    assert ball.curve is not None
    assert ball.curve.value.value == pytest.approx([0.0, far][:shown], rel=1e-9)
    assert ball.decision == ("violated" if shown > 1 else "holds")


def test_the_largest_real_part_is_that_of_active_units() -> None:
    """The unit with the largest entry of a diagonal A is active for no sample."""
    net = replace(diagonal(), A=np.diag([0.2, -0.5, 0.9]))
    found = lem3_2._largest_real_part(implicit(net).start).value
    assert found == pytest.approx(np.linalg.eigvals(net.DA).real.max(), rel=1e-12) == 0.2


@pytest.mark.parametrize(("q", "delta"), [(0.3, 0.69), (0.3, 0.71), (0.7, 0.29), (0.7, 0.31)])
def test_a_ball_of_theorem_1_ends_where_the_map_does_not_contract(q: float, delta: float) -> None:
    """Before that its constants exist, and (7), (8), (9) are asked."""
    v = arrays(seed=1, m=5, n=2, d=3, q=q)
    found = dq.statements()["ling2022/thm1"](fixed={"delta": delta}).hypotheses(relu(v))
    sides = {each.equation: (each.left.value, each.right.value) for each in found}
    wanted = {name: side for name, side in ball(v, delta).items() if name.startswith("eq")}
    assert bool(wanted) == (q + delta < 1)
    assert {name for name in sides if name in ("(7)", "(8)", "(9)")} == {
        f"({name[2:]})" for name in wanted
    }
    for name, side in wanted.items():
        assert sides[f"({name[2:]})"] == pytest.approx((side.left, side.right), rel=1e-9)


def test_rates_at_rest_are_those_of_theorem_1() -> None:
    """From a loss of 0 nothing is seen of the factor."""
    at = {"step": 0.3, "lambda_0": 0.7, "k": 3, "t": 1.7, "gap_0": 2.0, "gap": 5.0}
    wanted = {
        "thm1": 2 * (1 - 0.3 * 0.7 / 2) ** 3,
        "thm1-plus": 2 * (1 - 0.4 * 0.3 * 0.7) ** 6,
        "thm1-flow": 2 * np.exp(-0.7 * 1.7),
    }
    for name, right in wanted.items():
        claim = dq.statements()[f"ling2022/{name}"].rest(**at)
        assert (claim.left.value, claim.relation) == (5.0, "<=")
        assert claim.right.value == pytest.approx(right, rel=1e-12)


def test_the_largest_eigenvalue_over_m_is_one_where_m_is_one() -> None:
    """A = [[1, 2], [0, 3]]: M = 3 is an eigenvalue, not the norm; M = 3.5 is none."""
    A = np.array([[1.0, 2.0], [0.0, 3.0]])
    net = replace(diagonal(), W=np.ones((2, 2)), A=A, b=np.ones(2), gamma=0.2)
    p, found = implicit(net), {}
    for M in (3.0, 3.5):
        statement = dq.statements()["gao2022/lem3.2"](fixed={"M": M})
        found[M] = statement._largest_over_M(p, p.start)
    assert found[3.0].exact and found[3.0].value == 1
    assert found[3.5].value == pytest.approx(np.linalg.eigvals(net.DA).real.max() / 3.5, rel=1e-9)


@pytest.mark.parametrize("A", [[[4.0, 1.0], [1.0, 9.0]], [[4.0, -6.0], [-6.0, 9.0]]])
def test_roots_have_the_inner_products(A: list[list[float]]) -> None:
    R = thm5_steps.roots(np.array(A))
    np.testing.assert_allclose(R.T @ R, A, rtol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.999, 0.3])
def test_logarithms_of_factors_near_0_and_1_keep_their_digits(share: float) -> None:
    kappa = np.array([0.7, 0.7 * (1 - 1e-9), 0.41, 0.3, 0.2, 1e-12])
    found = Quadratic(kappa, np.ones(6)).logs(share)
    wanted = [1 - Fraction(share) * Fraction(k) / Fraction(0.7) for k in kappa]
    for log, factor in zip(found, wanted, strict=True):
        # 1 - x in rationals; for a small x log(1 - x) = -x - x^2/2 up to x^3.
        x = float(1 - factor)
        known = -x - x * x / 2 if x < 1e-5 else np.log(float(factor)) if factor else -np.inf
        assert log == pytest.approx(known, rel=1e-14)


def test_the_sequence_of_lemma_7_is_shown_by_its_numbers() -> None:
    verdict = dq.judge("xie2021/lem7", DEEP.problem())
    curves = [each.curve for each in verdict.conclusions if each.curve is not None]
    assert curves
    for curve in curves:
        assert curve.k.tolist() == [1, 2, 3, 4, 5, 6]
        assert curve.t == pytest.approx(4.0 ** -np.arange(1, 7), rel=1e-15)


@pytest.mark.parametrize(
    ("weights", "low", "recedes"),
    [
        ([[[0.6, 0.8]]], 0.0, True),
        ([[[0.6, 0.8]]], -np.inf, True),
        # Two lines that meet in 0, a line within a plane, two half-lines that meet in 0.
        ([[[1.0, 0.0]], [[0.0, 1.0]]], 0.0, False),
        ([[[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], 0.0, True),
        ([[[0.6, 0.8]], [[-0.6, -0.8]]], 0.0, False),
    ],
)
def test_a_set_of_fixed_points_recedes_where_a_direction_is_kept(
    weights: list[list[list[float]]], low: float, recedes: bool
) -> None:
    """z = W_l^T t_l with t_l >= low for every l: a cone."""
    found = RestingSet(tuple(np.array(W) for W in weights), low, np.inf)
    assert found.recedes == recedes


FREE = {"c_w": 0.3, "c_u": 0.5, "c_a": 0.7, "F": 0.9, "step": 1.0}
ROOMY = {"gamma": 0.25, "gamma0": 0.5, "lambda1": 1.5, "lambda3": 0.75, "X_fro": 2.0, "step": 1.0}


@pytest.mark.parametrize("lambda_0", [50.0, 0.01])
def test_each_entry_of_10_may_be_the_least(lambda_0: float) -> None:
    """Of a network it is the second: 2 s/((s + c_a^2)^2 F^2) <= 1/(2 c_a^2 F^2) <= 1/(2 lambda_0)
    for s = c_w^2 + c_u^2. The numbers are no network's."""
    s, square = 0.09 + 0.25, (0.09 + 0.25 + 0.49) ** 2
    wanted = min(2 / lambda_0, 2 * s / (square * 0.81))
    assert (wanted == 2 / lambda_0) == (lambda_0 > 1)
    claim = EQ10(**FREE, lambda_0=lambda_0)
    assert (claim.left.value, claim.relation) == (1.0, "<")
    assert claim.right.value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("alpha0", [50.0, 0.01])
def test_each_entry_of_20_may_be_the_least(alpha0: float) -> None:
    """Of a network it is the second (the first entry never counts)."""
    # C = 1 + (gamma lambda1/(1 - gamma0))^2, times lambda3^2.
    c = (1 + 0.75**2) * 0.5625
    wanted = min(4 / alpha0**2, 2 * 0.25 * c / ((c + 2.25) ** 2 * 4))
    assert (wanted == 4 / alpha0**2) == (alpha0 > 1)
    claim = SMALL_STEP(**ROOMY, alpha0=alpha0)
    assert (claim.left.value, claim.relation) == (1.0, "<")
    assert claim.right.value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("largest", [0, 1, 2])
@pytest.mark.parametrize(("id", "factor"), [("thm4.2", 4), ("thm4.4", 8), ("eta-claim", 8)])
def test_each_room_may_be_the_narrowest(id: str, factor: int, largest: int) -> None:
    """(17) and (13): lambda1/C3, gamma lambda1 lambda3/(C2 (1 - gamma0)) and lambda3/C1."""
    rooms = [0.01 if i == largest else 3.0 for i in range(3)]
    C = dict(zip(("C3", "C2", "C1"), rooms, strict=True))
    shares = [1.5 / C["C3"], 0.5625 / C["C2"], 0.75 / C["C1"]]
    assert int(np.argmax(shares)) == largest
    check = dq.statements()[f"gao2022/{id}"].first
    claim = check(**ROOMY, **C, alpha0=3.0, r0=1.25)
    assert (claim.left.value, claim.relation) == (9.0, ">=")
    assert claim.right.value == pytest.approx(factor * max(shares) * 2.5 / 0.5, rel=1e-12)


def test_the_steepest_change_of_the_state_is_attained() -> None:
    """For A = 0 and B along (1, -1) the bound on |dZ| is the norm of the derivative of
    Z = B (I - gamma softmax(A))^-1, by complex steps."""
    gamma, B = 0.6, np.array([[1.5, -1.5]])

    def Z(x: np.ndarray) -> np.ndarray:
        A, b = x[:4].reshape(2, 2), x[4:]
        S = np.exp(A) / np.exp(A).sum(axis=0)
        return np.asarray(b @ np.linalg.inv(np.eye(2) - gamma * S))

    at = np.concatenate([np.zeros(4), B[0]])
    J = np.array([Z(at + 1e-30j * e).imag / 1e-30 for e in np.eye(6)]).T
    d = Delm(np.eye(2), np.ones((1, 2)), np.zeros((2, 2)), B, gamma)
    assert steepest(d.problem().start) == pytest.approx(np.linalg.norm(J, 2), rel=1e-9)


@pytest.mark.parametrize(
    "numbers",
    [
        # Such that every part of an entry that counts is seen in one of them.
        {"lambda0": 0.307, "X": 0.118, "lU": 1.256, "lu": 0.012, "lA": 16.14},
        {"lambda0": 24.763, "X": 20.696, "lU": 0.041, "lu": 0.144, "lA": 1.712},
        {"lambda0": 54.594, "X": 0.574, "lU": 12.423, "lu": 1.009, "lA": 0.054},
    ],
)
def test_each_entry_of_the_printed_step_may_be_the_least(numbers: dict[str, float]) -> None:
    """But for the third, whose square is above the product of the second and the fourth."""
    x, X, U, u, A = (numbers[name] for name in ("lambda0", "X", "lU", "lu", "lA"))
    inner = u * u + (2 * U * u) ** 2 + (2 * U * u * A) ** 2 + U * U
    wanted = min((2 / x) ** 2, X**-2 / inner, 0.5 / (X * x * U * u * A), (x * u * A) ** -2 / 6)
    claim = dq.statements()["hieu2022/thm3.3.5"].step_printed(**numbers, step=1.0)
    assert (claim.left.value, claim.relation) == (1.0, "<=")
    assert claim.right.value == pytest.approx(wanted, rel=1e-12)


def test_states_around_a_single_fixed_point() -> None:
    """|z*| + (|grad R(z*)| + L_z |z*|/2)/c, of numbers that are no network's."""
    Z = np.array([[3.0], [4.0]])
    solved = SimpleNamespace(Z=Z, error=0.0, existence=Existence.UNIQUE)
    convexity = Measured(0.5)
    R = SimpleNamespace(
        strong_convexity=convexity, smoothness=6.0, gradient=lambda Z: np.array([[0.0], [7.0]])
    )
    p: Any = SimpleNamespace(start=SimpleNamespace(solved=solved))
    sam: Any = SimpleNamespace(R=R)
    assert thm4._around(p, sam).value == pytest.approx(5 + (7 + 3 * 5) / 0.5, rel=1e-12)
    R.strong_convexity = Measured(0.0)
    assert thm4._around(p, sam).value == np.inf
    R.strong_convexity, solved.existence = convexity, Existence.ISOLATED
    assert thm4._around(p, sam).value == np.inf


@pytest.mark.parametrize("last", [[2.0, 0.75], [2.0, 0.5], [-4.0, -1.0]])
def test_the_exact_kernel_of_samples_of_several_lengths(last: list[float]) -> None:
    """Entries as after many layers, also of samples that are multiples of each other; of one sample
    |x|^2/(d (1 - sigma_w^2)) exactly."""
    pytest.importorskip("flint")
    X, s2 = np.array([[1.0, 0.25], [-0.5, 1.5], last]).T, 0.25
    K, wanted = PopulationKernel(X, s2).again.K, limit(X, s2)
    for i, j in np.ndindex(3, 3):
        ends = (rational(wanted[i, j] + side * 1e-9) for side in (-1, 1))
        assert [compared(exact.entry(K, i, j), end).sign for end in ends] == [1, -1]
    # 4/(1 - 1/2), which a ball holds without a radius.
    alone = PopulationKernel(np.full((2, 1), 2.0), 0.5).again.K
    assert compared(exact.entry(alone, 0, 0), rational(8)).sign == 0


@pytest.mark.parametrize(("radius", "positive"), [(0.9, True), (1.1, False)])
def test_a_radius_is_taken_from_every_block(radius: float, positive: bool) -> None:
    """blockdiag(5 I, I, 5 I) - K kron I with the smallest eigenvalue 1 for K = 0."""
    M = np.array([5 * np.eye(2), np.eye(2), 5 * np.eye(2)])
    assert spectrum._positive(M, np.zeros((3, 3)), radius) == positive


def test_the_pair_with_the_smallest_minor_of_many_units() -> None:
    """(1 - w_11) (1 - w_22) - w_12 w_21 = 1/4 - 1/2 is negative; 7 * 7 - 30 is not."""
    W = np.zeros((illposed.MOST + 2, illposed.MOST + 2))
    W[1, 1] = W[2, 2] = 0.5
    W[1, 2], W[2, 1] = 0.5, 1.0
    W[4, 4] = W[6, 6] = -6.0
    W[4, 6], W[6, 4] = 5.0, 6.0
    found = illposed._units(W)
    assert found is not None and found.tolist() == [1, 2]
