"""Certified errors of wide equilibria and sensitivities contain the truth, found with more digits.

The truth is that of the active set: its linear systems are solved by iterative refinement in long
double, or in 50 digits, and the pattern is seen to fit.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest

from deqcheck.linalg.certificates import Contraction
from deqcheck.linalg.equilibria import Equilibria
from deqcheck.linalg.exact_zeros import Support
from deqcheck.linalg.relu_equilibrium import Equilibrium, picard

Long = np.longdouble
M, N = 72, 8
KINDS = ["general", "symmetric", "positive", "low rank", "skew", "orthogonal", "slow mode"]


def weight(kind: str, r: np.random.Generator, q: float) -> np.ndarray:
    W = r.normal(size=(M, M))
    if kind == "symmetric":
        W = W + W.T
    if kind == "positive":
        W = np.abs(W)
    if kind == "low rank":
        W = W[:, :3] @ W[:3]
    if kind == "skew":
        W = W - W.T
    if kind == "orthogonal":
        W = np.linalg.qr(W)[0]
    if kind == "slow mode":
        u = np.full((M, 1), M**-0.5)
        P = np.eye(M) - u @ u.T
        W = P @ W @ P * (0.3 / np.linalg.norm(W, 2)) + u @ u.T
    return np.asarray(W * (q / np.linalg.norm(W, 2)))


def samples(r: np.random.Generator, scale: float) -> np.ndarray:
    """With a pair of equal samples, a zero one, one that activates no unit, and a zero row."""
    C = r.normal(size=(M, N))
    C[:, 1], C[:, 2], C[:, 3], C[5] = C[:, 0], 0.0, -np.abs(C[:, 3]), 0.0
    return C * scale


def refined(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b; each round gains the digits that the inverse in doubles has."""
    inverse, x = np.linalg.inv(A.astype(float)), np.zeros(b.shape, Long)
    size = max(float(np.abs(b).max(initial=0.0)), 1e-300)
    for _ in range(12):
        x = x + size * (inverse @ ((b - A @ x) / size).astype(float)).astype(Long)
    return x


def system(W: np.ndarray, on: np.ndarray) -> np.ndarray:
    return np.eye(int(on.sum()), dtype=Long) - W.astype(Long)[np.ix_(on, on)]


def true_state(found: Equilibrium) -> np.ndarray:
    W, C, Z = found.W.astype(Long), found.C.astype(Long), np.zeros(found.Z.shape, Long)
    for j, on in enumerate(found.mask.T):
        Z[on, j] = refined(system(found.W, on), C[on, j])
    assert np.array_equal(W @ Z + C > 0, found.mask) and (Z >= 0).all()
    return Z


def true_adjoint(found: Equilibrium, a: np.ndarray) -> np.ndarray:
    V = np.zeros(found.Z.shape, Long)
    for j, on in enumerate(found.mask.T):
        V[on, j] = refined(system(found.W, on).T, a[on].astype(Long))
    return V


def distance(a: np.ndarray, b: np.ndarray) -> float:
    size = max(float(np.abs(b).max()), 1e-300)
    return float(np.linalg.norm(((a - b) / size).astype(float))) * size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("q", [0.3, 0.95, 0.999])
def test_bars_contain_the_truth_along_a_path(kind: str, q: float) -> None:
    """Warm starts, then a jump to the mirrored samples."""
    r = np.random.default_rng(KINDS.index(kind))
    W, scale = weight(kind, r, q), float(10.0 ** r.choice([-100, -8, 0, 8, 100]))
    C, a = samples(r, scale), r.normal(size=M) * 10.0 ** r.choice([-100, 0, 100])
    drift, memory = r.normal(size=W.shape) * 1e-5 / M, Equilibria()
    for k, factor in enumerate([1.0, 1.001, 1.002, -1.0]):
        W_k, C_k = W + k * (1 - q) * drift, C * factor
        hint = memory.hint(W_k, C_k, a)
        solved = picard(W_k, C_k, Contraction(memory.norm_bound(W_k)), hint.state)
        # The zeros of the samples are exact.
        found = replace(solved, support=lambda W=W_k: Support(W != 0, np.zeros(C.shape)))
        V, radius = found.sensitivities(a, hint.adjoint)
        hint.keep_state(found.Z, found.H)
        hint.keep_adjoint(V)
        assert distance(found.Z, true_state(found)) <= found.error
        # Bars are not empty words either: many digits at every scale.
        assert found.error <= 1e-9 * max(np.linalg.norm(found.Z), np.linalg.norm(C_k))
        assert distance(V, true_adjoint(found, a)) <= radius <= 1e-8 * np.linalg.norm(V)


@pytest.mark.parametrize("scale", [1e-170, 1e-250, 1e170, 1e300])
def test_where_squares_leave_the_doubles_no_error_exceeds_its_bar(scale: float) -> None:
    """relu is homogeneous: the solution of C is that of C/2^k, times 2^k."""
    W, C = (
        weight("general", np.random.default_rng(0), 0.9),
        samples(np.random.default_rng(1), scale),
    )
    unit = 2.0 ** round(np.log2(scale))
    with np.errstate(all="ignore"):
        found, plain = (picard(W, x, Contraction(0.91)) for x in (C, C / unit))
    assert plain.error <= 1e-9
    assert np.linalg.norm(found.Z / unit - plain.Z) <= found.error / unit + plain.error


def test_fifty_digits() -> None:
    r = np.random.default_rng(7)
    W, C, a = weight("symmetric", r, 0.999), samples(r, 1.0)[:, :1], r.normal(size=M)
    found = picard(W, C, Contraction(0.9990001))
    V, radius = found.sensitivities(a)
    on = np.flatnonzero(found.mask[:, 0])
    with mpmath.workdps(50):
        A = mpmath.eye(len(on)) - mpmath.matrix(W[np.ix_(on, on)].tolist())
        z = mpmath.lu_solve(A, mpmath.matrix(C[on, 0].tolist()))
        v = mpmath.lu_solve(A.T, mpmath.matrix(a[on].tolist()))
        pairs = [(found.Z[on, 0], z, found.error), (V[on, 0], v, radius)]
        for computed, true, bar in pairs:
            off = mpmath.norm(mpmath.matrix(computed.tolist()) - true)
            assert off <= bar <= 1e-8 * float(mpmath.norm(true))
        assert min(z) > 0


def test_what_is_exactly_zero_is_so_without_error() -> None:
    W, nothing = weight("general", np.random.default_rng(0), 0.9), np.zeros((M, N))
    found = picard(W, nothing, Contraction(0.91))
    assert found.error == 0 and not found.Z.any()
    V, radius = found.sensitivities(np.zeros(M))
    assert radius == 0 and not V.any()


@pytest.mark.parametrize("m", [3, M])
def test_radii_reach_the_other_side_of_doubtful_kinks(m: int) -> None:
    """The kinks are nearer than rounding; V is solved with each of these units on and off."""
    for seed in range(20):
        r = np.random.default_rng(seed)
        W = r.normal(size=(m, m))
        W *= 0.9 / np.linalg.norm(W, 2)
        H, a = r.normal(size=(m, 2)), r.normal(size=m)
        H[r.choice(m, 2, replace=False), 0] = 1e-17, -1e-17
        found = picard(W, H - W @ np.maximum(H, 0.0), Contraction(0.9001))
        V, radius = found.sensitivities(a)
        doubtful = np.argwhere(found.doubtful)
        assert len(doubtful) == 2 and np.isfinite(radius)
        for sides in product([False, True], repeat=2):
            mask = found.mask.copy()
            mask[tuple(doubtful.T)] = sides
            for j in range(2):
                J = np.diag(mask[:, j].astype(float))
                truth = np.linalg.solve(np.eye(m) - J @ W.T, J @ a)
                assert np.linalg.norm(truth - V[:, j]) <= radius
