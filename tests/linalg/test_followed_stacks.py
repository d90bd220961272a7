"""Ends of spectra from those of matrices nearby, held against decompositions."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import followed_stacks
from deqcheck.linalg.followed_stacks import FOLLOWED, Nearby, decomposed

STEPS, COUNT = 9, 4


def near(seed: int, shape: tuple[int, int], drift: float) -> np.ndarray:
    r = np.random.default_rng(seed)
    Z, D = r.normal(size=(COUNT, *shape)), drift * r.normal(size=(COUNT, *shape))
    return np.stack([Z + (k - STEPS // 2) * D for k in range(STEPS)])


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("shape", [(20, 20), (20, 10), (9, 9), (32, 12), (8, 8), (5, 1)])
@pytest.mark.parametrize("drift", [0.0, 1e-8, 1e-4, 1e-3, 0.1])
def test_values_and_bars(shape: tuple[int, int], upper: bool, drift: float) -> None:
    Z = near(1, shape, drift)
    found = Nearby(Z[STEPS // 2], upper).ends(Z)
    value, error = (x.reshape(STEPS, COUNT) for x in decomposed(Z.reshape(-1, *shape), upper))
    # Of both, which differ by far less.
    assert (np.abs(found.value - value) <= 0.5 * (found.error + error)).all()
    assert (found.error <= error * (1 + 10 * STEPS * drift * max(shape))).all()
    if shape[1] < FOLLOWED:
        assert not found.turned.any() and np.array_equal(found.error, error)
    elif drift <= 1e-4:
        assert found.turned.all()


@pytest.mark.parametrize("upper", [True, False])
def test_known_singular_values(upper: bool) -> None:
    """Of Q diag(s) P with reflections of whole numbers, which lose next to nothing."""
    r = np.random.default_rng(0)
    s = np.linspace(1.0, 3.0, 12)
    v, w = (np.round(8 * r.normal(size=12)) for _ in range(2))
    Q, P = (np.eye(12) - 2 * np.outer(x, x) / (x @ x) for x in (v, w))
    Z = np.stack([Q @ np.diag(s * (1 + 1e-5 * k)) @ P for k in range(5)])[:, None]
    found = Nearby(Z[2], upper).ends(Z)
    wanted = (s[-1] if upper else s[0]) * (1 + 1e-5 * np.arange(5))
    assert found.turned.all()
    assert (np.abs(found.value[:, 0] - wanted) <= found.error[:, 0]).all()


@pytest.mark.parametrize("upper", [True, False])
def test_what_cannot_be_told_apart_is_decomposed(upper: bool) -> None:
    """Two equal ends, next to equal ones, sizes whose squares underflow, and zeros."""
    s = np.ones((4, 10))
    s[0, [0, 1]], s[0, [-2, -1]] = 2.0, 0.5
    s[1] = np.linspace(2.0, 1.0, 10)
    s[1, [1, -2]] = s[1, [0, -1]] * (1 + 1e-15)
    s[2], s[3] = 1e-120 * np.linspace(2.0, 1.0, 10), 0.0
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(10, 10)))[0]
    Z = np.stack([Q @ (each[:, None] * Q.T) for each in s])
    found = Nearby(Z, upper).ends(Z[None])
    value, error = decomposed(Z, upper)
    assert not found.turned.any()
    assert np.array_equal(found.value[0], value) and np.array_equal(found.error[0], error)


def test_digits_depend_on_no_other_matrix() -> None:
    Z = near(5, (20, 10), 3e-3)
    every = Nearby(Z[4], False).ends(Z)
    for i in range(COUNT):
        alone = Nearby(Z[4, i : i + 1], False).ends(Z[:, i : i + 1])
        for mine, theirs in zip(every, alone, strict=True):
            assert np.array_equal(mine[:, i], theirs[:, 0])


def test_a_wrong_vector_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without turns the residual is not small, and the matrices are decomposed."""
    Z = near(3, (20, 20), 1e-3)
    monkeypatch.setattr(followed_stacks, "TURNS", 0)
    found = Nearby(Z[STEPS // 2], True).ends(Z)
    assert found.turned[STEPS // 2].all()
    assert not np.delete(found.turned, STEPS // 2, axis=0).any()
