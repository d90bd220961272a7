"""What OptEq networks measure, against numbers made without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deqcheck.models.opteq import many, measures
from deqcheck.models.opteq.equilibrium import Existence, FixedPoint
from deqcheck.models.opteq.many import NormBounds
from tests.opteq_instances import arrays, parameters, problem


@pytest.mark.parametrize("norm", [0.5, 0.9, 1.1])
def test_an_iterated_state_knows_how_far_it_is_from_rest_where_its_map_contracts(
    norm: float,
) -> None:
    """z -> (1 - a) z + a W^T tanh(W z + U x + b) has the Lipschitz constant 1 - a + a |W|^2. The
    distance from the equilibrium, here from many sweeps, is at most the move over what is left."""
    a, count = 0.7, 4
    data, theta = arrays(5, 3, 4, 2, 1, 1, 3, s=norm)
    W, c = theta["W1"], theta["U1"] @ data["X"] + theta["b1"][:, None]
    states = [np.zeros((3, 3))]
    for _ in range(3000):
        states.append((1 - a) * states[-1] + a * W.T @ np.tanh(W @ states[-1] + c))
    start = problem(data, theta, alpha=a, iterations=count).start
    if norm > 1:
        assert "equilibrium.error" not in start.measures
        return
    found, left = start.measure("equilibrium.error"), a * (1 - norm**2)
    move = np.linalg.norm(states[count + 1] - states[count])
    assert found.value == pytest.approx(move / left, rel=1e-9)
    assert np.linalg.norm(states[-1] - states[count]) <= found.high


@pytest.mark.parametrize(("most", "told"), [(54.0, True), (53.0, False)])
def test_norms_of_jacobians_are_told_up_to_the_cubes_of_their_orders(
    most: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2 samples and 3 units: 2 x 27. Whoever asks has them all the same."""
    monkeypatch.setattr(measures, "CUBES", most)
    start = problem(*arrays(5, 3, 4, 2, 1, 1, 2), iterations=2).start
    assert ("jacobian_norm" in measures.listed(start)) is told
    assert start.measure("jacobian_norm").value > 0


def implicit() -> Any:
    return problem(*arrays(5, 3, 4, 2, 1, 1, 3), alpha=0.7, solver="implicit").start


def matrices(start: Any) -> np.ndarray:
    """I - M with M = (1 - a) I + a W^T diag(tanh') W of each sample."""
    W, a = start.theta["W1"], 0.7
    A = W @ start.Z + start.theta["U1"] @ start.model.X + start.theta["b1"][:, None]
    return np.array([a * (np.eye(3) - W.T @ (s[:, None] * W)) for s in (1 - np.tanh(A.T) ** 2)])


@pytest.mark.parametrize("share", [1e-3, 0.5, 1.5])
def test_an_adjoint_is_as_unsure_as_the_inverse_of_what_is_left(share: float) -> None:
    """(M + E)^-T q is off by (e + |E| |v|)/(sigma - |E|) at most, and by anything for |E| >
    sigma; E is here a share of the smallest singular value."""
    start = implicit()
    sigma = min(float(np.linalg.svd(M, compute_uv=False)[-1]) for M in matrices(start))
    start.network.jacobian_rounding = share * sigma
    Q, e = np.random.default_rng(0).normal(size=(3, 3)), 0.01
    v, error = start._implicit(Q, e)
    solved = [np.linalg.solve(M.T, q) for M, q in zip(matrices(start), Q.T, strict=True)]
    assert v == pytest.approx(np.array(solved).T, rel=1e-9)
    left = (1 - share) * sigma
    wanted = (e + share * sigma * np.linalg.norm(v)) / left if left > 0 else np.inf
    assert error == pytest.approx(wanted, rel=1e-9)


def test_the_last_step_to_an_equilibrium_is_newtons() -> None:
    """From 1e-5 away to 1e-10 or less; from the equilibrium itself nowhere."""
    start = implicit()
    off = 1e-5 * np.random.default_rng(1).normal(size=start.Z.shape)

    def finished(Z: np.ndarray) -> np.ndarray:
        return np.asarray(start.map._finished(Z, start.map._residuals(Z)))

    near = finished(start.Z + off)
    assert np.linalg.norm(near - start.Z) < 1e-4 * np.linalg.norm(off)
    assert np.linalg.norm(finished(start.Z) - start.Z) < 1e-14


@pytest.mark.parametrize("size", [0.5, 3.0])
@pytest.mark.parametrize(("share", "known"), [(0.9, True), (1.1, False)])
def test_an_equilibrium_is_certified_to_six_digits(
    size: float, share: float, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to its norm, or to 1 if that is larger; without a residual the error of z = c is the
    rounding of the map."""
    theta = parameters([np.zeros((1, 1))], [np.zeros((1, 1))], [np.zeros(1)], np.ones((1, 1)))
    data = {"X": np.ones((1, 1)), "Y": np.ones((1, 1))}
    rest = problem(data, theta, solver="implicit").start.map
    monkeypatch.setattr(FixedPoint, "__call__", lambda self, Z: Z)
    monkeypatch.setattr(FixedPoint, "noise", lambda self, Z: share * 1e-6 * max(size, 1.0))
    found = rest._certified(np.full((1, 1), size))
    assert (found.existence is Existence.UNIQUE) is known


@pytest.mark.parametrize(("wide", "proven"), [(3, True), (4, False)])
def test_norms_along_a_run_need_one_decomposition(
    wide: int, proven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """|W| <= |W_0| + |W - W_0|_F for those nearby; a wide W_0 has a bound by a proof."""
    monkeypatch.setattr(many, "WIDE", wide)
    asked: list[str] = []
    bound, norm2 = many.largest.bound, many.errors.norm2
    monkeypatch.setattr(many.largest, "bound", lambda W: asked.append("proof") or bound(W))
    monkeypatch.setattr(many.errors, "norm2", lambda W: asked.append("values") or norm2(W))
    r = np.random.default_rng(0)
    first = r.normal(size=(3, 5))
    W = first + 1e-9 * np.arange(6.0)[:, None, None] * r.normal(size=(3, 5))
    found = NormBounds(1).of(W)
    # Of small matrices a proof may be missing.
    assert asked in (["proof"], ["proof", "values"]) if proven else asked == ["values"]
    largest = np.linalg.norm(W, 2, axis=(1, 2))
    assert (largest <= found).all() and (found <= (1 + many.LOOSE) * largest).all()
    away = np.linalg.norm(W - first, axis=(1, 2))
    assert found - found[0] == pytest.approx(away, rel=1e-5, abs=1e-14)


@pytest.mark.parametrize(("passes", "count"), [(1, 1), (10, 1), (100, 2)])
def test_bounds_that_are_gone_through_often_are_finer(
    passes: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix 1 % away from another: near enough for ten passes of 2.5 %, not for 100."""
    asked: list[float] = []
    monkeypatch.setattr(many, "_bound", lambda W: asked.append(np.linalg.norm(W, 2)) or asked[-1])
    found = NormBounds(passes).of(np.array([[1.0], [1.01]])[:, None] * np.eye(2) / np.sqrt(2))
    assert len(asked) == count and found[0] == asked[0]
    assert found[1] == pytest.approx(asked[1] if count == 2 else asked[0] + 0.01, rel=1e-9)


@pytest.mark.parametrize(
    ("fields", "rank"),
    [
        ({"alpha": 1.0, "iterations": 3}, 2),
        ({"alpha": 0.5, "iterations": 3}, 3),
        ({"alpha": 1.0, "solver": "implicit"}, 2),
        ({"alpha": 0.5, "solver": "implicit"}, 3),
    ],
)
def test_the_rank_of_a_state_is_that_of_what_it_is_made_of(
    fields: dict[str, Any], rank: int
) -> None:
    """Of layers of 1 and 2 units: with a = 1 that of the last one, else of both together."""
    data, theta = arrays(5, 4, 2, 2, 1, 2, 6)
    theta = {**theta, "W1": theta["W1"][:1], "U1": theta["U1"][:1], "b1": theta["b1"][:1]}
    start = problem(data, theta, **fields).start
    assert start._inner_rank == rank == np.linalg.matrix_rank(start.Z, tol=1e-9)


def test_a_step_towards_an_equilibrium_is_newtons_where_that_helps() -> None:
    start = implicit()
    off = 1e-5 * np.random.default_rng(1).normal(size=start.Z.shape)
    Z = start.Z + off
    near = start.map._step(Z, start.map._residuals(Z))
    assert np.linalg.norm(near - start.Z) < 1e-4 * np.linalg.norm(off)
