"""Diagonal Lambda > 0 with Lambda F + F^T Lambda > 0, or a proof that there is none.

Sought is the largest t = lambda_min(Lambda F + F^T Lambda) over the Lambda of trace n. It is
concave in Lambda, and for every positive semidefinite Z of trace 1 at most <Z, Lambda F + F^T
Lambda> = 2 sum_i lambda_i (F Z)_ii <= 2 n max_i (F Z)_ii (Barker, Berman and Plemmons 1978). Both
come from one search along a central path.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import lapack
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.linalg.perron import metzler, positive_solution
from deqcheck.records.measured import EPS, Measured

# Of the search: values of mu, and Newton steps for each.
ROUNDS, STEPS = 30, 40
GROWTH, LARGEST = 8.0, 1e14
CENTRED = 0.1
# A step of it takes some n^3.
WIDEST = 600
TOO_WIDE = f"two diagonals were tried; the search is up to {WIDEST} units"
# It ends where the margin is at least this share of what is possible.
GOOD = 0.5


@dataclass(frozen=True, eq=False)
class Found:
    """Lambda, of trace n, the lambda_min of it, and an upper bound on that of every other."""

    weights: np.ndarray
    lowest: Measured
    # inf where none was computed.
    most: float
    how: str

    @property
    def feasible(self) -> bool:
        return bool(self.lowest.low > 0)

    @property
    def value(self) -> Measured:
        """lambda_min of the best Lambda that is known to be good, else the largest possible one."""
        if self.feasible:
            return self.lowest
        low, high = float(self.lowest.low), self.most
        if not np.isfinite(high):
            # Another one may be better.
            return Measured(low, np.inf)
        return Measured((low + high) / 2, (high - low) / 2 * (1 + 4 * EPS))


def lyapunov(W: np.ndarray, weights: np.ndarray) -> Matrix:
    """Lambda F + F^T Lambda for F = I - W."""
    F = identity(len(W)) - instance(W)
    half = instance(np.diag(weights)) @ F
    return half + half.T


def search(W: np.ndarray) -> Found:
    n = len(W)
    tried = _tried(W, np.ones(n), "Lambda = I")
    if tried.feasible:
        return tried
    M = metzler(W)
    v, u = positive_solution(M, np.ones(n)), positive_solution(M.T, np.ones(n))
    if v is not None and u is not None:
        known = _tried(W, u / v, "Lambda = diag(u/v), (I - M) v = 1, (I - M)^T u = 1")
        if known.feasible:
            return known
    return _centred(W) if n <= WIDEST else replace(tried, how=TOO_WIDE)


def _tried(W: np.ndarray, weights: np.ndarray, how: str, most: float = np.inf) -> Found:
    weights = weights * (len(W) / weights.sum())
    return Found(weights, lyapunov(W, weights).eigenvalue(0), most, how)


def _centred(W: np.ndarray) -> Found:
    """The central path, in the scale of F: mu tau + log det(X - tau I) + sum_i log lambda_i is
    maximised over Lambda and tau, for growing mu."""
    n = len(W)
    F = np.eye(n) - W
    size = euclidean(F) / np.sqrt(n)
    if not (np.isfinite(size) and size > 0):
        return _tried(W, np.ones(n), "Lambda = I")
    G, weights, most, mu = F / size, np.ones(n), np.inf, float(n)
    tau = _lowest(G, weights) - 1.0
    for _ in range(ROUNDS):
        centre = _centre(G, weights, tau, mu)
        if centre is None:
            break
        weights, tau, Y = centre
        most = min(most, _bound(F, Y))
        t = _lowest(G, weights)
        if most <= 0 or (t > 0 and t * size >= GOOD * most) or mu > LARGEST:
            break
        mu *= GROWTH
    return _tried(W, weights, "Lambda found by search", most)


def _lowest(G: np.ndarray, weights: np.ndarray) -> float:
    half = weights[:, None] * G
    return float(np.linalg.eigvalsh(half + half.T)[0])


def _factor(G: np.ndarray, weights: np.ndarray, tau: float) -> np.ndarray | None:
    if not (weights > 0).all():
        return None
    half = weights[:, None] * G
    X = half + half.T
    X[np.diag_indices(len(X))] -= tau
    found, failed = scipy.linalg.lapack.dpotrf(X, lower=True)
    return None if failed else found


def _centre(
    G: np.ndarray, weights: np.ndarray, tau: float, mu: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """The maximiser, by Newton's method with the trace held, and Y = (X - tau I)^-1."""
    n, Y = len(G), None
    for _ in range(STEPS):
        L = _factor(G, weights, tau)
        if L is None:
            break
        half = scipy.linalg.lapack.dpotri(L, lower=True)[0]
        Y = np.tril(half) + np.tril(half, -1).T
        way, decrement = _newton(G, weights, Y, mu)
        if not decrement >= CENTRED:
            break
        step = 1 / (1 + decrement)
        # Twice the safe step as long as it stays inside.
        while 2 * step < 1 and _inside(G, weights, tau, 2 * step * way):
            step *= 2
        weights, tau = weights + step * way[:n], tau + step * float(way[n])
    return None if Y is None else (weights, tau, Y)


def _inside(G: np.ndarray, weights: np.ndarray, tau: float, way: np.ndarray) -> bool:
    return _factor(G, weights + way[:-1], tau + float(way[-1])) is not None


def _newton(
    G: np.ndarray, weights: np.ndarray, Y: np.ndarray, mu: float
) -> tuple[np.ndarray, float]:
    """The step in (lambda, tau) and its decrement; nan where there is none."""
    n, GY = len(G), G @ Y
    gradient = np.append(2 * np.diag(GY) + 1 / weights, mu - np.trace(Y))
    hessian = np.zeros((n + 1, n + 1))
    hessian[:n, :n] = 2 * (Y * (GY @ G.T) + GY * GY.T) + np.diag(weights**-2)
    hessian[:n, n] = hessian[n, :n] = -2 * np.einsum("ij,ji->i", GY, Y)
    hessian[n, n] = np.sum(Y * Y)
    held = np.append(np.ones(n), 0.0)
    try:
        way, turn = np.linalg.solve(hessian, np.column_stack([gradient, held])).T
    except np.linalg.LinAlgError:
        return gradient, np.nan
    way = way - turn * (way[:n].sum() / turn[:n].sum())
    return way, float(np.sqrt(max(float(gradient @ way), 0.0)))


def _bound(F: np.ndarray, Y: np.ndarray) -> float:
    """2 n max_i (F Z)_ii for Z = Y/tr(Y), made semidefinite by a multiple of the identity."""
    n = len(F)
    values = np.linalg.eigvalsh(Y)
    size = float(np.abs(values).max())
    lift = max(-float(values[0]) + lapack(Y.shape, size), 0.0)
    trace = float(np.trace(Y)) + n * lift
    diagonal = np.einsum("ij,ji->i", F, Y) + lift * np.diag(F)
    sizes = np.einsum("ij,ji->i", np.abs(F), np.abs(Y)) + lift * np.abs(np.diag(F))
    worst = float((diagonal + (n + 8) * EPS * sizes).max())
    # What is not positive stays so under any trace.
    trace *= 1 - (n + 4) * EPS if worst > 0 else 1 + (n + 4) * EPS
    return 2 * n * worst / trace
