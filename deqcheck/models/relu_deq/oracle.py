"""The ReLU equilibrium model in dense Kronecker form: slow, and as in Lemma 2.

vec stacks columns. J = I - D (I_n kron W) (mn x mn), R = (I_n kron a^T) J^-1 D (n x mn).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg.kron import unvec, vec
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.relu_deq.state import ReluDeqState


def J_inverse_D(state: ReluDeqState) -> np.ndarray:
    D = np.diag(vec(state.equilibrium.mask).astype(float))
    n = state.Z.shape[1]
    J = np.eye(len(D)) - D @ np.kron(np.eye(n), state.theta["W"])
    return np.linalg.solve(J, D)


def R(state: ReluDeqState, printed: bool = False) -> np.ndarray:
    """Printed: (a kron I_n), which has no product with J^-1 unless m = 1, read as (a^T kron I_n).
    Its rows are ordered for row stacking, while J and Z kron I_m are for column stacking."""
    a, eye = state.a[None, :], np.eye(state.Z.shape[1])
    outer = np.kron(a, eye) if printed else np.kron(eye, a)
    found: np.ndarray = outer @ J_inverse_D(state)
    return found


def gradient(state: ReluDeqState, printed: bool = False) -> Params:
    """Lemma 2: vec(grad_W) = (Z kron I_m) R^T r, vec(grad_U) = (X kron I_m) R^T r."""
    W, U = state.theta["W"], state.theta["U"]
    eye, back = np.eye(len(W)), R(state, printed).T @ state.r
    return {
        "W": unvec(np.kron(state.Z, eye) @ back, W.shape),
        "U": unvec(np.kron(state.model.X, eye) @ back, U.shape),
        "a": state.Z @ state.r,
    }


def H_parts(state: ReluDeqState, printed: bool = False) -> tuple[np.ndarray, ...]:
    """H1 = Z^T Z, H2 = R (Z^T Z kron I_m) R^T, H3 = R (X^T X kron I_m) R^T."""
    Z, X, rows = state.Z, state.model.X, R(state, printed)
    eye = np.eye(len(Z))
    inner = (np.kron(A.T @ A, eye) for A in (Z, X))
    return (Z.T @ Z, *(rows @ each @ rows.T for each in inner))


def dense_H(state: ReluDeqState, printed: bool = False) -> np.ndarray:
    found: np.ndarray = np.sum(H_parts(state, printed), axis=0)
    return found
