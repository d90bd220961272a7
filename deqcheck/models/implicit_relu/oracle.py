"""The ReLU implicit network in dense Kronecker form: slow, and as printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.kron import unvec, vec
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.implicit_relu.state import ImplicitReluState

# Entries of the state up to which Q, with its (N m)^2 numbers, is formed without being asked for.
LARGEST = 1500


def affordable(state: ImplicitReluState) -> bool:
    return bool(state.N * state.m <= LARGEST)


@dataclass(frozen=True)
class Dense:
    """Q, M and Pi of Lemmas 3.2 and 4.1: d yhat = Z db + M vec(dA) + Pi vec(dW)."""

    Q: np.ndarray
    M: np.ndarray
    Pi: np.ndarray
    Z: np.ndarray

    @property
    def H(self) -> np.ndarray:
        found: np.ndarray = self.Z @ self.Z.T + self.M @ self.M.T + self.Pi @ self.Pi.T
        return found


def dense(state: ImplicitReluState) -> Dense:
    N, m, gamma = state.N, state.m, state.model.gamma
    Z, A, b = state.Z.T, state.theta["A"], state.theta["b"]
    D = vec(state.equilibrium.mask.T)[:, None]
    E = vec(state.on)[:, None]
    Q = np.eye(N * m) - gamma * D * np.kron(A.T, np.eye(N))
    out = np.kron(b[None, :], np.eye(N)) @ np.linalg.inv(Q)
    return Dense(
        Q=Q,
        M=gamma * out @ (D * np.kron(np.eye(m), Z)),
        Pi=out @ (D * E * np.kron(np.eye(m), state.model.X)),
        Z=Z,
    )


def gradient(state: ImplicitReluState) -> Params:
    """Eqs (7)-(9)."""
    jacobian, r = dense(state), state.r
    return {
        "W": unvec(jacobian.Pi.T @ r, state.theta["W"].shape),
        "A": unvec(jacobian.M.T @ r, state.theta["A"].shape),
        "b": jacobian.Z.T @ r,
    }
