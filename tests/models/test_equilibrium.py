"""Trained equilibrium networks: the reference instances, and what W is made of."""

from __future__ import annotations

from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq

import deqcheck as dq
from deqcheck.linalg.minors import MOST
from deqcheck.models.equilibrium import distance, lipschitz
from deqcheck.models.equilibrium.illposed import _by_eigenvector, witness
from deqcheck.models.equilibrium.model import rounded
from deqcheck.models.equilibrium.parametrised import nemon, projected
from deqcheck.models.equilibrium.robust import Gains, radius
from deqcheck.models.equilibrium.state import EquilibriumState, inverse_bound
from deqcheck.models.equilibrium.weights import (
    Weighted,
    Weights,
    conformal,
    forward_factor,
    forward_limit,
    isometric,
    reflected_factor,
)
from deqcheck.records.measured import Measured
from deqcheck.theorems.fung2022.descent import inner
from tests.independent.equilibrium_model import I1, I2, I3, I4, I5, I6, problem
from tests.independent.equilibrium_moves import J1


def start(v: dict[str, Any], **more: Any) -> EquilibriumState:
    return problem({**v, **more}).start


def near(x: Any, y: float, rel: float = 1e-8) -> bool:
    assert x.error <= 1e-8 * abs(y) + 1e-12
    return x.value == pytest.approx(y, rel=rel)


def test_a_contraction() -> None:
    s = start(I1)
    assert np.allclose(13 * s.Z[:, 0], [18, 1], atol=1e-13)
    w = s.weights
    assert near(w.norm2, 0.5) and near(w.modulus, 0.7) and near(w.rho, 0.7)
    assert near(w.lipschitz**2, 0.65) and near(2 * w.inverse_modulus, 28 / 13)
    assert near(w.worst_inverse, 1.604589228, 1e-9)
    (r,) = s.residuals(s.model.z)
    assert near(distance.by_norm2(w, r), 0.6) and near(distance.by_norm_inf(w, r), 1.0)
    assert distance.by_perron(w, r) == pytest.approx([7 / 11, 4 / 11])
    assert near(distance.by_monotone(w, r), 0.481377, 1e-5)
    found = radius(s, 0, Gains(s))
    assert found.radius == pytest.approx(1.0, rel=1e-8) and found.margin == pytest.approx(17 / 13)
    assert radius(s, 0, Gains(s), local=False).radius == pytest.approx(0.594186, rel=1e-5)


def test_a_bound_that_is_near_enough_is_the_last_one_asked_for() -> None:
    """A quarter turn times 1/2: |r|/(1 - 1/2) is three times |r|/(1 + 1/2), below which no bound
    is; that of the monotone theorem is smaller."""
    W, r = np.array([[0.0, -0.5], [0.5, 0.0]]), distance.Residual(np.ones(2), np.zeros(2))
    first, of = distance.nearest(Weights(W), r, 3.01)
    assert near(first, 2 * np.sqrt(2)) and of == "banach/norm2"
    best, of = distance.nearest(Weights(W), r, 2.99)
    assert of == "winston2020/unique" and best.value < 0.7 * first.value
    assert distance.nearest(Weights(W), r)[1] == of


def test_a_rotation() -> None:
    s = start(I2)
    assert np.allclose(s.Z[:, 0], 0.25, atol=1e-13)
    assert near(s.weights.modulus, 1.0) and near(s.weights.lipschitz**2, 10.0)
    assert near(s.weights.worst_inverse, (3 + np.sqrt(13)) / 2)
    (r,) = s.residuals(np.zeros((2, 1)))
    assert near(distance.by_patterns(s.weights, r), 3.302776, 1e-6)
    assert near(distance.pang(s.weights, r), 4.162278, 1e-6)
    assert radius(s, 0, Gains(s)).radius == pytest.approx(np.sqrt(2) / 4, rel=1e-8)
    assert isometric(I2["W"]) and conformal(I2["W"]) and not isometric(I3["W"])


def test_not_monotone() -> None:
    s = start(I3, Y=[[10.0], [10.0]])
    assert np.allclose(s.Z[:, 0], [11, 1])
    assert near(s.weights.modulus, -4.0)
    lam = s.weights.diagonal.weights
    assert lam[1] / lam[0] == pytest.approx(121)
    other = Weighted(I3["W"], np.sqrt([1 / 11, 11]))
    assert near(other.modulus, 6 / 11) and near(other.lipschitz, 1.553004, 1e-6)
    assert near(2 * other.inverse_modulus, 12 / 11)


def test_only_a_p_matrix() -> None:
    w = start(I4).weights
    assert near(w.worst_inverse, 10.089291, 1e-7)
    assert not w.diagonal.feasible and w.diagonal.most <= 0
    for c, z in (((1, 1, 1), (0.25, 0.25, 0.25)), ((1, 2, 4), (1, 0, 1))):
        assert np.allclose(start(I4, U=np.array([c]).T).Z[:, 0], z)


def test_a_non_euclidean_contraction() -> None:
    s = start(I5)
    assert np.allclose(s.Z[:, 0], [1.9, 2])
    assert near(s.weights.mu, 0.5) and near(s.weights.rho, 9.0)
    assert near(s.weights.modulus, -1.293126, 1e-6)


def test_two_equilibria() -> None:
    found = witness(I6["W"])
    assert found is not None and found.minor.value == -3
    assert found.residual(found.first) == found.residual(found.second) == 0 < found.distance
    assert witness(I4["W"]) is None
    wide = np.zeros((20, 20))
    wide[:3, :3] = [[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]]
    by_vector = witness(wide)
    assert by_vector is not None and by_vector.residual(by_vector.first) == 0
    # Of many units the pair with the smallest minor: 1/64 - 1/16 here, and 1 - 9/16 there.
    pairs = np.zeros((20, 20))
    pairs[:2, :2], pairs[2:4, 2:4] = [[7 / 8, 0.25], [0.25, 7 / 8]], [[0, 0.75], [0.75, 0]]
    by_pair = witness(pairs)
    assert by_pair is not None and by_pair.minor.value == -3 / 64 and by_pair.how == "of units 0, 1"
    apart = np.zeros((20, 20))
    apart[5, 9] = apart[9, 5] = 2.0
    others = witness(apart)
    assert others is not None and others.minor.value == -3 and others.how == "of units 5, 9"


SHEARED = np.array([[0.2, 9.0], [0.0, 0.2]])


# By |W|, by the modulus of I - W, by that in another norm, and by every pattern.
@pytest.mark.parametrize(
    ("W", "above"),
    [
        (0.5 * np.eye(3), 1.0),
        (0.8 * np.array([[0.6, -0.8], [0.8, 0.6]]), 2.0),
        (np.array([[-2.0, 3.0], [-3.0, -2.0]]), 2.0),
        (SHEARED, 20.0),
        (np.array([[0, 0, -2.5], [2.5, 0, 0], [0, 2.5, 0]]), 1.0),
    ],
)
def test_the_bound_on_inverses_holds_for_every_pattern(W: np.ndarray, above: float) -> None:
    found, n = inverse_bound(Weights(W)), len(W)
    every = [np.linalg.inv(np.eye(n) - W.T * on) for on in product([0, 1], repeat=n)]
    largest = max(np.linalg.norm(each, 2) for each in every)
    assert largest <= found * (1 + 1e-14) and found <= above * largest * (1 + 1e-9)


@pytest.mark.parametrize("w", [0.0, -1e-4, -1.0, -30.0])
def test_the_bar_of_the_worst_inverse_grows_with_what_is_inverted(w: float) -> None:
    """One unit with W = -|w|: K = 1, attained without it, and |I - W| = 1 + |w| is the largest
    matrix that is inverted. The backward error of an inverse is a multiple of that."""
    found, plain = Weights(np.array([[w]])).worst_inverse, Weights(np.zeros((1, 1))).worst_inverse
    assert found is not None and plain is not None
    largest = max(abs(1 - on * w) for on in (0, 1))
    assert found.value == plain.value == max(1 / abs(1 - on * w) for on in (0, 1))
    assert found.error == pytest.approx(largest * plain.error, rel=1e-12, abs=0)
    # At least what is lost when a matrix of this size is rounded.
    assert found.error >= np.spacing(largest)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 0.9])
def test_the_bar_of_the_worst_inverse_holds_many_digits(seed: int, scale: float) -> None:
    """With W small 1 is what rounds, not W."""
    W = scale * np.random.default_rng(seed).uniform(-0.5, 0.5, size=(2, 2))
    with mpmath.workdps(50):
        worst = max(
            mpmath.svd_r(
                mpmath.inverse(mpmath.eye(2) - mpmath.diag(D) * mpmath.matrix(W.tolist())),
                compute_uv=False,
            )[0]
            for D in product([0, 1], repeat=2)
        )
        found = Weights(W).worst_inverse
        assert found is not None
        assert abs(worst - float(found.value)) <= float(found.error)


def test_a_gain_that_is_too_small_is_not_certified() -> None:
    """g X >= C^T C/t + t Lambda U U^T Lambda, X = Lambda F + F^T Lambda: the least g is the largest
    eigenvalue of the right side against X; a little less is raised to it, much less to none."""
    state, weights, t = start(I1), np.array([1.0, 2.0]), 0.7
    C, U = state.C, weights[:, None] * state.U
    X = weights[:, None] * (np.eye(2) - state.W)
    rest = C.T @ C / t + t * U @ U.T
    least = float(np.linalg.eigvals(np.linalg.solve(X + X.T, rest)).real.max())
    for share in (1.0, 1 - 1e-9, 1 - 1e-7):
        found = lipschitz._certified(state, C, weights, t, share * least).value
        assert least * (1 - 1e-13) <= found <= least * (1 + 1e-5)
    assert np.isinf(lipschitz._certified(state, C, weights, t, 0.9 * least).value)


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_gain_is_raised_by_what_is_missing_and_by_little_more(
    scale: float, weight: float
) -> None:
    """For equal weights and t = 1/weight the least g is the largest eigenvalue of C^T C + U U^T
    against 2 I - W - W^T. What is missing is added in one go where it is as little as was tried,
    so that 100 times as much is not; where more is missing, nothing that is tried serves."""
    state = start(I1, C=scale * I1["C"], U=scale * I1["U"])
    X = 2 * np.eye(state.n) - state.W - state.W.T
    rest = state.C.T @ state.C + state.U @ state.U.T
    least = float(np.linalg.eigvals(np.linalg.solve(X, rest)).real.max())

    def found(g: float) -> float:
        weights = np.full(state.n, weight)
        return float(lipschitz._certified(state, state.C, weights, 1 / weight, g).value)

    for tried in lipschitz.RAISED[:-1]:
        assert least * (1 - 1e-14) <= found(least * (1 - 1.25 * tried)) <= least * (1 + tried)
    assert np.isinf(found(0.999 * least))


def test_a_gain_that_does_not_concern_a_weak_direction_is_not_raised_for_it() -> None:
    """X = diag(2, 2e-9) and C^T C + U U^T = diag(2, 0): g = 1 serves, and with the least of raises
    it is certain. To add what the bar hides along the second axis would take 1e9 times the bar."""
    W = np.diag([0.0, 1 - 1e-9])
    state = start(I1, W=W, U=np.array([[1.0], [0.0]]), C=np.diag([1.0, 0.0]))
    found = lipschitz._certified(state, state.C, np.ones(2), 1.0, 1.0).value
    assert 1 <= found <= 1 + 2 * lipschitz.RAISED[0]


def test_the_bound_on_inverses_in_another_norm() -> None:
    w = Weights(SHEARED)
    T, modulus = w.weighted.T, w.weighted.modulus
    expected = 1 + np.linalg.norm(SHEARED, 2) * T.max() / T.min() / modulus.value
    assert inverse_bound(w) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("at", [0.1, 0.45, 0.55, 0.9])
def test_golden_sections(at: float) -> None:
    """Without a cut the better of the two points, after many the smallest value."""
    tried = {u: abs(u - at) for u in (1 - lipschitz.GOLDEN, lipschitz.GOLDEN)}
    assert lipschitz.least(lambda u: abs(u - at), 0.0, 1.0, 0) == min(tried, key=tried.__getitem__)
    assert lipschitz.least(lambda u: abs(u - at), 0.0, 1.0, 32) == pytest.approx(at, abs=1e-6)


def test_a_batch_that_ascends() -> None:
    """-80073/40000 without the read-out, whose square is 1/8000."""
    assert near(inner(start(J1)), -80073 / 40000 + 1 / 8000)


def test_without_a_theorem_there_is_no_bar() -> None:
    s = start(I6)
    assert s.equilibrium.error == np.inf and s.measure("loss").error == np.inf


def test_smooth_equilibria_are_certified() -> None:
    v = {"W": [[-2.0]], "U": [[1.0]], "C": [[1.0]]}
    p = dq.problem("equilibrium", {"X": [[1.0]], "Y": [[0.0]]}, v, activation="tanh")
    assert p.start.Z[0, 0] == pytest.approx(0.3290940403, abs=1e-10)
    assert 0 < p.start.equilibrium.error < 1e-14


def test_parametrisations() -> None:
    r = np.random.default_rng(0)
    A, d = r.normal(size=(4, 4)), r.normal(size=4)
    assert Weights(nemon(0.3, A, d)).mu.high <= 0.3 + 1e-12
    W = projected(3 * A, 0.95)
    assert np.abs(W).sum(axis=1) == pytest.approx(0.95)
    # The nearest point: all sizes lose the same, as far as they go; many rows keep several entries.
    rows = np.vstack([3 * A, 0.7 * A + np.sign(A)])
    for row, found in zip(rows, projected(rows, 0.95), strict=True):
        lost = brentq(lambda t, a=row: np.maximum(np.abs(a) - t, 0).sum() - 0.95, 0, 30, xtol=1e-14)
        assert found == pytest.approx(np.sign(row) * np.maximum(np.abs(row) - lost, 0), abs=1e-12)
    V = rounded(A, 4)
    unit = np.abs(A).max() / 7
    assert np.allclose(V / unit, np.round(V / unit)) and np.abs(V - A).max() <= unit / 2 * (
        1 + 1e-12
    )


@pytest.mark.parametrize("a", [0.1, 0.7, 3.0])
def test_factors_of_splittings(a: float) -> None:
    """F = m I + w J with J^2 = -I, of which they are the norms themselves."""
    m, w = 0.4, 1.1
    F, L = m * np.eye(2) + w * np.array([[0.0, -1.0], [1.0, 0.0]]), float(np.hypot(m, w))
    told = [Measured(x) for x in (a, m, L)]
    forward = np.linalg.norm(np.eye(2) - a * F, 2)
    reflected = np.linalg.norm((np.eye(2) - a * F) @ np.linalg.inv(np.eye(2) + a * F), 2)
    assert forward_factor(*told).value == pytest.approx(forward, rel=1e-12)
    assert reflected_factor(*told).value == pytest.approx(reflected, rel=1e-12)
    limit = forward_limit(*told[1:])
    assert np.linalg.norm(np.eye(2) - limit.value * F, 2) == pytest.approx(1, rel=1e-12)


def test_minors_of_drawn_patterns_and_of_the_full_one() -> None:
    """Of I/2 and 17 units: 2^-k for k units, least for all."""
    found = Weights(0.5 * np.eye(MOST + 1))
    smallest = found.minors.smallest
    assert not found.affordable and smallest.error < 1e-9
    assert abs(smallest.value - 0.5 ** (MOST + 1)) <= smallest.error
    assert found.patterns_told == "20 drawn patterns, and the full one"


def test_the_gain_of_a_difference_of_outputs() -> None:
    """No smaller than |(C_k - C_j) (I - D W)^-1 D U + D_k - D_j| over all patterns; without the
    layer, |D_k - D_j|."""
    r = np.random.default_rng(4)
    W, U, C = 0.2 * r.normal(size=(3, 3)), r.normal(size=(3, 2)), r.normal(size=(3, 3))
    D, data = r.normal(size=(3, 2)), {"X": r.normal(size=(2, 1)), "Y": np.zeros((3, 1))}
    patterns = [np.array(each)[:, None] for each in product((0, 1), repeat=3)]
    slopes = [np.linalg.solve(np.eye(3) - on * W, on * U) for on in patterns]
    for scale in (0.0, 1.0):
        theta = {"W": W, "U": U, "C": scale * C, "D": D}
        state = dq.problem("equilibrium", data, theta).start
        gains = Gains(state)
        for k, j in ((0, 1), (2, 0), (1, 2)):
            row, direct = scale * (C[k] - C[j]), D[k] - D[j]
            least = max(float(np.linalg.norm(row @ slope + direct)) for slope in slopes)
            assert least <= gains.of(k, j) == gains.of(j, k)
            if not scale:
                assert gains.of(k, j) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("local", [True, False])
def test_without_a_layer_the_radius_is_the_distance_from_the_nearest_boundary(local: bool) -> None:
    r = np.random.default_rng(5)
    x, D = r.normal(size=(2, 1)), r.normal(size=(3, 2))
    theta = {"W": np.zeros((1, 1)), "U": np.ones((1, 2)), "C": np.zeros((3, 1)), "D": D}
    state = dq.problem("equilibrium", {"X": x, "Y": np.zeros((3, 1))}, theta).start
    y = (D @ x)[:, 0]
    k = int(np.argmax(y))
    ways = {i: (y[k] - y[i]) / np.linalg.norm(D[k] - D[i]) for i in range(3) if i != k}
    found = radius(state, 0, Gains(state), local)
    assert (found.predicted, found.other) == (k, min(ways, key=ways.__getitem__))
    assert found.radius == pytest.approx(min(ways.values()), rel=1e-6)
    assert found.margin == pytest.approx(min(y[k] - y[i] for i in ways), rel=1e-6)


def test_a_witness_by_an_eigenvector() -> None:
    """Of W = diag(3, 1/2, ...): 1 - 3, along the first unit."""
    found = _by_eigenvector(np.diag([3.0, *[0.5] * MOST]))
    assert found is not None and (found.minor.value, found.minor.error) == (-2, 0)


def test_it_is_not_trained() -> None:
    with pytest.raises(dq.UsageError, match="is checked as it is, and not trained"):
        dq.judge("banach/norm2", problem(I1), train={"kind": "gd", "step": 1e-3, "steps": 5})


def test_a_minor_that_only_rationals_see() -> None:
    """det(I - W) = 4.5e-19 > 0: a P-matrix, whose inverse is none in doubles."""
    W = [[0.44510974265133174, 0.9276102821011161], [0.33320129161472783, 0.44298725735784317]]
    arrays = {"W": W, "U": [[1.0], [1.0]], "C": np.eye(2)}
    p = dq.problem("equilibrium", {"X": [[1.0]], "Y": [[0.0], [0.0]]}, arrays, activation="tanh")
    assert p.start.weights.minors.smallest.low > 0
    assert p.start.equilibrium.error == np.inf
    assert dq.judge("lcp/error", p).outcome == "not checked"


def test_the_box_of_a_network_without_feedback_is_that_of_its_matrices() -> None:
    """With W = 0 and active units y = C U x + D x: every output moves by |C| |U| + |D| at most."""
    r = np.random.default_rng(3)
    C, U, D = r.normal(size=(2, 3)), r.normal(size=(3, 2)), r.normal(size=(2, 2))
    init = {"W": np.zeros((3, 3)), "U": U, "C": C, "D": D}
    p = dq.problem("equilibrium", {"X": r.normal(size=(2, 4)), "Y": np.zeros((2, 4))}, init)
    for box in (lipschitz.box_of_absolute(p.start), lipschitz.box_of_metzler(p.start)):
        assert box == pytest.approx(np.abs(C) @ np.abs(U) + np.abs(D), rel=1e-13)


def test_a_distance_in_the_norm_of_a_scaling() -> None:
    """Lambda^1/2 d is bounded, so d is by that over the smallest entry of Lambda^1/2."""
    w = Weights(SHEARED)
    r = distance.Residual(np.array([0.3, -0.2]), np.zeros(2))
    T, m, W = w.weighted.T, float(w.weighted.modulus.value), w.array
    assert T.min() < 0.9 * T.max()
    turned = np.diag(T) @ W @ np.diag(1 / T)
    s = T * r.array
    a, length = float(np.linalg.norm((2 * np.eye(2) - turned).T @ s)), float(np.linalg.norm(s))
    plain = length + float(np.linalg.norm(turned @ s)) / m
    root = (a + np.sqrt(max(a * a - 4 * m * length**2, 0.0))) / (2 * m)
    assert near(distance.by_diagonal(w, r), min(plain, root) / float(T.min()))


def test_a_step_is_positive_where_the_inverse_has_no_digits() -> None:
    """I - W has the eigenvalues 1 and 1.3e-10: beta = 1, known up to 9e4."""
    data, W = {"X": np.ones((2, 1)), "Y": np.zeros((2, 1))}, np.full((2, 2), 0.49999999993509897)
    p = dq.problem("equilibrium", data, {"W": W, "U": np.eye(2), "C": np.eye(2)})
    assert p.start.weights.inverse_modulus.low < 0
    found = dq.judge("winston2020/fb", p)
    sharp = next(c for c in found.conclusions if c.equation == "a < 2 beta")
    assert found.outcome == "undecided" and sharp.decision == "holds"
