"""Each way to an equilibrium by itself, whatever the others would find."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.models.equilibrium import solve
from deqcheck.models.equilibrium.activations import activation
from tests.independent.equilibrium_model import I4, I5, equilibrium

RELU, TANH = activation("relu", 0.0), activation("tanh", 0.0)
Way = Callable[[np.ndarray, np.ndarray], np.ndarray]


def monotone(n: int) -> np.ndarray:
    """I - W has the symmetric part I + A^T A; W has a norm above 1, and so has |W| a radius."""
    r = np.random.default_rng(n)
    A, B = r.normal(size=(2, n, n))
    return np.asarray(B - B.T - 0.3 * A.T @ A)


def only_p(blocks: int) -> np.ndarray:
    """I - W is a P-matrix, and no diagonal makes it monotone."""
    return np.kron(np.eye(blocks), I4["W"])


def wanted(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    arrays = {"W": W, "U": c[:, None], "X": np.ones((1, 1))}
    return np.asarray(equilibrium(arrays)[:, 0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("way", "W"),
    [
        (solve._every_pattern, monotone(4)),
        (solve._every_pattern, only_p(2)),
        (solve._reflected, monotone(5)),
        (solve._pivoted, monotone(5)),
        (solve._pivoted, only_p(2)),
        (lambda W, c: solve._alone(W, c, RELU), only_p(3)),
        (lambda W, c: solve._alone(W, c, RELU), monotone(9)),
    ],
)
def test_a_relu_network_by_each_way_alone(way: Way, W: np.ndarray, seed: int) -> None:
    c = np.random.default_rng(seed).normal(size=len(W))
    true = wanted(W, c)
    assert true.any()
    assert way(W, c) == pytest.approx(true, abs=1e-9)


def test_on_the_pattern_of_a_point_near_by() -> None:
    W, c = monotone(5), np.random.default_rng(0).normal(size=5)
    true = wanted(W, c)
    assert 0 < (true > 0).sum() < 5
    assert solve._on_pattern(W, c, true * 1.2) == pytest.approx(true, abs=1e-13)
    assert not solve._on_pattern(W, c, np.zeros(5)).any()


def test_damped_sweeps_where_newton_is_not_asked() -> None:
    """z <- (1 - a) z + a tanh(W z + c) with a = 1/(1 - min W_ii): for W_ii = -9 a longer step
    would cycle."""
    for W in (I5["W"], np.array([[-2.0]])):
        c = np.ones(len(W))
        z = solve._alone(W, c, TANH)
        assert z == pytest.approx(np.tanh(W @ z + c), abs=1e-12)
    assert solve._alone(np.array([[-2.0]]), np.ones(1), TANH) == pytest.approx(
        [0.3290940403], abs=1e-10
    )


def test_newton_by_columns() -> None:
    """Many samples at once, as each alone."""
    W, C = 0.5 * monotone(4), np.random.default_rng(1).normal(size=(4, 7))
    Z = solve._newton(W, C, TANH)
    assert np.abs(Z - np.tanh(W @ Z + C)).max() < 1e-14
    for j in range(7):
        assert solve._newton(W, C[:, j : j + 1], TANH)[:, 0] == pytest.approx(Z[:, j], abs=1e-13)


def test_newton_steps_solve_the_linearised_equation() -> None:
    r = np.random.default_rng(2)
    W, slopes, R = r.normal(size=(3, 3)), r.uniform(size=(3, 2)), r.normal(size=(3, 2))
    step = solve._steps(W, slopes, R)
    for j in range(2):
        assert (np.eye(3) - np.diag(slopes[:, j]) @ W) @ step[:, j] == pytest.approx(-R[:, j])


def test_of_a_step_the_longest_share_that_helps() -> None:
    """W = 0 and tanh(0) = 0: the residual is z itself."""
    W, C, Z = np.zeros((1, 1)), np.zeros((1, 4)), np.ones((1, 4))
    step = np.array([[-1.0, -3.0, -7.9, 1.0]])
    found, left, better = solve._searched(W, C, Z, Z, step, TANH)
    assert found[0] == pytest.approx([0.0, -0.5, 1 - 7.9 / 4, 1.0])
    assert left.tolist() == found.tolist()
    assert better.tolist() == [True, True, True, False]


def test_what_newton_misses_is_found_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """With columns that Newton left where they were."""
    W, C = only_p(1), np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])
    monkeypatch.setattr(solve, "_newton", lambda W, C, s: np.full(C.shape, 5.0))
    found = solve.equilibria(W, C, RELU)
    assert found[:, 0] == pytest.approx([0.25] * 3, abs=1e-13)
    assert found[:, 1] == pytest.approx([1.0, 0.0, 1.0], abs=1e-13)


def test_a_singular_pattern_beside_that_of_the_equilibrium() -> None:
    """z_1 = relu(z_1 - z_2 + 1/2) and z_2 = relu(z_2/2 + 3): z_2 = 6 keeps the first unit off, with
    which I - W is singular."""
    W, c = np.array([[1.0, -1.0], [0.0, 0.5]]), np.array([0.5, 3.0])
    assert solve._every_pattern(W, c) == pytest.approx([0.0, 6.0], abs=1e-13)
