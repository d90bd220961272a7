"""The gradient in dense Kronecker form: slow and obviously right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.equilibrium.state import EquilibriumState


def gradient(state: EquilibriumState) -> Params:
    """d z/d theta = (I - D W)^-1 D d(W z + U x)/d theta, sample by sample."""
    n, W, C, X, Z = state.n, state.W, state.C, state.model.X, state.Z
    found = {name: np.zeros_like(a) for name, a in state.theta.items()}
    for j in range(state.N):
        D = np.diag(state.slopes[:, j])
        moves = np.linalg.inv(np.eye(n) - D @ W) @ D
        for name, incoming in (("W", Z[:, j]), ("U", X[:, j])):
            jacobian = C @ moves @ np.kron(np.eye(n), incoming[None, :])
            found[name] += (jacobian.T @ state.residual[:, j]).reshape(found[name].shape)
        outer = np.kron(np.eye(len(C)), Z[:, j][None, :])
        found["C"] += (outer.T @ state.residual[:, j]).reshape(C.shape)
    return found
