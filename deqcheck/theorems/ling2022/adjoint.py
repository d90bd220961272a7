"""Linear systems on the activation pattern of an equilibrium, a right side for each sample.

With D_j the slopes of sample j: the tangent dz_j = D_j (W dz_j + c_j) and the adjoint
e_j = D_j (W^T e_j + b_j), neither as an mn x mn matrix.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.certificates import Contraction
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import Matrix
from deqcheck.records.measured import EPS
from deqcheck.records.tower import Again
from deqcheck.theorems.ling2022.setting import State

SWEEPS = 20_000


def solved(state: State, B: np.ndarray, transposed: bool) -> tuple[np.ndarray, float]:
    """The tangent, or the adjoint if `transposed`, and its Frobenius radius for exact B."""
    found, W = state.equilibrium, state.theta["W"]
    A = W.T if transposed else W
    if isinstance(found.certificate, Contraction):
        E = _swept(A, found.mask, B)
    else:
        E = np.stack([_one(A, on, b) for on, b in zip(found.mask.T, B.T, strict=True)], axis=1)
    defect = errors.length(E - found.mask * (A @ E + B))
    # Each entry is a sum over the units and a term of B.
    size = euclidean(W) * errors.length(E) + errors.length(found.mask * B)
    return E, found.certificate.inverse * (defect + errors.rounding(len(W), size))


def _swept(A: np.ndarray, mask: np.ndarray, B: np.ndarray) -> np.ndarray:
    E = mask * B
    for _ in range(SWEEPS):
        new = mask * (A @ E + B)
        moved = euclidean(new - E)
        E = new
        if moved <= 4 * EPS * euclidean(E):
            break
    found: np.ndarray = E
    return found


def _one(A: np.ndarray, on: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.solve(np.eye(len(A)) - on[:, None] * A, on * b)
    return found


def printed_H(state: State) -> Matrix:
    """H with R = (a^T kron I_n) J^-1 D, which is not block diagonal: H = G + R ((G + X^T X) kron
    I_m) R^T. T_s holds the columns of R^T that belong to sample s."""
    (m, n), Z, X = state.Z.shape, state.Z, state.model.X
    right = np.kron(state.a[:, None], np.eye(n)).reshape(n, m, n)
    # One right side of every sample at a time.
    solutions = [solved(state, right[:, :, j].T, True) for j in range(n)]
    T = np.stack([E.T for E, _ in solutions], axis=2)
    dT = float(np.hypot.reduce([radius for _, radius in solutions]))
    inner = Z.T @ Z + X.T @ X
    H = Z.T @ Z + np.einsum("smj,smk->jk", T, np.tensordot(inner, T, axes=(1, 0)))
    z, x, size, dz = errors.length(Z), errors.length(X), errors.length(T), state.equilibrium.error
    d_gram = (2 * z + dz) * dz + errors.rounding(m, z * z)
    d_inner = d_gram + errors.rounding(state.model.d, x * x)
    whole = z * z + x * x
    radius = d_gram + d_inner * size**2 + (whole + d_inner) * (2 * size + dT) * dT
    radius += errors.rounding(m * n, whole * size**2)
    return Matrix(H, radius, _exactly(state, right))


def _exactly(state: State, right: np.ndarray) -> Again:
    """Column j of R^T is the adjoint of its right side, column under column."""
    n, m, _ = right.shape
    again, gram = state.again, exact.gram(exact.transpose(state.again.Z))
    inner = exact.plus(gram, exact.gram(exact.transpose(exact.array(state.model.X))))
    turned = [
        Again(exact.vec, again.relu.sensitivities(exact.array(right[:, :, j].T))) for j in range(n)
    ]
    R = exact.transpose(reduce(exact.stacked, map(exact.transpose, turned)))
    weights = Again(exact.kronecker, inner, exact.array(np.eye(m)))
    form = exact.product(exact.transpose(R), exact.product(weights, R))
    return exact.plus(gram, form)
