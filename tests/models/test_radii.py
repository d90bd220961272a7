"""Radii are no larger than they must be: with one unit and positive numbers they are attained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deqcheck.models import relu_radii
from deqcheck.models.delm.radii import gradient_radii
from deqcheck.models.opteq.activations import Identity
from deqcheck.models.opteq.gradient import (
    read_out_radius,
    residual_radius,
    seed_radius,
    summed,
)
from deqcheck.models.opteq.network import Layer, Network
from deqcheck.models.opteq.sweep import (
    Pull,
    Sam,
    Weights,
    backwards,
    before_layers,
    iterate,
    through_layers,
)
from tests.opteq_instances import parameters, problem

EPS = float(np.finfo(float).eps)
# Errors far above rounding, which is what is left beside them.
FAR, SAME = 1e-3, {"rel": 1e-9}


def test_residuals_gradients_and_kernels_of_relu_models() -> None:
    Z, V, S, X, a, r, y = 1.3, 0.7, 0.9, 1.1, 0.6, 0.8, 0.5
    dZ, dV, dS, dr, dE = (FAR * k for k in (1, 2, 3, 4, 5))
    E = V * r
    assert relu_radii.of_residual(1, a, Z, y, dZ) == pytest.approx(a * dZ, **SAME)
    moved = (V + dV) * (r + dr) - V * r
    assert relu_radii.of_scaled(V, r, dV, dr) == pytest.approx(moved, **SAME)
    found = relu_radii.of_gradient(1, relu_radii.Sizes(Z, X, E, r, dZ, dE, dr))
    assert found == pytest.approx(
        {
            "W": (E + dE) * (Z + dZ) - E * Z,
            "U": dE * X,
            "a": (Z + dZ) * (r + dr) - Z * r,
        },
        **SAME,
    )

    def H(z: float, s: float) -> float:
        return z**2 + z**2 * s**2 + X**2 * s**2

    sizes = (Z, S, X), (Z**2, S**2, X**2), (dZ, dS), H(Z, S)
    assert relu_radii.of_H(1, 1, *sizes) == pytest.approx(H(Z + dZ, S + dS) - H(Z, S), **SAME)


@pytest.mark.parametrize("m", [1, 40])
def test_what_rounds_in_relu_models(m: int) -> None:
    """Each of several terms, whatever the others are: m products lose half an eps each, at most."""
    for sizes in ((1.0, 1.0, 0.0), (1.0, 0.0, 1.0)):
        found = relu_radii.of_residual(m, *sizes, 0.0)
        assert EPS <= found <= 4 * (m + 8) * EPS
        assert m * EPS / 2 * sizes[1] <= found
    assert m * EPS / 2 <= relu_radii.of_C(m, 1.0, 1.0) <= 4 * (m + 8) * EPS
    for name, at in {"W": 0, "U": 1, "a": 0}.items():
        lengths = [0.0, 0.0]
        lengths[at] = 1.0
        whole = relu_radii.Sizes(*lengths, E=1.0, r=1.0, Z_off=0.0, E_off=0.0, r_off=0.0)
        assert m * EPS / 2 <= relu_radii.of_gradient(m, whole)[name] <= 4 * (m + 8) * EPS


def test_the_gradient_of_a_linear_model() -> None:
    """G = Q/u and gamma J z G with |J| <= 1/2, which holds what both errors do together."""

    class Sized:
        m, my, gamma, z_error = 1, 1, 0.6, FAR

    z, g, u, dQ = 1.3, 0.7, 0.4, 2 * FAR
    by_A, by_B = gradient_radii(Sized(), 0.0, z, g, dQ, 1 / u)
    assert by_B == pytest.approx(dQ / u, **SAME)
    assert by_A == pytest.approx(0.6 * (FAR * z * g + z * by_B), **SAME)
    Sized.z_error = 0.0
    for b, z in ((0.6, 0.0), (0.0, 1.0)):
        # (Z - B)/gamma times G rounds, and Z^T G does.
        by_A, by_B = gradient_radii(Sized(), b, z, 1.0, 0.0, 1.0)
        assert 0.6 * EPS <= by_A <= 20 * EPS and EPS <= by_B <= 20 * EPS


class Unit:
    """Two layers of one unit without a bend: every derivative is that of a product."""

    def __init__(self, X: float = 1.2):
        self.theta = parameters([[[0.8]], [[0.6]]], [[[0.9]], [[0.4]]], [[0.3], [0.2]], [[1.5]])
        self.network = Network(0.7, Identity(), np.array([[X]]), self.theta, 2)
        self.shapes = {name: a.shape for name, a in self.theta.items()}
        self.Wo = self.theta["Wo"]


def number(a: Any) -> float:
    return float(np.asarray(a).item())


def test_forwards_and_backwards_through_the_layers_of_a_network() -> None:
    unit, Z, Q, e = Unit(), np.array([[1.1]]), np.array([[0.5]]), 2 * FAR
    passes, out, radius = unit.network.visit(Z, FAR)
    others, moved, _ = unit.network.visit(Z + FAR, 0.0)
    assert radius == pytest.approx(number(moved - out), **SAME)
    for here, there in zip(passes, others, strict=True):
        assert here.Zin_error == pytest.approx(number(there.Zin - here.Zin), **SAME)
        assert here.A_error == pytest.approx(number(there.A - here.A), **SAME)
    pieces = list(through_layers(unit.network, passes, Q, e))
    beside = list(through_layers(unit.network, others, Q + e, 0.0))
    for here, there in zip(pieces, beside, strict=True):
        assert here.Pd_error == pytest.approx(number(there.Pd - here.Pd), **SAME)
        assert here.Q_error == pytest.approx(number(there.Q - here.Q), **SAME)
    below = [before_layers(unit.network, each[-1]) for each in (pieces, beside)]
    assert below[0][1] == pytest.approx(number(below[1][0] - below[0][0]), **SAME)
    parts, radii = summed(unit.network, unit.shapes, pieces, unit.Wo)
    far = summed(unit.network, unit.shapes, beside, unit.Wo).parts
    for name in ("W1", "W2", "U1", "U2", "b1", "b2"):
        assert radii[name] == pytest.approx(number(far[name] - parts[name]), **SAME), name


def test_inputs_that_are_off() -> None:
    def layer(X: float, error: float = 0.0) -> Layer:
        theta = Unit().theta
        one = np.array([[X]])
        return Layer(0.7, Identity(), theta["W1"], theta["U1"], theta["b1"], one, error)

    Z = np.array([[1.1]])
    here, out, radius = layer(1.2, FAR).visit(Z, 0.0)
    there, moved, _ = layer(1.2 + FAR).visit(Z, 0.0)
    assert here.A_error == pytest.approx(number(there.A - here.A), **SAME)
    assert radius == pytest.approx(number(moved - out), **SAME)


@pytest.mark.parametrize("name", ["W1", "U1", "b1"])
def test_each_term_of_a_pre_activation_rounds(name: str) -> None:
    """Whatever the others are: it is 1, they are 0."""
    theta = {n: np.full_like(a, float(n == name)) for n, a in Unit().theta.items()}
    layer = Network(1.0, Identity(), np.ones((1, 1)), theta, 1).layers[0]
    A_error, moved = layer.radii(1.0, 1.0, 0.0)
    assert EPS / 2 <= A_error <= 20 * EPS and EPS / 2 <= moved <= 60 * EPS
    many = Network(1.0, Identity(), np.ones((1, 10_000)), theta, 1).layers[0]
    beside = 1 if name == "W1" else 100
    assert beside * EPS / 2 <= many.radii(1.0, 1.0, 0.0)[0] <= beside * 20 * EPS


class Bowl:
    """R(z) = 3 z^2/2."""

    smoothness, hessian_bend = 3.0, 0.0

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        return 3 * Z

    def pull(self, Z: np.ndarray, Q: np.ndarray) -> np.ndarray:
        return 3 * Q

    def rounding(self, whole: float, columns: int) -> float:
        return 0.0


@pytest.mark.parametrize("lambda_", [0.0, 0.25])
@pytest.mark.parametrize("beta", [1.0, 0.25])
@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_backwards_through_iterations_with_sam(gamma: float, beta: float, lambda_: float) -> None:
    """S has slopes between 1 - gamma lambda and gamma 3 less: with a large gamma it turns round."""
    unit, Q, e = Unit(), np.array([[0.5]]), 2 * FAR
    slope = 1 - 0.1 * lambda_ if gamma == 0.1 else 2 + lambda_
    inner = (0.7 * 0.64 + 0.3) * (0.7 * 0.36 + 0.3)
    sam = Sam(gamma, Bowl(), [Weights(beta, lambda_)] * 2, uses_output=True)  # type: ignore[arg-type]
    steps, _, _ = iterate([unit.network] * 2, np.array([[1.1]]), sam)
    steps[1].passes[0] = steps[1].passes[0]._replace(Zin_error=FAR)
    pulls = [each for each in backwards(steps, sam, Q, e) if isinstance(each, Pull)]
    last, first = pulls
    assert last.share == first.share == beta * gamma
    assert (last.Z_error, first.Z_error, last.Q_error) == (FAR, 0.0, e)
    assert first.Q_error == pytest.approx((beta * slope + (1 - beta) * inner) * e, **SAME)
    z, q = abs(number(last.Z)), number(last.Q)
    radius = summed(unit.network, unit.shapes, [last], unit.Wo).radii["Wo"]
    moved = (z + FAR) * (q + e) - z * q
    assert radius == pytest.approx(beta * gamma * 2 * 1.5 * moved, **SAME)


def test_the_read_out() -> None:
    Wo, Z, Y, r = (np.array([[x]]) for x in (1.5, 1.1, 0.4, 0.7))
    e = 2 * FAR
    assert residual_radius(Wo, 1.5, Z, FAR, Y) == pytest.approx(1.5 * FAR, **SAME)
    assert seed_radius(Wo, 1.5, r, e) == pytest.approx(1.5 * e, **SAME)
    moved = (0.7 + e) * (1.1 + FAR) - 0.7 * 1.1
    assert read_out_radius(r, e, Z, FAR) == pytest.approx(moved, **SAME)
    zero = np.zeros((1, 1))
    for each in ((Wo, Z, zero), (zero, Z, Y)):
        found = residual_radius(each[0], 0.0, each[1], 0.0, each[2])
        size = number(each[0] * each[1] + each[2])
        assert EPS / 2 * size <= found <= 20 * EPS * size


def test_what_is_measured_of_a_state_that_is_off() -> None:
    """z and W^T s(W z + c) have opposite signs, where phi falls most steeply."""
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    theta = parameters([[[0.8]]], [[[0.0]]], [[2.0]], [[1.5]])

    def state(z: float, off: float) -> Any:
        found = problem(data, theta, activation="tanh", solver="implicit").start
        steps, _, _ = found._forward
        found.__dict__["_forward"] = steps, np.array([[z]]), off
        return found

    here, there = state(-1.0, FAR), state(-1.0 - FAR, 0.0)
    moved = number(there.measure("phi").value - here.measure("phi").value)
    # The second derivative is at most 1 + |W|^2.
    assert number(here.measure("phi").error) == pytest.approx(moved, abs=2 * FAR**2)
    for name, slope in {"Z_fro": 1.0, "sigma_min_Z": 1.0, "residual": 1.5}.items():
        assert here.measure(name).error == pytest.approx(slope * FAR, **SAME)
    bent = 0.8**3 * 4 / (3 * np.sqrt(3))
    assert here.measure("jacobian_norm").error == pytest.approx(bent * FAR, **SAME)


@pytest.mark.parametrize(
    ("z", "c", "activation", "size"),
    [(1e3, 0.0, "tanh", 1e6), (0.0, 9.0, "relu", 81.0), (0.0, -30.0, "softplus", 0.8)],
)
def test_each_term_of_phi_rounds(z: float, c: float, activation: str, size: float) -> None:
    """|z|^2, (W z + c) s(W z + c), and what s is the derivative of."""
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    theta = parameters([[[0.01]]], [[[0.0]]], [[c]], [[1.5]])
    state: Any = problem(data, theta, activation=activation, solver="implicit").start
    steps, _, _ = state._forward
    state.__dict__["_forward"] = steps, np.array([[z]]), 0.0
    assert size * EPS / 2 <= number(state.measure("phi").error) <= size * 30 * EPS
