"""The ReLU equilibrium model against its slow twins and 50-digit arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from deqcheck.fields import Refusal
from deqcheck.gradcheck import gradcheck
from deqcheck.linalg import relu_equilibrium
from deqcheck.linalg.well_posed import equilibria
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.problem import NoEquilibrium, NotCertified, Problem
from deqcheck.models.relu_deq import oracle
from deqcheck.models.relu_deq.model import ReluDeq, ReluDeqModel
from deqcheck.theorems.ling2022.condition import EQ10
from deqcheck.theorems.ling2022.condition import condition as condition_of
from deqcheck.theorems.ling2022.condition1 import Condition1
from deqcheck.theorems.quantities import of_papers
from tests.theorems.ling2022_problems import F1, relu_deq

SHAPES = [(1, 1, 1), (1, 3, 2), (4, 1, 3), (5, 3, 2), (3, 6, 4), (8, 5, 5)]


@pytest.mark.parametrize(("m", "n", "d"), SHAPES)
@pytest.mark.parametrize("q", [0.2, 0.9])
def test_gradients_agree_three_ways(m: int, n: int, d: int, q: float) -> None:
    for agreement in gradcheck(relu_deq(m, n, d, q)):
        assert agreement.agrees, agreement


def test_gradcheck_catches_a_wrong_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    p = relu_deq(4, 3, 2)
    right = p.model.objective

    def wrong(theta: dict[str, np.ndarray]) -> object:
        o = right(theta)
        return o._replace(gradient={**o.gradient, "U": o.gradient["U"] * (1 + 1e-5)})

    monkeypatch.setattr(p.model, "objective", wrong)
    assert [a.agrees for a in gradcheck(p)] == [True, False, True]


@pytest.mark.parametrize(("m", "n", "d"), SHAPES)
def test_the_hadamard_form_of_H_is_the_dense_one(m: int, n: int, d: int) -> None:
    for seed in range(3):
        state = relu_deq(m, n, d, 0.8, seed=seed).start
        dense = oracle.dense_H(state)
        assert np.linalg.norm(state.H - dense) <= 100 * state.H_radius
        for fast, slow in zip(state.H_parts, oracle.H_parts(state), strict=True):
            assert np.linalg.norm(fast - slow) <= 100 * state.H_radius
        r = state.r
        assert r @ dense @ r == pytest.approx(state.measure("gradient").value ** 2, rel=1e-11)


def test_printed_gradient_of_the_counterexample() -> None:
    arrays = {"X": [[2, 1], [1, 2]], "y": [2, 4], "W": [[0, 0], [0, 0]], "a": [1, 0]}
    state = relu_deq(2, 2, 2, U=np.eye(2), **arrays).start
    assert state.gradient["U"].tolist() == [[-3, -6], [0, 0]]
    printed = oracle.gradient(state, printed=True)["U"]
    assert printed.tolist() == [[0, 0], [-6, -3]]


@pytest.mark.parametrize(("m", "n"), [(1, 3), (4, 1)])
def test_the_printed_order_is_right_for_one_unit_or_one_sample(m: int, n: int) -> None:
    state = relu_deq(m, n, 2).start
    printed = oracle.gradient(state, printed=True)
    for name, g in state.gradient.items():
        assert printed[name] == pytest.approx(g, abs=1e-13)


def reference(p: Problem) -> dict[str, mp.mpf]:
    """Every quantity by its definition; the equilibrium by enumerating activation patterns."""
    t, X = p.theta0, mp.matrix(p.model.X.tolist())
    W, U = mp.matrix(t["W"].tolist()), mp.matrix(t["U"].tolist())
    a, y = mp.matrix(t["a"].tolist()), mp.matrix(p.model.y.tolist())
    m, n = W.rows, X.cols
    C = U * X
    Z, S, margin = mp.matrix(m, n), mp.matrix(m, n), mp.mpf("inf")
    for j in range(n):
        z, D = _pattern(W, C[:, j])
        Z[:, j] = z
        S[:, j] = D * ((mp.eye(m) - W.T * D) ** -1 * a)
        margin = min(margin, *(abs(h) for h in W * z + C[:, j]))
    r = Z.T * a - y
    E = S * mp.diag([r[j] for j in range(n)])
    gradients = {"W": E * Z.T, "U": E * X.T, "a": Z * r}
    G, SS, XX = Z.T * Z, S.T * S, X.T * X
    H = mp.matrix(n, n)
    for i, j in product(range(n), repeat=2):
        H[i, j] = G[i, j] + (G[i, j] + XX[i, j]) * SS[i, j]
    out = {f"gradient.{name}": _fro(g) for name, g in gradients.items()}
    lowest = mp.mpf(0) if m < n else min(mp.svd_r(Z, compute_uv=False))
    return {
        **out,
        "gradient": mp.sqrt(sum(x**2 for x in out.values())),
        "loss": _fro(r) ** 2 / 2,
        "residual": _fro(r),
        "sigma_min_Z": lowest,
        "lambda_0": lowest**2,
        "lambda_min_H": min(mp.eigsy(H, eigvals_only=True)),
        "kink_margin": margin,
        "X_fro": _fro(X),
        "norm2.W": max(mp.svd_r(W, compute_uv=False)),
        "norm2.U": max(mp.svd_r(U, compute_uv=False)),
        "norm2.a": _fro(a),
    }


def _pattern(W: mp.matrix, c: mp.matrix) -> tuple[mp.matrix, mp.matrix]:
    for on in product([0, 1], repeat=W.rows):
        D = mp.diag(list(on))
        z = (mp.eye(W.rows) - D * W) ** -1 * (D * c)
        h = W * z + c
        if all((h[i] > 0) == bool(on[i]) for i in range(W.rows)):
            return z, D
    raise AssertionError("no pattern fits")


def _fro(a: mp.matrix) -> mp.mpf:
    return mp.sqrt(mp.fsum(x**2 for x in a))


@pytest.mark.parametrize(("m", "n", "d", "q"), [(3, 2, 2, 0.5), (4, 3, 2, 0.95), (2, 3, 3, 0.3)])
def test_every_quantity_lies_within_its_bar_in_50_digits(m: int, n: int, d: int, q: float) -> None:
    for seed in range(3):
        p = relu_deq(m, n, d, q, seed=seed)
        with mp.workdps(50):
            for name, truth in reference(p).items():
                got = p.start.measure(name)
                assert abs(got.value - truth) <= got.error, name
                # H has two sensitivities, each a solve with condition 1/(1 - q).
                assert got.error <= 1e-11 / (1 - q) ** 2 * (abs(truth) + 1), name


def test_the_condition_in_50_digits() -> None:
    p = relu_deq(4, 2, 3, 0.5, seed=1)
    delta = 0.1
    found = condition_of(p.start).at(delta)
    with mp.workdps(50):
        truth = reference(p)
        w, u, a = (truth[f"norm2.{n}"] + mp.mpf(delta) for n in "WUa")
        expected = {"rho_w": w, "rho_u": u, "rho_a": a, "c_w": u * a / (1 - w) ** 2,
                    "c_u": a / (1 - w), "c_a": u / (1 - w)}  # fmt: skip
        for name, value in expected.items():
            assert abs(found[name].value - value) <= found[name].error, name


def test_f1_has_the_published_numbers() -> None:
    condition = condition_of(relu_deq(2, 2, 2, **F1).start)
    assert condition.lambda_0.value == pytest.approx(2170.27, abs=0.005)
    assert np.exp(condition.log_ratios(3 / 16)) == pytest.approx([1.0235, 2.342, 1.0233], abs=5e-4)
    assert condition.window() == pytest.approx((0.18170835, 0.18892263), abs=1e-8)
    assert 0.999 * condition.step(EQ10, 3 / 16).value == pytest.approx(1.489e-5, rel=1e-3)


@pytest.mark.parametrize("with_9", [True, False])
def test_the_window_is_the_feasible_set(with_9: bool) -> None:
    """Against a fine grid: inside the window every ratio is at least 1, outside one is below."""
    found = 0
    for seed in range(30):
        condition = condition_of(relu_deq(6, 2, 3, 0.1, seed=seed, scale=(60.0, 1e-3)).start)
        grid = np.geomspace(1e-9, 1 - condition.q.value, 1001)[:-1]
        feasible = np.array([condition.worst(float(x), with_9) >= 0 for x in grid])
        window = condition.window(with_9)
        if window is None:
            assert not feasible.any()
            continue
        found += 1
        inside = (grid >= window[0]) & (grid <= window[1])
        assert (feasible == inside).all()
    assert 3 < found < 30 or not with_9


TINY = {
    "X": [[1, 1], [0, 3e-8]],
    "W": np.zeros((2, 2)),
    "U": [[1e-10, 0], [1e-10, 1e-10]],
    "a": np.zeros(2),
}


@pytest.mark.parametrize("labels", [1.0, 1e-10, 1e-40])
def test_radii_far_below_the_room_are_found(labels: float) -> None:
    """sigma_min(Z) is 2e-18, so that (9) needs delta < 1e-18, and (7) allows it for tiny labels."""
    p = relu_deq(2, 2, 2, **TINY, y=labels * np.array([1e-70, -5e-71]))
    condition = condition_of(p.start)
    window = condition.window()
    assert window is not None
    assert condition.worst(1e-19) >= 0 and window[0] < 1e-19 < window[1] < 1e-17
    assert condition.worst(condition.best) > 0


def test_labels_too_large_for_any_radius() -> None:
    p = relu_deq(2, 2, 2, **TINY, y=np.array([1e-40, -5e-41]))
    assert condition_of(p.start).window() is None
    grid = np.geomspace(1e-60, 0.5, 2000)
    assert max(condition_of(p.start).worst(float(x)) for x in grid) < 0


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1e-5, 1.0, 1e5])
def test_the_range_of_the_search_loses_nothing(scale: float) -> None:
    """Against a grid over all radii, for labels from tiny to large."""
    for seed in range(4):
        drawn = relu_deq(6, 2, 3, 0.1, seed=seed, scale=(60.0, 1e-3))
        y = scale * drawn.model.y
        for a in (np.zeros(6), drawn.theta0["a"]):
            condition = relu_deq(6, 2, 3, 0.1, seed=seed, scale=(60.0, 1e-3), y=y, a=a)
            found = condition_of(condition.start)
            for with_9, best in ((True, found.best), (False, found.best_without_9)):
                grid = np.geomspace(1e-250, 0.99 * (1 - found.q.value), 1000)
                worst = [found.worst(float(x), with_9) for x in grid]
                assert found.worst(best, with_9) >= max(worst) - 1e-9 or found.worst(best) >= 0


def test_proposition_f_caps_the_ratio_of_9() -> None:
    for seed in range(40):
        p = relu_deq(5, 3, 4, 0.6, seed=seed)
        condition = condition_of(p.start)
        for delta in np.geomspace(1e-6, 0.39, 7):
            ratio = np.exp(condition.log_ratios(float(delta))[2])
            cap = Condition1.cap.right({"n": 3, **condition.at(float(delta))})
            assert ratio <= cap.high


def test_a_residual_of_zero_voids_7_and_8() -> None:
    p = relu_deq(8, 2, 2, 0.2, y=np.zeros(2), a=np.zeros(8))
    assert p.start.residual.value == 0
    assert np.isposinf(condition_of(p.start).log_ratios(0.1)[:2]).all()


@pytest.mark.parametrize(
    ("w", "c", "error", "words"),
    [
        (2, [1], NoEquilibrium, "sample 1 has no equilibrium on any activation pattern"),
        (2, [-1], NotCertified, "sample 1 has several equilibria"),
        (1, [0], NotCertified, "sample 1 has several equilibria"),
        # z = relu(2 z) has z = 0 alone.
        (2, [0, 0, 1], NoEquilibrium, "sample 3 has no equilibrium on any activation pattern"),
        (2, [0, 0, -1], NotCertified, "sample 3 has several equilibria"),
        (2, [0, 0], NotCertified, "the equilibrium is unique for these samples, not for every one"),
    ],
)
def test_without_contraction_the_tool_says_what_is_known(
    w: float, c: list[float], error: type, words: str
) -> None:
    X = [c, [1.0] * len(c)]
    state = relu_deq(1, len(c), 2, W=[[w]], U=[[1, 0]], X=X).start
    with pytest.raises(error, match=words):
        _ = state.Z
    with pytest.raises(error, match=words):
        _ = state.system


def test_a_cycling_iteration_is_not_called_no_equilibrium() -> None:
    state = relu_deq(1, 1, 1, W=[[-2]], U=[[1]], X=[[1]]).start
    assert state.Z[0, 0] == pytest.approx(1 / 3, abs=1e-15)
    assert abs(state.Z[0, 0] - 1 / 3) <= state.equilibrium.error < 1e-14


def test_sweeps_that_do_not_settle_are_not_called_no_equilibrium(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relu_equilibrium, "SWEEPS", 2)
    monkeypatch.setattr(relu_equilibrium, "POLISH_BUDGET", 0.0)
    with pytest.raises(NotCertified, match="after 2 sweeps"):
        _ = relu_deq(6, 3, 2, 0.99).start.Z


def test_every_kind_of_certificate_gives_the_enumerated_equilibrium() -> None:
    """Skew, nilpotent and cyclic W: monotone, small |W|, and a P-matrix on which sweeps cycle."""
    for W in (
        [[0.0, 2.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 0.1]],
        [[0.0, 5.0, 1.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]],
        [[0.0, -3.0, 0.0], [0.0, 0.0, -3.0], [-3.0, 0.0, 0.0]],
    ):
        for seed in range(5):
            p = relu_deq(3, 4, 2, W=W, seed=seed)
            each = equilibria(p.theta0["W"], p.theta0["U"] @ p.model.X)
            assert [len(found) for found in each] == [1] * 4
            truth = np.stack([found[0] for found in each], axis=1)
            off = np.linalg.norm(p.start.Z - truth)
            assert off <= p.start.equilibrium.error + 1e-13 * np.linalg.norm(truth)
            assert all(agreement.agrees for agreement in gradcheck(p))


def test_a_wide_model_without_certificate_is_not_known() -> None:
    r = np.random.default_rng(0)
    state = relu_deq(40, 1, 1, W=np.abs(r.normal(size=(40, 40)))).start
    with pytest.raises(NotCertified, match="40 units are too many for the P-matrix test"):
        _ = state.Z


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": [[1.0, 0.0], [2.0, 0.0]]}, "column 2 of X is zero"),
    ],
)
def test_bad_data_is_refused(arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        ReluDeq().build({"X": np.array(arrays["X"]), "y": np.ones(2)}, HalfSquare())
    assert message in refusal.value.problems[0][1]


def test_several_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 outputs for each sample; expected 1"):
        ReluDeq().from_samples(np.ones((2, 3)), np.ones((2, 3)))


def test_verdicts_do_not_depend_on_the_order_of_samples_and_units() -> None:
    p = relu_deq(6, 4, 3)
    r = np.random.default_rng(1)
    samples, units = r.permutation(4), r.permutation(6)
    t = p.theta0
    q = relu_deq(
        6, 4, 3, X=p.model.X[:, samples], y=p.model.y[samples],
        W=t["W"][np.ix_(units, units)], U=t["U"][units], a=t["a"][units],
    )  # fmt: skip
    for name in set(p.start.names) - {"equilibrium.error", "equilibrium.residual", "delta"}:
        one, other = p.start.measure(name), q.start.measure(name)
        assert abs(one.value - other.value) <= one.error + other.error + 1e-6 * abs(
            one.value * (name.startswith(("rho", "c_")))
        ), name


def test_rotated_inputs_with_rotated_weights_are_the_same_model() -> None:
    p = relu_deq(5, 3, 3)
    R = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    q = relu_deq(5, 3, 3, **{**p.theta0, "U": p.theta0["U"] @ R.T}, X=R @ p.model.X, y=p.model.y)
    for name in ("loss", "lambda_0", "lambda_min_H", "gradient"):
        one, other = p.start.measure(name), q.start.measure(name)
        assert abs(one.value - other.value) <= one.error + other.error + 1e-13 * one.value


def test_population_quantities_appear_with_sigma_w2() -> None:
    assert "lambda_star" not in of_papers("relu-deq", relu_deq(3, 2, 2).start)
    found = of_papers("relu-deq", relu_deq(3, 2, 2, sigma_w2=0.05).start)
    assert found["lambda_star"].value > 0 and found["K_fro"].value > 0


def test_bars_do_not_vanish_where_squares_underflow() -> None:
    """U X cancels to nine digits, and |X|^2 is below the smallest double."""
    X, U = np.array([[0.1], [0.1 * (1 + 1e-9)]]) * 1e-170, np.array([[-0.7, 0.7]]) * 1e150
    state = ReluDeqModel(X, np.zeros(1)).at({"W": np.zeros((1, 1)), "U": U, "a": np.ones(1)})
    exact = sum(Fraction(float(u)) * Fraction(float(x)) for u, x in zip(U[0], X[:, 0], strict=True))
    found = state.solve()
    assert abs(Fraction(float(found.Z[0, 0])) - exact) <= Fraction(found.error)


def test_weights_that_are_not_numbers_have_no_equilibrium() -> None:
    theta = {"W": np.full((3, 3), np.nan), "U": np.ones((3, 1)), "a": np.ones(3)}
    with pytest.raises(NotCertified, match="W is not finite"):
        ReluDeqModel(np.ones((1, 1)), np.zeros(1)).at(theta).objective  # noqa: B018


def test_a_nilpotent_matrix_of_norm_next_to_one_has_its_equilibrium() -> None:
    """z2 = relu(u2 x) and z1 = relu(w z2 + u1 x): the bar is that of two sums."""
    w, U, X = 1 - 1e-13, np.array([[1.0], [0.7]]), np.array([[1.0, 0.5]])
    theta = {"W": np.array([[0.0, w], [0.0, 0.0]]), "U": U, "a": np.ones(2)}
    found = ReluDeqModel(X, np.zeros(2)).at(theta).equilibrium
    second = U[1, 0] * X[0]
    np.testing.assert_allclose(found.Z, [w * second + X[0], second], rtol=1e-15)
    assert found.error < 1e-13
