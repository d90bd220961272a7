"""The deep equilibrium linear model against its slow twins and 50-digit arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import mpmath as mp
import numpy as np
import pytest

from deqcheck.fields import Refusal
from deqcheck.gradcheck import TRUNCATION_SAFETY, gradcheck, truncation
from deqcheck.kinds import OuterLoss
from deqcheck.linalg.kron import vec
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.smoothed_hinge import SmoothedHinge
from deqcheck.losses.square import Square
from deqcheck.models.delm import oracle, spectrum
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Problem, gradient_norm

SHAPES = [(1, 1, 1), (2, 5, 1), (4, 9, 2), (5, 3, 1), (3, 8, 3), (3, 7, 5), (6, 4, 2)]
Builder = Callable[..., Problem]


@pytest.mark.parametrize(("m", "n", "my"), SHAPES)
@pytest.mark.parametrize("gamma", [0.1, 0.6, 0.99])
def test_gradients_agree_three_ways(delm: Builder, m: int, n: int, my: int, gamma: float) -> None:
    for agreement in gradcheck(delm(m, n, my, gamma)):
        assert agreement.agrees, agreement


LABELS = [[-1.0, 1.0, 1.0, -1.0, 1.0]]


@pytest.mark.parametrize(
    ("loss", "Y"),
    [
        (Square(), [[0.3, -2.0, 0.7, 1.1, 0.2]]),
        (Logistic(), np.maximum(LABELS, 0)),
        (SmoothedHinge(), LABELS),
    ],
)
def test_the_gradient_alone_is_that_beside_the_bars(
    delm: Builder, loss: OuterLoss, Y: np.ndarray
) -> None:
    p = delm(4, 5, 1, loss=loss, Y=Y)
    alone, beside = p.model.gradient(p.theta0), p.model.objective(p.theta0).gradient
    for name, array in beside.items():
        np.testing.assert_allclose(alone[name], array, rtol=1e-14, atol=1e-14)


def test_gradcheck_catches_a_wrong_gradient(delm: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    p = delm()
    right = p.model.objective

    def wrong(theta: dict[str, np.ndarray]) -> object:
        o = right(theta)
        return o._replace(gradient={**o.gradient, "A": o.gradient["A"] * (1 + 1e-5)})

    monkeypatch.setattr(p.model, "objective", wrong)
    assert [a.agrees for a in gradcheck(p)] == [False, True]


@pytest.mark.parametrize(("m", "n", "my"), SHAPES)
@pytest.mark.parametrize("gamma", [0.1, 0.6, 0.99])
def test_lambda_min_agrees_with_the_dense_matrix(
    delm: Builder, m: int, n: int, my: int, gamma: float
) -> None:
    for seed in range(3):
        state = delm(m, n, my, gamma, scale=2.0, seed=seed).start
        eigenvalues = np.linalg.eigvalsh(oracle.dense_D(state))
        # eigvalsh is accurate relative to the LARGEST eigenvalue; forming D squares cond(U).
        oracle_error = 50 * m * my * np.finfo(float).eps * eigenvalues[-1] / (1 - gamma)
        for value in (
            state.lambda_min_D,
            spectrum.block_factorised(state),
            *([spectrum.bracket(state)] if my <= m else []),
            *([spectrum.iterated(state)] if 1 < my < m else []),
        ):
            assert abs(value.value - eigenvalues[0]) <= value.error + oracle_error


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
def test_lanczos_agrees_with_the_dense_factor(delm: Builder, scale: float) -> None:
    for seed in range(3):
        state = delm(20, 30, 8, 0.8, scale=scale, seed=seed).start
        dense, iterated = spectrum.block_factorised(state), spectrum.iterated(state)
        assert iterated.value == pytest.approx(dense.value, rel=1e-11)
        # The certified floor lies below the truth, and Lanczos never far below the dense value.
        assert iterated.low <= dense.high


def test_gradient_norm_is_the_quadratic_form_of_D(delm: Builder) -> None:
    p = delm(5, 9, 3)
    q = vec(p.start.Q)
    norm = gradient_norm(p.start.gradient) ** 2
    assert norm == pytest.approx(q @ oracle.dense_D(p.start) @ q, rel=1e-12)


def test_floors_of_lambda_min(delm: Builder) -> None:
    for seed in range(50):
        state = delm(4, 6, 2, gamma=0.9, scale=6.0, seed=seed).start
        star = spectrum.star_map_infimum(4, 0.9)
        assert state.lambda_independent.high < state.lambda_independent_sharp.low < star.high
        assert state.lambda_min_D.high >= star.low


def test_star_map_attains_its_infimum(delm: Builder) -> None:
    # Every column of softmax(A) concentrates on unit 0, except unit 0's own, which goes to unit 1.
    A = np.full((5, 5), -60.0)
    A[0, :] = 60.0
    A[0, 0], A[1, 0] = -60.0, 60.0
    state = delm(5, 6, 1, gamma=0.8, A=A, B=np.zeros((1, 5))).start
    assert state.lambda_min_D.value == pytest.approx(
        spectrum.star_map_infimum(5, 0.8).value, rel=1e-12
    )


def reference(p: Problem) -> dict[str, mp.mpf]:
    """Every quantity of `bounds --init`, in 50 digits, by the definitions."""
    s = p.start
    A, B = mp.matrix(s.A.tolist()), mp.matrix(s.B.tolist())
    Phi, Y = mp.matrix(p.model.outer.Phi.tolist()), mp.matrix(p.model.outer.Y.tolist())
    m, my, g = s.m, s.my, mp.mpf(s.gamma)
    E = A.apply(mp.exp)
    S = mp.matrix(m, m)
    for j in range(m):
        total = mp.fsum(E[i, j] for i in range(m))
        for i in range(m):
            S[i, j] = E[i, j] / total
    U = mp.eye(m) - g * S
    inverse = U**-1
    Z = B * inverse
    R = Z * Phi - Y
    loss = frobenius(R) ** 2
    # The infimum by projecting Y on the row space of Phi (full row rank, or interpolation).
    star = mp.mpf(0)
    if Phi.cols > m:
        W = Y * Phi.T * (Phi * Phi.T) ** -1
        star = frobenius(W * Phi - Y) ** 2
    Q = 2 * R * Phi.T
    G = Q * inverse.T
    GA = mp.matrix(m, m)
    D = mp.zeros(m * my)
    for k in range(m):
        J = mp.matrix(m, m)
        for i in range(m):
            for j in range(m):
                J[i, j] = (S[i, k] if i == j else 0) - S[i, k] * S[j, k]
        GA[:, k] = g * J * (Z.T * G[:, k])
        M = mp.eye(my) + g**2 * (Z * J) * (Z * J).T
        for i in range(m):
            for j in range(m):
                for a in range(my):
                    for b in range(my):
                        D[i * my + a, j * my + b] += inverse[k, i] * inverse[k, j] * M[a, b]
    sigma = sorted(mp.svd_r(Phi, compute_uv=False), reverse=True)
    out = {
        "loss": loss,
        "loss_star": star,
        "gap": loss - star,
        "residual": mp.sqrt(loss),
        "gradient.A": frobenius(GA),
        "gradient.B": frobenius(G),
        "gradient": mp.sqrt(frobenius(GA) ** 2 + frobenius(G) ** 2),
        "norm2.A": max(mp.svd_r(A, compute_uv=False)),
        "norm2.B": max(mp.svd_r(B, compute_uv=False)),
        "norm1.B": mp.mnorm(B, 1),
        "norm1.Z": mp.mnorm(Z, 1),
        "norm2.Z": max(mp.svd_r(Z, compute_uv=False)),
        "norm2.U_inverse": max(mp.svd_r(inverse, compute_uv=False)),
        "norm.Q": frobenius(Q),
        "lambda_min_D": min(mp.eigsy(D, eigvals_only=True)),
        "lambda_independent": 1 / (m * (1 + g) ** 2),
        "lambda_independent_sharp": 1 / min(m * (1 + g**2), (1 + g * mp.sqrt(m)) ** 2),
        "sigma_min_Phi": sigma[-1],
        "sigma_pos_Phi": sigma[-1],
        "kappa": 2 * sigma[-1] ** 2,
        "cond1_U": mp.mnorm(U, 1) * mp.mnorm(inverse, 1),
    }
    if my == 1:
        F = 2 * (inverse * Phi) * (inverse * Phi).T
        root = mp.diag([mp.sqrt(block(S, Z, g, k)) for k in range(m)])
        out["delta_bar"] = 1 / max(mp.eigsy(root * F * root, eigvals_only=True))
    return out


def block(S: mp.matrix, Z: mp.matrix, g: mp.mpf, k: int) -> mp.mpf:
    mean = mp.fsum(Z[0, i] * S[i, k] for i in range(S.rows))
    return 1 + g**2 * mp.fsum((S[i, k] * (Z[0, i] - mean)) ** 2 for i in range(S.rows))


def frobenius(a: mp.matrix) -> mp.mpf:
    return mp.sqrt(mp.fsum(x**2 for x in a))


@pytest.mark.parametrize(
    ("m", "n", "my", "gamma", "scale"),
    [(3, 6, 2, 0.5, 0.5), (4, 3, 1, 0.8, 1.0), (2, 5, 3, 0.9, 3.0), (1, 1, 1, 0.5, 1.0),
     (3, 7, 1, 0.999, 2.0), (3, 4, 2, 0.3, 30.0)],
)  # fmt: skip
def test_every_quantity_lies_inside_its_error_bar(
    delm: Builder, m: int, n: int, my: int, gamma: float, scale: float
) -> None:
    p = delm(m, n, my, gamma, scale=scale, seed=7)
    with mp.workdps(50):
        truth = reference(p)
        assert set(p.start.names) == {*truth, "equilibrium.residual", "equilibrium.error"}
        for name, value in truth.items():
            got = p.start.measure(name)
            assert abs(got.value - value) <= got.error, name
            if gamma < 0.99:
                assert abs(got.value - value) <= 1e-10 * abs(value), name


def test_certified_equilibrium_error_covers_the_truth(delm: Builder) -> None:
    p = delm(4, 3, 1, gamma=0.95, scale=3.0)
    with mp.workdps(50):
        A = mp.matrix(p.start.A.tolist())
        E = A.apply(mp.exp)
        S = mp.matrix(4, 4)
        for j in range(4):
            for i in range(4):
                S[i, j] = E[i, j] / mp.fsum(E[k, j] for k in range(4))
        exact = (mp.eye(4) - mp.mpf(p.start.gamma) * S) ** -1 * mp.matrix(
            p.model.outer.Phi.tolist()
        )
        off = mp.mnorm(exact - mp.matrix(p.start.equilibrium.tolist()), 1)
    assert off <= p.start.measure("equilibrium.error").value


def test_the_gap_keeps_its_digits_where_the_difference_of_losses_has_none(delm: Builder) -> None:
    p = delm(3, 20, 2)
    optimum = np.linalg.lstsq(p.model.outer.Phi.T, p.model.outer.Y.T, rcond=None)[0].T
    B = (optimum + 1e-9) @ p.start.U
    gap = p.model.at({"A": p.theta0["A"], "B": B}).gap
    expected = np.linalg.norm(1e-9 * np.ones((2, 3)) @ p.model.outer.Phi) ** 2
    assert gap.value == pytest.approx(expected, rel=1e-5)
    assert gap.error < 1e-4 * gap.value


def test_rank_deficient_features(delm: Builder) -> None:
    Phi = np.array([[1, 0, 2.0, -1], [0, 1, 1, 1], [1, 1, 3, 0]])
    outer = delm(3, 4, 1, Phi=Phi).model.outer
    assert outer.factored.rank == 2
    assert outer.factored.smallest_positive.value == pytest.approx(
        np.linalg.svd(Phi, compute_uv=False)[1]
    )
    W = np.linalg.lstsq(Phi.T, outer.Y.T, rcond=None)[0].T
    assert outer.infimum.value == pytest.approx(np.linalg.norm(W @ Phi - outer.Y) ** 2, rel=1e-12)


def test_verdicts_do_not_depend_on_the_order_of_samples_and_features(delm: Builder) -> None:
    p = delm(5, 9, 2)
    r = np.random.default_rng(1)
    samples, units = r.permutation(9), r.permutation(5)
    q = delm(
        5, 9, 2,
        Phi=p.model.outer.Phi[units][:, samples], Y=p.model.outer.Y[:, samples],
        A=p.theta0["A"][np.ix_(units, units)], B=p.theta0["B"][:, units],
    )  # fmt: skip
    for name in set(p.start.names) - {"equilibrium.error"}:
        a, b = p.start.measure(name), q.start.measure(name)
        assert abs(a.value - b.value) <= a.error + b.error, name


def test_without_a_memory_the_digits_are_the_same(delm) -> None:
    """lambda_min(D) begins where the run found it last, which may change its last digits."""
    p, memory = delm(15, 20, 10), Memory()
    other = {name: 1.5 * a for name, a in p.theta0.items()}
    first = p.model.at(p.theta0).measure("lambda_min_D")
    p.model.at(other, memory).measure("lambda_min_D")
    assert memory.frame is not None
    near, again = (p.model.at(p.theta0, m).measure("lambda_min_D") for m in (memory, None))
    assert (again.value, again.error) == (first.value, first.error)
    assert abs(near.value - first.value) <= near.error + first.error


def test_bars_do_not_vanish_where_squares_underflow(delm: Builder) -> None:
    """|B|^2 is below the smallest double: Z is B U^-1 all the same, and not known exactly."""
    p = delm(3, 4, 1, 0.999, Y=np.zeros((1, 4)), B=np.array([[1.0, -2.0, 0.5]]) * 1e-180)
    found = p.model.objective(p.theta0)
    assert p.start.Z_radius > 0 and found.radius is not None and found.radius() > 0
    assert p.start.measure("gradient.B").error > 0


def test_each_column_of_softmax_is_shifted_by_its_own_maximum(delm: Builder) -> None:
    """exp(800) is no double: (1/2, 1/2) and (1, e^-800)."""
    p = delm(2, 4, 1, 0.5, A=[[0.0, 800.0], [0.0, 0.0]])
    assert p.start.S.tolist() == [[0.5, 1.0], [0.5, 0.0]]


@pytest.mark.parametrize(("share", "refused"), [(0.9, True), (1.1, False)])
def test_a_gamma_that_leaves_no_digits_is_refused(
    delm: Builder, share: float, refused: bool
) -> None:
    """cond_1(U) <= 2/(1 - gamma), and the limit is 1e-6/eps."""
    gamma = 1 - share * 2e6 * np.finfo(float).eps
    said = r"cond_1\(U\) can reach 5e\+09; expected gamma <= 0.999999999556"
    with pytest.raises(Refusal, match=said) if refused else nullcontext():
        delm(gamma=gamma)


def test_the_truncation_of_a_difference_is_told_where_two_orders_cancel() -> None:
    """D(h) = h^2 + c h^4 for x^3 + c x^5 at 0: D(2h) = D(h) where 5 c h^2 = -1."""

    def D(h: float, c: float) -> float:
        return h**2 + c * h**4

    assert D(2.0, -0.2) == pytest.approx(D(1.0, -0.2), rel=1e-14)
    for c in np.linspace(-2.0, 2.0, 401):
        assert truncation(*(D(h, c) for h in (1.0, 2.0, 4.0))) >= abs(D(1.0, c))
    # Of one order alone no more than the safety factor too much.
    assert truncation(*(D(h, 0.0) for h in (1.0, 2.0, 4.0))) == pytest.approx(TRUNCATION_SAFETY)
