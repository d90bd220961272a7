"""The monotone model in explicit Kronecker form, as the thesis writes it: slow.

vec stacks columns. The commutation matrix, the identities and Q are sparse; only the Jacobians are
dense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg.kron import sparse_commutation, unvec, vec
from deqcheck.linalg.late import scipy
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.monotone_deq.state import MonotoneDeqState


def P_A(A: np.ndarray) -> scipy.sparse.csc_matrix:
    """d vec(W)/d vec(A) = -(I + K)(I_n kron A^T)."""
    n = len(A)
    identity = scipy.sparse.identity(n * n)
    return scipy.sparse.csc_matrix(
        -(identity + sparse_commutation(n, n)) @ scipy.sparse.kron(scipy.sparse.identity(n), A.T)
    )


def P_B(n: int) -> scipy.sparse.csc_matrix:
    """d vec(W)/d vec(B) = I - K."""
    return scipy.sparse.csc_matrix(scipy.sparse.identity(n * n) - sparse_commutation(n, n))


def D(state: MonotoneDeqState) -> scipy.sparse.csc_matrix:
    return scipy.sparse.csc_matrix(scipy.sparse.diags(vec(state.equilibrium.mask).astype(float)))


def Q(state: MonotoneDeqState) -> scipy.sparse.csc_matrix:
    """d vec(g)/d vec(Z) of g = Z - relu(W Z + U X): I - D (I_N kron W)."""
    nN = state.n * state.N
    return scipy.sparse.csc_matrix(
        scipy.sparse.identity(nN)
        - D(state) @ scipy.sparse.kron(scipy.sparse.identity(state.N), state.W)
    )


def map_rows(state: MonotoneDeqState) -> dict[str, scipy.sparse.csc_matrix]:
    """D (Z^T kron I_n) and D (X^T kron I_n): minus d vec(g)/d vec(W) and d vec(g)/d vec(U)."""
    identity = scipy.sparse.identity(state.n)
    return {
        "W": scipy.sparse.csc_matrix(D(state) @ scipy.sparse.kron(state.Z.T, identity)),
        "U": scipy.sparse.csc_matrix(D(state) @ scipy.sparse.kron(state.X.T, identity)),
    }


def weight_jacobian(state: MonotoneDeqState, name: str) -> scipy.sparse.csc_matrix:
    """d vec(W)/d vec(P) for P = A, B and W itself."""
    if name == "A":
        return P_A(state.A)
    n = state.n
    return P_B(n) if name == "B" else scipy.sparse.csc_matrix(scipy.sparse.identity(n * n))


def map_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> np.ndarray:
    """Lemma 3.2.1 times a vector: d vec(g) along a change of Z, W, A, B or U."""
    if name == "Z":
        moved: np.ndarray = Q(state) @ way
        return moved
    rows = map_rows(state)
    if name == "U":
        return np.asarray(-(rows["U"] @ way))
    return np.asarray(-(rows["W"] @ (weight_jacobian(state, name) @ way)))


def state_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> np.ndarray:
    """Lemma 3.2.2 times a vector: d vec(Z) = -Q^-1 d vec(g) along a change of W, A, B or U."""
    return np.asarray(scipy.sparse.linalg.splu(Q(state)).solve(-map_slope(state, name, way)))


def kernel_product(state: MonotoneDeqState, r: np.ndarray, printed: bool = False) -> np.ndarray:
    """Proposition 4: K r, the sum of J (J^T r), without any J."""
    outer, rows, factored = read_out(state, printed), map_rows(state), scipy.sparse.linalg.splu
    solve, back = factored(Q(state)).solve, factored(scipy.sparse.csc_matrix(Q(state).T)).solve
    adjoint = back(np.asarray(outer.T @ r))
    through = rows["U"] @ (rows["U"].T @ adjoint)
    for name in ("A", "B"):
        inner = weight_jacobian(state, name)
        through = through + rows["W"] @ (inner @ (inner.T @ (rows["W"].T @ adjoint)))
    return np.asarray(outer @ solve(np.asarray(through)) + state.Z.T @ (state.Z @ r))


def map_jacobians(state: MonotoneDeqState) -> dict[str, np.ndarray]:
    """Lemma 3.2.1: d vec(g)/d vec(A), vec(B), vec(U) at fixed Z (nN rows)."""
    rows = map_rows(state)
    inner = {name: -(rows["W"] @ weight_jacobian(state, name)).toarray() for name in ("A", "B")}
    return {**inner, "U": -rows["U"].toarray()}


def state_jacobians(state: MonotoneDeqState) -> dict[str, np.ndarray]:
    """Lemma 3.2.2: d vec(Z)/d vec(P) = -Q^-1 d vec(g)/d vec(P)."""
    factored = scipy.sparse.linalg.splu(Q(state))
    return {name: -factored.solve(g) for name, g in map_jacobians(state).items()}


def read_out(state: MonotoneDeqState, printed: bool = False) -> scipy.sparse.csc_matrix:
    """d yhat/d vec(Z) = I_N kron u^T; Lemma 3.2.3 prints u^T kron I_N, of the same shape."""
    u, identity = state.u[None, :], scipy.sparse.identity(state.N)
    return scipy.sparse.csc_matrix(
        scipy.sparse.kron(u, identity) if printed else scipy.sparse.kron(identity, u)
    )


def jacobians(state: MonotoneDeqState, printed: bool = False) -> dict[str, np.ndarray]:
    """d yhat/d vec(P) for every parameter (N rows)."""
    outer = read_out(state, printed)
    inner = {name: outer @ jacobian for name, jacobian in state_jacobians(state).items()}
    return {**inner, "u": state.Z.T}


def gradient(state: MonotoneDeqState, printed: bool = False) -> Params:
    """Lemma 3.2.3: dL/d vec(P) = r^T d yhat/d vec(P)."""
    return {
        name: unvec(state.r @ jacobian, state.theta[name].shape)
        for name, jacobian in jacobians(state, printed).items()
    }


def kernel_parts(state: MonotoneDeqState, printed: bool = False) -> dict[str, np.ndarray]:
    """Proposition 4: J J^T of every parameter (N x N)."""
    return {name: J @ J.T for name, J in jacobians(state, printed).items()}


def sensitivity_operator(state: MonotoneDeqState, printed: bool = False) -> np.ndarray:
    """Lemma 3.3.2: (u^T kron I_N) Q^-1 as printed, (I_N kron u^T) Q^-1 D as used."""
    transposed = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(Q(state).T))
    rows = np.asarray(transposed.solve(read_out(state, printed).T.toarray()).T)
    return rows if printed else rows @ D(state).toarray()
