"""lambda_min of D = sum_k (U^-T e_k e_k^T U^-1) kron M_k, eq (8).

M_k = I + gamma^2 (Z J_k)(Z J_k)^T, and D = (U^-T kron I) blockdiag(M_k) (U^-1 kron I), so that
lambda_min(D) = 1/||(U kron I) blockdiag(M_k^-1/2)||^2: a largest singular value, which floating
point finds to full relative accuracy.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import block_pencil, errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.records.measured import EPS, Measured, given

if TYPE_CHECKING:
    from deqcheck.models.delm.state import DelmState

# Up to this order the dense m my x m my factor is the faster way, and up to the next one the way
# where the enclosure is too wide.
DENSE_LIMIT, LAST_DENSE_LIMIT = 100, 300
# Beyond this |Z|^2 products of the blocks may overflow.
LARGEST = 1e150
# A wider enclosure (relative) is not worth having.
WIDEST = 1e-8
# Cholesky of that order is within reach, and proves a number so much below the Ritz value.
CHOLESKY_LIMIT, CHOLESKY_ROOM = 2000, 1e-7
# Lanczos stops at this relative residual, whose square is the error of the eigenvalue.
LANCZOS_RESIDUAL, LANCZOS_RESTARTS = 1e-7, 300


def block_factors(state: DelmState) -> np.ndarray:
    """N_k = Z J_k = Z diag(s_k) - (Z s_k) s_k^T, stacked over k (m x my x m)."""
    Zs = state.Z @ state.S
    scaled = state.Z[None, :, :] * state.S.T[:, None, :]
    found: np.ndarray = scaled - Zs.T[:, :, None] * state.S.T[:, None, :]
    return found


def block_scalars(state: DelmState) -> np.ndarray:
    """M_k for my = 1: 1 + gamma^2 ||J_k Z^T||^2."""
    N = block_factors(state)[:, 0, :]
    found: np.ndarray = 1 + state.gamma**2 * (N**2).sum(axis=1)
    return found


def lambda_min(state: DelmState) -> Measured:
    if state.my >= state.m:
        return _without_blocks(state)
    if not np.vdot(state.Z, state.Z) < LARGEST:
        return Measured(np.nan, np.inf, "overflow")
    if state.my == 1:
        return _scalar_output(state)
    order = state.m * state.my
    found = enclosed(state) if order > DENSE_LIMIT else None
    if found is not None:
        return found
    return block_factorised(state) if order <= LAST_DENSE_LIMIT else iterated(state)


def _without_blocks(state: DelmState) -> Measured:
    """my >= m: some w has w^T Z in span(1^T), so every w^T M_k w = |w|^2 and D's floor is U's."""
    return 1 / state.U_largest**2


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
    For my <= m; beyond that the floor is 1/||U||^2.
    """
    N = block_factors(state)
    smallest = np.linalg.svd(N, compute_uv=False)[:, -1]
    floor = 1 + state.gamma**2 * float(smallest.min()) ** 2
    v = np.linalg.svd(state.U)[2][0]
    wide = (state.gamma * v[:, None, None] * N).transpose(1, 0, 2).reshape(state.my, -1)
    ceiling = 1 + float(np.linalg.svd(wide, compute_uv=False)[-1]) ** 2
    radius = 2 * _factor_radius(state) * max(1.0, ceiling)
    top = state.U_singular[0] ** 2
    low, high = Measured(floor, radius) / top, Measured(ceiling, radius) / top
    return _between(low.low, high.high, "two-sided bracket")


def enclosed(state: DelmState) -> Measured | None:
    """M_k x = lambda U^T U x for all blocks at once, by the enclosure of a block pencil.

    Its coordinates are those of the last state of the run where they serve.
    """
    N2, radius = _grams(state)
    M = np.eye(state.my) + state.gamma**2 * N2
    U_radius = 4 * EPS * state.gamma * np.sqrt(state.m)
    M_radius = state.gamma**2 * radius + 4 * EPS
    found = block_pencil.enclose(M, state.U, M_radius, U_radius, WIDEST, state.memory.frame)
    if found is None:
        return None
    state.memory.frame = found.frame
    return _between(found.low, found.high, "residual of a certified subspace")


def iterated(state: DelmState) -> Measured:
    """Lanczos on X -> M^-1/2 U^T U M^-1/2 X, started at the bracket's Rayleigh vector.

    A Ritz value never exceeds the largest eigenvalue, so 1/Ritz is an upper end for lambda_min(D)
    that is sharp when converged. The lower end is a number below it for which Cholesky proves that
    blockdiag(M_k) - lambda U^T U kron I is positive, or else the bracket's, which no iteration can
    miss.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    m, my = state.m, state.my
    N2, radius = _grams(state)
    blocks, vectors = np.linalg.eigh(N2)
    blocks = 1 + state.gamma**2 * np.maximum(blocks, 0.0)
    roots = (vectors / np.sqrt(blocks)[:, None, :]) @ vectors.transpose(0, 2, 1)
    metric = state.U.T @ state.U

    def apply(x: np.ndarray) -> np.ndarray:
        y = roots @ x.reshape(m, my, 1)
        y = (metric @ y[:, :, 0])[:, :, None]
        return np.asarray((roots @ y).reshape(-1))

    v = _top_right(metric)
    M = (vectors * blocks[:, None, :]) @ vectors.transpose(0, 2, 1)
    w = np.linalg.eigh(np.einsum("k,kab->ab", v**2, M))[1][:, 0]
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
    value = 1 / float(found)
    # Of M_k and lambda U^T U, relative to M_k >= 1.
    lost = state.gamma**2 * radius + errors.rounding(m + my, 4 * float(blocks.max()))
    high = value * (1 + lost)
    if m * my <= CHOLESKY_LIMIT:
        # A factorisation that ends is exact for a matrix less than (order + 1) eps trace away.
        away = lost + 2 * (m * my + 1) * EPS * my * float(blocks.sum())
        low = value * (1 - CHOLESKY_ROOM - 2 * away)
        if _positive(M, low * metric, away):
            return Measured(value, max(value - low, high - value), "Lanczos above Cholesky")
    floor = Measured(float(blocks.min()), lost) / state.U_singular[0] ** 2
    reach = max(value - floor.low, high - value)
    return Measured(value, reach, "Lanczos above a certified floor")


def _positive(M: np.ndarray, K: np.ndarray, radius: float) -> bool:
    """Whether Cholesky finds blockdiag(M_k) - K kron I - radius positive."""
    m, my = M.shape[:2]
    A = np.zeros((m, my, m, my))
    for a in range(my):
        A[:, a, :, a] = -K
    for k in range(m):
        A[k, :, k, :] += M[k]
    flat = A.reshape(m * my, m * my)
    flat[np.diag_indices(m * my)] -= radius
    return bool(scipy.linalg.lapack.dpotrf(flat.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


def _between(low: float, high: float, how: str) -> Measured:
    middle = (low + high) / 2
    return Measured(middle, max(high - middle, middle - low), how)


def _grams(state: DelmState) -> tuple[np.ndarray, float]:
    """N_k N_k^T and its radius (2-norm).

    N_k N_k^T = Z diag(s_k^2) Z^T - a b^T - b a^T + |s_k|^2 b b^T with a = Z s_k^2, b = Z s_k.
    J_k 1 = 0, so that Z may be centred, after which less cancels.
    """
    S, my = state.S, state.my
    Z = state.Z - state.Z.mean(axis=1)[:, None]
    squares = S**2
    a, b = (Z @ squares).T, (Z @ S).T
    products = (Z[:, None, :] * Z[None, :, :]).reshape(my * my, -1)
    weighted = (products @ squares).T.reshape(-1, my, my)
    cross = a[:, :, None] * b[:, None, :]
    sums = squares.sum(axis=0)
    own = sums[:, None, None] * (b[:, :, None] * b[:, None, :])
    grams = np.asarray(weighted - cross - cross.transpose(0, 2, 1) + own)
    # Every term is at most |Z|^2 max_j s_jk^2 <= |Z|^2 |s_k|^2, and |N_k| <= |Z| |s_k|.
    size, z = float(np.sqrt(sums.max())), euclidean(Z)
    moved = state.Z_radius + 4 * EPS * state.m * euclidean(state.Z)
    return grams, size**2 * (errors.rounding(state.m, 4 * z**2) + 2 * z * moved + moved**2)


def _top_right(metric: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.eigh(metric)[1][:, -1])


def _inverse_roots(state: DelmState) -> np.ndarray:
    """M_k^-1/2 through the singular values of N_k: forming M_k would square its condition."""
    P, s, _ = np.linalg.svd(block_factors(state), full_matrices=False)
    shrink = 1 - 1 / np.sqrt(1 + (state.gamma * s) ** 2)
    found: np.ndarray = np.eye(state.my) - (P * shrink[:, None, :]) @ P.transpose(0, 2, 1)
    return found


def _factor_radius(state: DelmState) -> float:
    """2-norm radius of (U kron I) blockdiag(M_k^-1/2); 1/sqrt(1 + t^2) has slopes below 0.39."""
    size = float(np.sqrt(np.linalg.norm(state.U, 1) * np.linalg.norm(state.U, np.inf)))
    z = euclidean(state.Z)
    N_radius = state.Z_radius + 8 * EPS * state.m * z
    return float(
        size * (0.39 * state.gamma * N_radius + 8 * EPS * state.my) + 4 * EPS * np.sqrt(state.m)
    )


def star_map_infimum(m: int, gamma: float) -> Measured:
    """inf of lambda_min(D) over all (A, B), approached by 0/1 column maps (proved for m <= 6)."""
    g = given(gamma)
    if m == 1:
        return 1 / (1 - g) ** 2
    one, rest = -2 * gamma, -gamma * float(np.sqrt(m - 2))
    K3 = np.array([[1 + (m - 1) * gamma**2, one, rest], [one, 1 + gamma**2, 0.0], [rest, 0.0, 1.0]])
    # Similar to K3, and rational.
    c = Fraction(gamma)
    rows = [
        [1 + (m - 1) * c**2, -2 * c, -c * (m - 2)],
        [-2 * c, 1 + c**2, Fraction(0)],
        [-c, Fraction(0), Fraction(1)],
    ]
    return 1 / errors.eigenvalue(K3, -1, 8 * EPS * m, exact.rationals(rows))
