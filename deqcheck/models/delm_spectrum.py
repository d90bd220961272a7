"""lambda_min of D = sum_k (U^-T e_k e_k^T U^-1) kron M_k, eq (8).

M_k = I + gamma^2 (Z J_k)(Z J_k)^T, and D = (U^-T kron I) blockdiag(M_k) (U^-1 kron I), so that
lambda_min(D) = 1/||(U kron I) blockdiag(M_k^-1/2)||^2: a largest singular value, which floating
point finds to full relative accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.measured import EPS, Measured, measured

if TYPE_CHECKING:
    from deqcheck.models.delm_state import DelmState

# Up to this order the dense m my x m my factor is the faster way.
DENSE_LIMIT = 150
# Lanczos stops at this relative residual, whose square is the error of the eigenvalue.
LANCZOS_RESIDUAL, LANCZOS_RESTARTS = 1e-7, 300


def block_factors(state: DelmState) -> np.ndarray:
    """N_k = Z J_k = Z diag(s_k) - (Z s_k) s_k^T, stacked over k (m x my x m)."""
    Zs = state.Z @ state.S
    scaled = state.Z[None, :, :] * state.S.T[:, None, :]
    return scaled - Zs.T[:, :, None] * state.S.T[:, None, :]


def block_scalars(state: DelmState) -> np.ndarray:
    """M_k for my = 1: 1 + gamma^2 ||J_k Z^T||^2."""
    N = block_factors(state)[:, 0, :]
    return 1 + state.gamma**2 * (N**2).sum(axis=1)


def lambda_min(state: DelmState) -> Measured:
    if state.my >= state.m:
        return _without_blocks(state)
    if state.my == 1:
        return _scalar_output(state)
    if state.m * state.my <= DENSE_LIMIT:
        return block_factorised(state)
    return iterated(state)


def _without_blocks(state: DelmState) -> Measured:
    """my >= m: some w has w^T Z in span(1^T), so every w^T M_k w = |w|^2 and D's floor is U's."""
    return 1 / state.U_singular[0] ** 2


def _scalar_output(state: DelmState) -> Measured:
    root = 1 / np.sqrt(block_scalars(state))
    return 1 / errors.norm2(state.U * root, _factor_radius(state)) ** 2


def block_factorised(state: DelmState) -> Measured:
    """||(U kron I) blockdiag(M_k^-1/2)|| from the dense factor, block (i, k) = U_ik M_k^-1/2."""
    roots = _inverse_roots(state)
    F = np.einsum("ik,kab->iakb", state.U, roots)
    order = state.m * state.my
    return 1 / errors.norm2(F.reshape(order, order), _factor_radius(state)) ** 2


def bracket(state: DelmState) -> Measured:
    """min_k lambda_min(M_k)/||U||^2 <= lambda_min(D) <= lambda_min(sum_k v_k^2 M_k)/||U||^2.

    v is the top right singular vector of U: the upper end is a Rayleigh quotient, sound for any v.
    """
    N = block_factors(state)
    smallest = np.linalg.svd(N, compute_uv=False)[:, -1] if state.my <= state.m else np.zeros(1)
    floor = 1 + state.gamma**2 * float(smallest.min()) ** 2
    v = np.linalg.svd(state.U)[2][0]
    wide = (state.gamma * v[:, None, None] * N).transpose(1, 0, 2).reshape(state.my, -1)
    ceiling = 1 + float(np.linalg.svd(wide, compute_uv=False)[-1]) ** 2
    radius = 2 * _factor_radius(state) * max(1.0, ceiling)
    top = state.U_singular[0] ** 2
    low, high = Measured(floor, radius) / top, Measured(ceiling, radius) / top
    middle = (low.low + high.high) / 2
    return Measured(middle, max(high.high - middle, middle - low.low), "two-sided bracket")


def iterated(state: DelmState) -> Measured:
    """Lanczos on X -> M^-1/2 U^T U M^-1/2 X, started at the bracket's Rayleigh vector.

    A Ritz value never exceeds the largest eigenvalue, so 1/Ritz is an upper end for lambda_min(D)
    that is sharp when converged; the lower end is the bracket's, which no iteration can miss.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    m, my = state.m, state.my
    blocks, vectors = np.linalg.eigh(_grams(state))
    blocks = 1 + state.gamma**2 * np.maximum(blocks, 0.0)
    roots = (vectors / np.sqrt(blocks)[:, None, :]) @ vectors.transpose(0, 2, 1)
    metric = state.U.T @ state.U

    def apply(x: np.ndarray) -> np.ndarray:
        y = roots @ x.reshape(m, my, 1)
        y = (metric @ y[:, :, 0])[:, :, None]
        return np.asarray((roots @ y).reshape(-1))

    v = _top_right(metric)
    mixed = np.einsum(
        "k,kab->ab", v**2, (vectors * blocks[:, None, :]) @ vectors.transpose(0, 2, 1)
    )
    w = np.linalg.eigh(mixed)[1][:, 0]
    # M^1/2 (v kron w) is the vector of the bracket's Rayleigh quotient in these coordinates.
    start = (np.linalg.inv(roots) @ (v[:, None] * w)[:, :, None]).reshape(-1)
    try:
        found = eigsh(
            LinearOperator((m * my, m * my), matvec=apply, dtype=float),
            k=1, v0=start, which="LA", tol=LANCZOS_RESIDUAL, maxiter=LANCZOS_RESTARTS,
            return_eigenvectors=False,
        )[0]  # fmt: skip
    except ArpackNoConvergence:
        return bracket(state)
    top = state.U_singular[0]
    radius = 2 * _factor_radius(state) * float(blocks.max()) / float(top.low)
    value = 1 / float(found)
    low = (Measured(float(blocks.min()), radius) / top**2).low
    return Measured(value, max(value - low, radius * value), "Lanczos above a certified floor")


def _grams(state: DelmState) -> np.ndarray:
    """N_k N_k^T = Z diag(s_k^2) Z^T - a b^T - b a^T + |s_k|^2 b b^T, a = Z s_k^2, b = Z s_k."""
    Z, S = state.Z, state.S
    squares = S**2
    a, b = (Z @ squares).T, (Z @ S).T
    weighted = (Z[None, :, :] * squares.T[:, None, :]) @ Z.T
    cross = a[:, :, None] * b[:, None, :]
    own = squares.sum(axis=0)[:, None, None] * (b[:, :, None] * b[:, None, :])
    return np.asarray(weighted - cross - cross.transpose(0, 2, 1) + own)


def _top_right(metric: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.eigh(metric)[1][:, -1])


def _inverse_roots(state: DelmState) -> np.ndarray:
    """M_k^-1/2 through the singular values of N_k: forming M_k would square its condition."""
    P, s, _ = np.linalg.svd(block_factors(state), full_matrices=False)
    shrink = 1 - 1 / np.sqrt(1 + (state.gamma * s) ** 2)
    return np.eye(state.my) - np.einsum("kai,ki,kbi->kab", P, shrink, P)


def _factor_radius(state: DelmState) -> float:
    """2-norm radius of (U kron I) blockdiag(M_k^-1/2); 1/sqrt(1 + t^2) has slopes below 0.39."""
    size = float(state.U_singular.value[0])
    z = float(np.linalg.norm(state.Z))
    N_radius = state.Z_radius + 8 * EPS * state.m * z
    return size * (0.39 * state.gamma * N_radius + 8 * EPS * state.my) + 4 * EPS * np.sqrt(state.m)


def star_map_infimum(m: int, gamma: float) -> Measured:
    """inf of lambda_min(D) over all (A, B), approached by 0/1 column maps (proved for m <= 6)."""
    g = measured(gamma)
    if m == 1:
        return 1 / (1 - g) ** 2
    r = float(np.sqrt(m - 2))
    K3 = np.array(
        [
            [1 + (m - 1) * gamma**2, -2 * gamma, -gamma * r],
            [-2 * gamma, 1 + gamma**2, 0.0],
            [-gamma * r, 0.0, 1.0],
        ]
    )
    return 1 / errors.symmetric_eigenvalues(K3, 8 * EPS * m)[-1]
