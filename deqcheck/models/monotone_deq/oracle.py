"""The monotone model in explicit Kronecker form, as the thesis writes it: slow.

vec stacks columns. The commutation matrix, the identities and Q are sparse; only the Jacobians are
dense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from deqcheck.linalg.kron import sparse_commutation, unvec, vec
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


def map_jacobians(state: MonotoneDeqState) -> dict[str, np.ndarray]:
    """Lemma 3.2.1: d vec(g)/d vec(A), vec(B), vec(U) at fixed Z (nN rows)."""
    rows = D(state) @ scipy.sparse.kron(state.Z.T, scipy.sparse.identity(state.n))
    inputs = D(state) @ scipy.sparse.kron(state.X.T, scipy.sparse.identity(state.n))
    return {
        "A": -(rows @ P_A(state.A)).toarray(),
        "B": -(rows @ P_B(state.n)).toarray(),
        "U": -inputs.toarray(),
    }


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
