"""ReLU equilibria: certified error, polish, sensitivities against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from deqcheck.linalg import relu_equilibrium
from deqcheck.linalg.certificates import Contraction, Monotone
from deqcheck.linalg.relu_equilibrium import (
    Equilibrium,
    forward_backward,
    peaceman_rachford,
    picard,
    relu,
)


def contraction(seed: int, m: int = 3, n: int = 4, q: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    W = r.normal(size=(m, m))
    return q * W / np.linalg.norm(W, 2), r.normal(size=(m, n))


def monotone(seed: int, m: int = 3, n: int = 4, modulus: float = 0.3) -> tuple[np.ndarray, ...]:
    r = np.random.default_rng(seed)
    A, B = r.normal(size=(2, m, m))
    return (1 - modulus) * np.eye(m) - A.T @ A + B - B.T, r.normal(size=(m, n))


def enumerated(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The equilibrium by trying every activation pattern."""
    m = len(c)
    for pattern in product([False, True], repeat=m):
        on = np.array(pattern)
        z = np.zeros(m)
        if on.any():
            z[on] = np.linalg.solve(np.eye(on.sum()) - W[np.ix_(on, on)], c[on])
        if np.allclose(z, relu(W @ z + c), atol=1e-10) and (z >= 0).all():
            return z
    raise AssertionError("no pattern fits")


@pytest.mark.parametrize("seed", range(20))
def test_picard_finds_the_only_pattern_that_fits(seed: int) -> None:
    W, C = contraction(seed)
    found = picard(W, C, Contraction(0.9))
    truth = np.stack([enumerated(W, c) for c in C.T], axis=1)
    assert np.linalg.norm(found.Z - truth) <= found.error + 1e-14
    assert found.error < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_peaceman_rachford_solves_where_sweeps_need_not(seed: int) -> None:
    W, C = monotone(seed)
    lipschitz = float(np.linalg.norm(np.eye(3) - W, 2))
    found = peaceman_rachford(W, C, Monotone(0.3), lipschitz)
    truth = np.stack([enumerated(W, c) for c in C.T], axis=1)
    assert np.linalg.norm(found.Z - truth) <= found.error + 1e-13


def test_the_certificate_covers_any_state_not_only_good_ones() -> None:
    r = np.random.default_rng(0)
    for seed in range(30):
        W, C = contraction(seed)
        exact = picard(W, C, Contraction(0.9)).Z
        for scale in (1e-8, 1e-3, 1.0):
            near = exact + scale * r.normal(size=exact.shape)
            assert np.linalg.norm(near - exact) <= Equilibrium(W, C, near, Contraction(0.9)).error
        W, C = monotone(seed)
        certificate = Monotone(0.3)
        lipschitz = float(np.linalg.norm(np.eye(3) - W, 2))
        exact = peaceman_rachford(W, C, certificate, lipschitz).Z
        near = relu(exact + 0.1 * r.normal(size=exact.shape))
        assert np.linalg.norm(near - exact) <= Equilibrium(W, C, near, certificate).error


def test_iterating_without_polish_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    W, C = contraction(3, m=12, n=9)
    a = np.random.default_rng(0).normal(size=12)
    polished = picard(W, C, Contraction(0.9))
    V, radius = polished.sensitivities(a)
    monkeypatch.setattr(relu_equilibrium, "POLISH_BUDGET", 0.0)
    swept = picard(W, C, Contraction(0.9))
    V_swept, radius_swept = swept.sensitivities(a)
    assert np.linalg.norm(polished.Z - swept.Z) <= polished.error + swept.error
    assert np.linalg.norm(V - V_swept) <= radius + radius_swept


def test_what_is_found_at_once_is_what_sweeps_find(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(seed: int) -> list[Equilibrium]:
        m, n = 1 + seed % 4, 1 + seed % 3
        W, C = contraction(seed, m, n, 0.99)
        V, D = monotone(seed, m, n)
        lipschitz = float(np.linalg.norm(np.eye(m) - V, 2))
        certificate = Monotone(0.3)
        return [
            picard(W, C, Contraction(0.991)),
            peaceman_rachford(V, D, certificate, lipschitz),
            forward_backward(V, D, certificate, 0.3 / lipschitz**2),
        ]

    at_once = [found(seed) for seed in range(40)]
    assert not any(each.sweeps for group in at_once for each in group)
    monkeypatch.setattr(relu_equilibrium, "narrow", lambda m, n: False)
    for seed, group in enumerate(at_once):
        for one, swept in zip(group, found(seed), strict=True):
            assert swept.sweeps and np.array_equal(one.mask, swept.mask)
            assert np.linalg.norm(one.Z - swept.Z) <= one.error + swept.error < 1e-10


def test_sensitivities_are_the_derivative_of_the_read_out() -> None:
    W, C = contraction(5, m=6, n=3)
    a = np.random.default_rng(1).normal(size=6)
    V, _ = picard(W, C, Contraction(0.9)).sensitivities(a)
    h = 1e-6
    for i, j in np.ndindex(C.shape):
        up, down = C.copy(), C.copy()
        up[i, j] += h
        down[i, j] -= h
        rise = picard(W, up, Contraction(0.9)).Z.T @ a - picard(W, down, Contraction(0.9)).Z.T @ a
        assert rise[j] / (2 * h) == pytest.approx(V[i, j], abs=1e-8)


def test_no_contraction_is_no_certificate() -> None:
    assert Contraction(1.0).radius(1e-16) == np.inf
    with np.errstate(all="ignore"):
        assert picard(np.array([[2.0]]), np.array([[1.0]]), Contraction(2.0)).error == np.inf


@pytest.mark.parametrize("q", [0.9, 1 - 1e-5])
def test_units_on_their_kinks_take_few_sweeps(q: float) -> None:
    """Which of them is on is decided by rounding: the mask does not rest."""
    r = np.random.default_rng(1)
    H = r.normal(size=(8, 6))
    H[r.random(size=H.shape) < 0.2] = 0.0
    W = q * np.linalg.qr(r.normal(size=(8, 8)))[0]
    Z = np.maximum(H, 0)
    found = picard(W, H - W @ Z, Contraction(q))
    assert found.sweeps <= 64
    assert np.linalg.norm(found.Z - Z) <= found.error < 1e-13 / (1 - q)
