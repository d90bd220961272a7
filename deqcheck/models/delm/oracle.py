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


def outer_gradient(state: DelmState) -> np.ndarray:
    """Q = grad L0(Z), eq (23), sample by sample and with an explicit inverse."""
    outer = state.model.outer
    found: np.ndarray = outer.slopes(state.B @ np.linalg.inv(state.U)) @ outer.Phi.T
    return found


def columns(state: DelmState, Q: np.ndarray) -> Params:
    """Eq (22) as printed, one Jacobian at a time: column k of grad_A is gamma J_k Z^T Q U^-T e_k,
    and grad_B = Q U^-T. For any width: nothing larger than m x m is built."""
    inverse = np.linalg.inv(state.U)
    G, Z = Q @ inverse.T, state.B @ inverse
    found = [
        state.gamma * softmax_jacobian(s) @ (Z.T @ g) for s, g in zip(state.S.T, G.T, strict=True)
    ]
    return {"A": np.stack(found, axis=1), "B": G}


def tangent(state: DelmState, moved: Params) -> np.ndarray:
    """The derivative of Z = B U^-1 in a direction (A', B'): (B' + gamma Z S') U^-1."""
    inverse = np.linalg.inv(state.U)
    S = [softmax_jacobian(s) @ a for s, a in zip(state.S.T, moved["A"].T, strict=True)]
    found: np.ndarray = (moved["B"] + state.gamma * state.B @ inverse @ np.stack(S, 1)) @ inverse
    return found


def times_D(state: DelmState, Q: np.ndarray) -> np.ndarray:
    """D vec(Q) as a matrix: sum_k M_k Q U^-T e_k e_k^T U^-1, without building D."""
    inverse = np.linalg.inv(state.U)
    G, Z = Q @ inverse.T, state.B @ inverse
    bent = []
    for s, g in zip(state.S.T, G.T, strict=True):
        J = softmax_jacobian(s)
        bent.append(g + state.gamma**2 * Z @ (J @ (J @ (Z.T @ g))))
    return np.asarray(np.stack(bent, axis=1) @ inverse)
