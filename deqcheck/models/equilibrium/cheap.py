"""Jacobian-free backpropagation: the gradient with I in place of (I - W^T D)^-1.

With g = C^T dl/dy and D = diag s': the gradient is p (z, x, 1)^T with p = D w, (I - W^T D) w = g,
the cheap one q (z, x, 1)^T with q = D g. The part of the read-out is the same in both.
"""

from __future__ import annotations

import numpy as np

from deqcheck.linalg import errors, lapack
from deqcheck.linalg.matrix import Matrix
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.measured import Measured


def pair(state: EquilibriumState, j: int, g: np.ndarray) -> tuple[Matrix, Matrix]:
    """p and q of sample j; slopes of smooth activations have a Lipschitz constant below 1. A
    doubtful unit makes the radius infinite: its slope is not known."""
    if state.doubtful[:, j].any():
        return Matrix(np.zeros(state.n), np.inf), Matrix(np.zeros(state.n), np.inf)
    D = state.slopes[:, j]
    system = np.eye(state.n) - state.W.T * D
    w = lapack.solve(system, g)
    off = np.zeros(state.n) if state.s.piecewise else state.H_error[:, j]
    size = errors.length(system) * errors.length(w) + errors.length(g)
    left = errors.length(system @ w - g) + errors.rounding(state.n, size)
    moved = spectral_norm(state.W) * errors.length(off * np.abs(w))
    radius = state.sensitivity * (left + moved) + errors.length(off * np.abs(w))
    q = D * g
    own = errors.length(off * np.abs(g)) + 4e-16 * errors.length(q)
    return Matrix(D * w, radius + 4e-16 * errors.length(w)), Matrix(q, own)


def weight(state: EquilibriumState, i: int, j: int) -> Measured:
    """k_ij = z_i z_j + x_i x_j + 1: the inner product of what the two samples' gradients have."""
    Z, X = state.Z, state.model.X
    e = state.equilibrium.errors
    zi, zj = Matrix(Z[:, i], float(e[i])), Matrix(Z[:, j], float(e[j]))
    return zi.inner(zj) + Matrix(X[:, i]).inner(Matrix(X[:, j])) + 1


def label_free(state: EquilibriumState) -> Matrix:
    """A with A_(i a)(j b) = P_ia^T Q_jb k_ij over samples i and outputs a: the inner product of
    gradient and cheap gradient is r^T A r for the residuals r, without the read-out's square."""
    q, N = len(state.C), state.N
    P, Q, off = _stacked(state)
    products = P.T @ Q
    Z, X = state.Z, state.model.X
    gram = Z.T @ Z + X.T @ X + 1
    sizes = np.sqrt((Z * Z).sum(axis=0))
    e = state.equilibrium.errors
    loose = np.outer(sizes + e, sizes + e) - np.outer(sizes, sizes)
    loose += errors.rounding(state.n + len(X), float(np.abs(gram).max(initial=1.0)))
    k, dk = np.kron(gram, np.ones((q, q))), np.kron(loose, np.ones((q, q)))
    lengths = [np.sqrt((a * a).sum(axis=0)) for a in (P, Q)]
    spread = np.outer(lengths[0] + off[0], lengths[1] + off[1]) - np.outer(*lengths)
    spread += errors.rounding(state.n, 1.0) * np.outer(*lengths)
    error = spread * (np.abs(k) + dk) + np.abs(products) * dk
    assert k.shape == (N * q, N * q)
    return Matrix(products * k, errors.length(error) * (1 + 1e-14))


def _stacked(state: EquilibriumState) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    q, N = len(state.C), state.N
    P, Q = np.zeros((state.n, N * q)), np.zeros((state.n, N * q))
    off = [np.zeros(N * q), np.zeros(N * q)]
    for j in range(N):
        for a in range(q):
            at = j * q + a
            p, cheap = pair(state, j, state.C[a])
            P[:, at], Q[:, at] = p.array[:, 0], cheap.array[:, 0]
            off[0][at], off[1][at] = p.radius, cheap.radius
    return P, Q, off


def cosine(p: Matrix, q: Matrix) -> Measured:
    return p.inner(q) / (p.frobenius() * q.frobenius())
