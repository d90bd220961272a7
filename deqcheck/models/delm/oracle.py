"""The deep equilibrium linear model in dense Kronecker form: slow, and as printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg.kron import unvec, vec
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.delm.state import DelmState


def softmax_jacobian(s: np.ndarray) -> np.ndarray:
    """J_k = diag(s_k) - s_k s_k^T."""
    return np.diag(s) - np.outer(s, s)


def gradient(state: DelmState) -> Params:
    """Eqs (17), (21), (22) with explicit inverses and m x m^2 Kronecker Jacobians.

    d vec(Z) = gamma (U^-T kron Z) d vec(S), d vec(S) = blockdiag(J_k) d vec(A).
    """
    m, my, g = state.m, state.my, state.gamma
    inverse = np.linalg.inv(state.U)
    Z = state.B @ inverse
    outer = state.model.outer
    q = vec(outer.slopes(Z) @ outer.Phi.T)
    J = np.zeros((m * m, m * m))
    for k in range(m):
        J[k * m : (k + 1) * m, k * m : (k + 1) * m] = softmax_jacobian(state.S[:, k])
    dZ_dA = g * np.kron(inverse.T, Z) @ J
    dZ_dB = np.kron(inverse.T, np.eye(my))
    return {"A": unvec(dZ_dA.T @ q, (m, m)), "B": unvec(dZ_dB.T @ q, (my, m))}


def dense_D(state: DelmState) -> np.ndarray:
    """D_t of eq (8) as a sum of Kronecker products."""
    m, my, g = state.m, state.my, state.gamma
    inverse = np.linalg.inv(state.U)
    Z = state.B @ inverse
    D = np.zeros((m * my, m * my))
    for k in range(m):
        ZJ = Z @ softmax_jacobian(state.S[:, k])
        row = inverse[k : k + 1, :]
        D += np.kron(row.T @ row, np.eye(my) + g**2 * ZJ @ ZJ.T)
    return D
