"""Trained equilibrium networks with every array they may have, beside plain sweeps in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.models.equilibrium.cheap import cosine, label_free, pair, weight
from deqcheck.models.equilibrium.splitting import (
    damped_path,
    forward_path,
    forward_sizes,
    reflected_path,
)
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.measured import Measured

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda t: np.maximum(t, 0.0),
    "tanh": np.tanh,
}
every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
A, STEPS = 0.6, 12


class Outside:
    """z = s(W z + U x + b), y = C z + D x + c0: n = 4, d = 3, q = 2, five samples; |W| = 0.7."""

    def __init__(self, activation: str, seed: int = 0):
        r = np.random.default_rng(seed)
        sizes = {"W": (4, 4), "U": (4, 3), "b": 4, "C": (2, 4), "D": (2, 3), "c0": 2}
        moves = {"dW": (4, 4), "dU": (4, 3), "db": 4}
        self.v = {name: r.normal(size=size) for name, size in sizes.items()}
        self.v |= {name: 0.01 * r.normal(size=size) for name, size in moves.items()}
        self.v["W"] *= 0.7 / np.linalg.norm(self.v["W"], 2)
        self.X, self.Y = r.normal(size=(3, 5)), r.normal(size=(2, 5))
        self.s, self.activation = ACTIVATIONS[activation], activation

    @property
    def state(self) -> Any:
        data = {"X": self.X, "Y": self.Y}
        return dq.problem("equilibrium", data, self.v, activation=self.activation).start

    def inputs(self) -> np.ndarray:
        found: np.ndarray = self.v["U"] @ self.X + self.v["b"][:, None]
        return found

    def Z(self) -> np.ndarray:
        found = np.zeros((4, 5))
        for _ in range(200):
            found = self.s(self.v["W"] @ found + self.inputs())
        return found

    def outputs(self) -> np.ndarray:
        found: np.ndarray = self.v["C"] @ self.Z() + self.v["D"] @ self.X + self.v["c0"][:, None]
        return found

    def loss(self) -> float:
        return float(((self.outputs() - self.Y) ** 2).sum()) / 2

    def slopes(self, name: str) -> np.ndarray:
        """d loss/d array by differences."""
        array, h = self.v[name], 1e-6
        found = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            ends = []
            for side in (h, -h):
                kept = array[at]
                array[at] += side
                ends.append(self.loss())
                array[at] = kept
            found[at] = (ends[0] - ends[1]) / (2 * h)
        return found


def agrees(found: Measured, wanted: Any) -> None:
    assert np.all(np.abs(found.value - wanted) <= found.error + 1e-13)
    assert np.all(found.error <= 1e-9)


@every_activation
def test_the_state(activation: str) -> None:
    out = Outside(activation)
    state = out.state
    assert state.inputs == pytest.approx(out.inputs(), rel=1e-13)
    assert np.linalg.norm(state.Z - out.Z()) <= state.equilibrium.error + 1e-13
    assert state.outputs == pytest.approx(out.outputs(), rel=1e-11)
    assert state.residual == pytest.approx(out.outputs() - out.Y, rel=1e-11)
    agrees(state.measure("loss"), out.loss())
    H = out.v["W"] @ out.Z() + out.inputs()
    agrees(state.kink_margin, np.abs(H).min())
    parts = {name: out.slopes(name) for name in ("W", "U", "C")}
    for name, slopes in parts.items():
        assert state.gradient[name] == pytest.approx(slopes, abs=1e-7)
        measured = state.measure(f"gradient.{name}")
        assert measured.value == pytest.approx(np.linalg.norm(slopes), abs=1e-7)
    whole = np.sqrt(sum(float((slopes**2).sum()) for slopes in parts.values()))
    assert state.measure("gradient").value == pytest.approx(whole, abs=1e-7)


@every_activation
def test_states_beside_it(activation: str) -> None:
    out = Outside(activation)
    state = out.state
    out.X[1] += 0.25
    assert state.moved_input(1, 0.25).outputs == pytest.approx(out.outputs(), rel=1e-11)
    out.X[1] -= 0.25
    C = np.arange(12.0).reshape(3, 4)
    assert state.reading(C).outputs == pytest.approx(C @ out.Z(), rel=1e-11)
    for name in ("W", "U", "b"):
        out.v[name] = out.v[name] + out.v[f"d{name}"]
    assert state.perturbed.outputs == pytest.approx(out.outputs(), rel=1e-11)


@every_activation
def test_the_gradient_and_the_cheap_one_as_a_form_of_the_residuals(activation: str) -> None:
    out = Outside(activation)
    Z, W, C = out.Z(), out.v["W"], out.v["C"]
    H, h = W @ Z + out.inputs(), 1e-6
    slopes = (out.s(H + h) - out.s(H - h)) / (2 * h)
    gram = Z.T @ Z + out.X.T @ out.X + 1
    exact, cheap = (np.zeros((4, 10)) for _ in range(2))
    for j in range(5):
        D = np.diag(slopes[:, j])
        exact[:, 2 * j : 2 * j + 2] = D @ np.linalg.solve(np.eye(4) - W.T @ D, C.T)
        cheap[:, 2 * j : 2 * j + 2] = D @ C.T
    found = label_free(out.state)
    wanted = exact.T @ cheap * np.kron(gram, np.ones((2, 2)))
    assert np.abs(found.array - wanted).max() < 1e-7 and 0 < found.radius < 1e-10
    assert weight(out.state, 1, 3).value == pytest.approx(gram[1, 3], rel=1e-12)
    p, q = pair(out.state, 3, C[1])
    assert cosine(p, q).value == pytest.approx(
        exact[:, 7] @ cheap[:, 7] / np.linalg.norm(exact[:, 7]) / np.linalg.norm(cheap[:, 7]),
        abs=1e-8,
    )


def test_paths_of_splittings() -> None:
    out = Outside("relu")
    state, Z, c = out.state, out.Z(), out.inputs()
    F = np.eye(4) - out.v["W"]
    eta = np.array([1.0, 2.0, 0.5, 1.5])
    p_star = Z + A * (c - F @ Z)
    z, p, y = np.zeros_like(Z), np.zeros_like(Z), np.zeros_like(Z)
    far: list[list[float]] = [[], [], [], [], []]
    for _ in range(STEPS + 1):
        now = (
            np.linalg.norm(z - Z),
            np.linalg.norm(z),
            np.linalg.norm(p - p_star),
            np.linalg.norm(np.maximum(p, 0) - Z),
            (np.abs(y - Z) / eta[:, None]).max(),
        )
        for kept, number in zip(far, now, strict=True):
            kept.append(float(number))
        z = np.maximum(z - A * (F @ z - c), 0)
        # Reflected at the positive cone, then in the resolvent of F - c.
        reflected = 2 * np.maximum(p, 0) - p
        p = 2 * np.linalg.solve(np.eye(4) + A * F, reflected + A * c) - reflected
        y = (1 - A) * y + A * np.maximum(out.v["W"] @ y + c, 0)
    step = Measured(A)
    found = (
        forward_path(state, step, STEPS),
        forward_sizes(state, step, STEPS),
        reflected_path(state, step, STEPS),
        damped_path(state, eta, A, STEPS),
    )
    assert all(np.array_equal(each[0], np.arange(STEPS + 1)) for each in found)
    told = [found[0][1], found[1][1], *found[2][1:], found[3][1]]
    for measured, wanted in zip(told, far, strict=True):
        agrees(measured, np.array(wanted))


def test_paths_of_a_silent_network() -> None:
    out = Outside("relu")
    out.v["b"][:] = -50.0
    state: EquilibriumState = out.state
    assert state.silent
    for k, far in (
        forward_path(state, Measured(A), STEPS),
        damped_path(state, np.ones(4), A, STEPS),
    ):
        assert np.array_equal(k, np.arange(STEPS + 1)) and len(far.value) == STEPS + 1
        assert not far.value.any() and not np.any(far.error)
