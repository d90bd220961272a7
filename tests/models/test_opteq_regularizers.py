"""Regularisers of the state by their definitions: values, proximal maps, subgradients, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deqcheck.models.opteq.activations import Mix, Tanh
from deqcheck.models.opteq.convex import ExplicitStep, Potential, Quadratic
from deqcheck.models.opteq.regularizers import L1, Box, Distance, Euclidean
from deqcheck.models.opteq.sweep import Sam, Weights

W = 0.7
A, C = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 1.5]]), np.array([0.5, -0.25])
CENTER = np.array([1.0, -2.0, 0.5])
# Columns that are longer and shorter than the weight, and one of equal entries.
Z = np.array([[1.5, -0.9, 0.1, 0.8], [-0.2, 2.0, -0.3, 0.8], [0.9, 0.05, 0.2, 0.8]])
BOX = Box(low=-0.4, high=1.1)
NO_OUTPUT = np.zeros((1, 3))
PROXIMAL: dict[str, Any] = {
    "l1": L1(weight=W),
    "box": BOX,
    "euclidean": Euclidean(weight=W),
    "distance": Distance(weight=W, center=CENTER).on(3, NO_OUTPUT),
    "quadratic": Quadratic(A, C),
}
# With a gradient everywhere.
SMOOTH: dict[str, Any] = {
    "quadratic": PROXIMAL["quadratic"],
    "distance": PROXIMAL["distance"],
    "tanh": Potential(Tanh(), 0.6, CENTER),
    "mix": Potential(Mix(k=0.3), 0.6, CENTER),
}
LENGTHS = np.linalg.norm(Z, axis=0)
VALUES = {
    "l1": W * np.abs(Z).sum(),
    "box": np.inf,
    "euclidean": W * LENGTHS.sum(),
    "distance": W * ((Z - CENTER[:, None]) ** 2).sum() / 2,
    "quadratic": ((A @ Z - C[:, None]) ** 2).sum() / 2,
}
PROX = {
    "l1": np.where(Z > W, Z - W, np.where(-W > Z, Z + W, 0.0)),
    "box": np.minimum(np.maximum(Z, -0.4), 1.1),
    "euclidean": np.where(LENGTHS > W, (LENGTHS - W) / LENGTHS, 0.0) * Z,
    "distance": (Z + W * CENTER[:, None]) / (1 + W),
    "quadratic": np.linalg.inv(np.eye(3) + A.T @ A) @ (Z + (A.T @ C)[:, None]),
}


@pytest.mark.parametrize("kind", PROXIMAL)
def test_values_and_proximal_maps(kind: str) -> None:
    R = PROXIMAL[kind]
    assert R.value(Z) == pytest.approx(VALUES[kind])
    assert np.allclose(R.prox(Z), PROX[kind], atol=1e-15)
    near = R.prox(Z)
    r = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        other = R.prox(near + size * r.normal(size=Z.shape))
        lowest = R.value(near) + ((near - Z) ** 2).sum() / 2
        assert lowest <= R.value(other) + ((other - Z) ** 2).sum() / 2 + 1e-14


@pytest.mark.parametrize("kind", PROXIMAL)
def test_jacobians_of_proximal_maps(kind: str) -> None:
    R, h = PROXIMAL[kind], 1e-6
    found = R.prox_slopes(Z)
    for i in range(3):
        e = np.zeros((3, 1))
        e[i] = h
        rates = (R.prox(Z + e) - R.prox(Z - e)) / (2 * h)
        assert np.allclose(found[:, :, i].T, rates, atol=1e-8)


@pytest.mark.parametrize("kind", PROXIMAL)
def test_subgradients(kind: str) -> None:
    """z - prox(z) is one at prox(z); of any wish the nearest supports R all the same, and no wish
    that is a subgradient itself is turned down."""
    R = PROXIMAL[kind]
    at, wish = R.prox(Z), Z - R.prox(Z)
    assert np.allclose(R.subgradient(at, wish), wish, atol=1e-14)
    r = np.random.default_rng(1)
    for size in (0.1, 10.0):
        wanted = size * r.normal(size=Z.shape)
        found = R.subgradient(at, wanted)
        for step in (0.3, 3.0):
            u = R.prox(at + step * r.normal(size=Z.shape))
            assert R.value(u) >= R.value(at) + np.vdot(found, u - at) - 1e-12
        # Nearest in a convex set.
        assert np.vdot(wanted - found, wish - found) <= 1e-12


@pytest.mark.parametrize(
    ("kind", "away"),
    [
        ("l1", np.abs(np.abs(Z) - W).min()),
        ("box", np.minimum(np.abs(Z + 0.4), np.abs(Z - 1.1)).min()),
        ("euclidean", np.abs(LENGTHS - W).min()),
    ],
)
def test_how_far_the_border_of_a_piece_is(kind: str, away: float) -> None:
    R = PROXIMAL[kind]
    assert R.piece_known(Z, away * (1 - 1e-9)) and not R.piece_known(Z, away * (1 + 1e-9))


def test_growth_and_turn() -> None:
    """Attained where all entries, or all columns, are of one length."""
    ones, t = np.ones((3, 4)), 1e-3
    for kind in ("l1", "euclidean"):
        R = PROXIMAL[kind]
        rate = (R.value((1 + t) * ones) - R.value(ones)) / (t * np.linalg.norm(ones))
        assert R.growth(ones) == pytest.approx(rate)
    assert BOX.growth(Z) == BOX.turn(Z) == PROXIMAL["l1"].turn(Z) == 0
    # The shortest column turns fastest, across its length.
    R, column = PROXIMAL["euclidean"], Z[:, [2]]
    across = np.cross(column[:, 0], [1.0, 0.0, 0.0])[:, None]
    across /= np.linalg.norm(across)
    turned = R.subgradient(column + 1e-7 * across, column) - R.subgradient(column, column)
    assert R.turn(Z) == pytest.approx(np.linalg.norm(turned) / 1e-7, rel=1e-6)
    assert R.turn(np.zeros((3, 2))) == 0
    Q = PROXIMAL["quadratic"]
    assert Q.turn(Z) == pytest.approx(np.linalg.eigvalsh(A.T @ A)[-1])
    assert Q.growth(Z) == pytest.approx(np.linalg.norm(Q.gradient(Z)) + Q.turn(Z))


def test_how_fast_the_jacobian_of_a_shortened_column_turns() -> None:
    """Near |z| = weight, 2/weight is no bound that is far too large."""
    R, t = PROXIMAL["euclidean"], 1e-6
    z = np.array([[W + 1e-3], [0.0], [0.0]])
    r = np.random.default_rng(2)
    steps = [t * d / np.linalg.norm(d) for d in r.normal(size=(40, 3, 1))]
    rates = [np.linalg.norm((R.prox_slopes(z + d) - R.prox_slopes(z))[0], 2) / t for d in steps]
    assert R.bend / 4 < max(rates) <= R.bend


def rates(f: Any, at: np.ndarray) -> np.ndarray:
    """Of a number, by each entry."""
    out, h = np.zeros_like(at), 1e-5
    for i in np.ndindex(at.shape):
        e = np.zeros_like(at)
        e[i] = h
        out[i] = (f(at + e) - f(at - e)) / (2 * h)
    return out


@pytest.mark.parametrize("R", SMOOTH.values(), ids=SMOOTH)
def test_gradients_and_hessians(R: Any) -> None:
    assert np.allclose(R.gradient(Z), rates(R.value, Z), atol=1e-8)
    Q = np.random.default_rng(3).normal(size=Z.shape)
    slope = rates(lambda at: float(np.vdot(R.gradient(at), Q)), Z)
    assert np.allclose(R.pull(Z, Q), slope, atol=1e-8)
    hessians = R.hessians(Z)
    assert np.allclose(np.einsum("jik,kj->ij", hessians, Q), slope, atol=1e-8)
    spectra = np.linalg.eigvalsh(hessians)
    assert R.L_z.value == pytest.approx(R.smoothness) and spectra.max() <= R.smoothness + 1e-12
    assert spectra.min() >= R.strong_convexity.value - 1e-12
    offset = np.abs(R.gradient(np.zeros((3, 1)))).max()
    assert (R.offset > 0) == (offset > 0)


def test_bounds_on_hessians_are_attained() -> None:
    s = Mix(k=0.3)
    R = Potential(s, 0.6, CENTER)
    assert R.smoothness == pytest.approx(0.6) and R.strong_convexity.value == pytest.approx(0.18)
    assert R.hessian_bend == pytest.approx(0.6 * 0.7 * 4 / (3 * np.sqrt(3)))
    Q = Quadratic(np.vstack([A, [[0.3, 0.1, 2.0]]]), np.zeros(3))
    spectrum = np.linalg.eigvalsh(Q.A.T @ Q.A)
    assert Q.strong_convexity.value == pytest.approx(spectrum[0])
    assert Q._inverse == pytest.approx(1 / (1 + spectrum[0])) and Quadratic(A, C)._inverse == 1
    D = PROXIMAL["distance"]
    assert D.L_z.value == D.strong_convexity.value == W


@pytest.mark.parametrize("gamma", [0.1, 0.9])
def test_an_explicit_step(gamma: float) -> None:
    R = PROXIMAL["quadratic"]
    step, top = ExplicitStep(R, gamma), np.linalg.eigvalsh(A.T @ A)[-1]
    assert np.allclose(step.prox(Z), Z - gamma * A.T @ (A @ Z - C[:, None]))
    assert np.allclose(step.prox_slopes(Z), np.eye(3) - gamma * A.T @ A)
    assert step.lipschitz == pytest.approx(max(1.0, gamma * top - 1))


@pytest.mark.parametrize("gamma", [0.1, 0.9])
def test_a_sam_step(gamma: float) -> None:
    """(1 - g lambda) z - g grad R(z), its adjoint, its Jacobian and the norm of that: A has a
    kernel, so that both ends of the spectrum are attained."""
    R, w = PROXIMAL["quadratic"], Weights(0.5, 0.3)
    sam = Sam(gamma, R, [w])
    V = (1 - 0.3 * gamma) * np.eye(3) - gamma * A.T @ A
    assert np.allclose(sam.S(Z, w), V @ Z + gamma * (A.T @ C)[:, None])
    assert np.allclose(sam.adjoint(Z, Z[:, ::-1], w), V @ Z[:, ::-1])
    assert np.allclose(sam.jacobians(Z, w), V)
    assert sam.stretch(w) == pytest.approx(np.linalg.norm(V, 2)) and sam.lambda_ == 0.3
