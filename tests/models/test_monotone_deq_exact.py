"""Equilibria of the monotone model against 50 digits: no true error exceeds its bar."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import mpmath
import numpy as np
import pytest

from deqcheck.linalg.relu_equilibrium import Equilibrium
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.problem import NotCertified

mp = mpmath.mp.clone()
mp.dps = 50
n, N = 3, 3


def equilibrium(F: mpmath.matrix, c: mpmath.matrix) -> np.ndarray:
    """z >= 0, F z - c >= 0, z^T (F z - c) = 0, by trying every pattern."""
    for on in product([True, False], repeat=n):
        units = [i for i in range(n) if on[i]]
        z = mp.matrix(n, 1)
        if units:
            block = mp.matrix([[F[i, j] for j in units] for i in units])
            for i, value in zip(
                units, mp.lu_solve(block, mp.matrix([c[i] for i in units])), strict=True
            ):
                z[i] = value
        w = F * z - c
        if all(z[i] >= 0 for i in units) and all(w[i] >= 0 for i in range(n) if i not in units):
            return np.array(list(z), dtype=object)
    raise AssertionError("no pattern fits")


def exact(m: float, A: np.ndarray, B: np.ndarray, U: np.ndarray, X: np.ndarray) -> np.ndarray:
    a, b, u, x = (mp.matrix(array.tolist()) for array in (A, B, U, X))
    F = m * mp.eye(n) + a.T * a - b + b.T
    C = u * x
    return np.stack([equilibrium(F, C[:, j]) for j in range(N)], axis=1)


@pytest.mark.parametrize("skew", [0.0, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("m", [1e-9, 1e-3, 1.0])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e8])
def test_no_error_exceeds_its_bar(m: float, scale: float, skew: float) -> None:
    for seed in (0, 1, 5):
        r = np.random.default_rng(seed)
        A, B = scale * r.normal(size=(n, n)), skew * r.normal(size=(n, n))
        U, X = 10.0 ** (-seed * 40) * r.normal(size=(n, 2)), r.normal(size=(2, N))
        model = MonotoneDeqModel(m, X, np.zeros(N))
        state = model.at({"A": A, "B": B, "U": U, "u": np.ones(n)})
        # Doubles do not tell an active pair's equation beyond this.
        modulus = m + np.linalg.svd(A, compute_uv=False)[-1] ** 2
        if 1e-16 * skew >= 1e-11 * modulus:
            with suppress(NotCertified):
                inside(state.equilibrium, exact(m, A, B, U, X))
            continue
        found, true = state.equilibrium, exact(m, A, B, U, X)
        inside(found, true)
        size = max(
            np.linalg.norm(found.Z / np.abs(U).max()), np.linalg.norm(U @ X / np.abs(U).max())
        )
        assert found.error <= 1e-6 * size * np.abs(U).max()


def inside(found: Equilibrium, true: np.ndarray) -> None:
    off = mp.sqrt(sum((mp.mpf(z) - t) ** 2 for z, t in zip(found.Z.flat, true.flat, strict=True)))
    assert off <= found.error
    # An active unit that is certain is active.
    assert all(t > 0 for t in true[found.mask & ~found.doubtful])
