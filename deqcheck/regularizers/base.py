"""Regularisers of the state, the sum over the columns of Z."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deqcheck.fields import Refusal
from deqcheck.kinds import Regularizer
from deqcheck.linalg.errors import rounding, singular_values


@dataclass(frozen=True)
class Quadratic:
    """R(z) = |A z - c|^2/2."""

    A: np.ndarray
    c: np.ndarray

    @cached_property
    def hessian(self) -> np.ndarray:
        return self.A.T @ self.A

    @cached_property
    def smoothness(self) -> float:
        """L_z, the Lipschitz constant of the gradient."""
        return float(np.linalg.norm(self.A, 2)) ** 2

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        return self.A.T @ (self.A @ Z - self.c[:, None])

    def value(self, Z: np.ndarray) -> float:
        return float(np.sum((self.A @ Z - self.c[:, None]) ** 2)) / 2

    def prox(self, Z: np.ndarray) -> np.ndarray:
        """(I + A^T A)^-1 (z + A^T c)."""
        moved = Z + (self.A.T @ self.c)[:, None]
        return np.linalg.solve(np.eye(len(Z)) + self.hessian, moved)

    @cached_property
    def _inverse(self) -> float:
        """At least the norm of (I + A^T A)^-1."""
        if self.A.shape[0] < self.A.shape[1]:
            return 1.0
        return 1 / (1 + max(float(singular_values(self.A).low[-1]), 0.0) ** 2)

    def noise(self, Z: np.ndarray) -> float:
        """Rounding of the prox at Z: of its right side, and of a solve with I + A^T A."""
        A, out = float(np.linalg.norm(self.A)), float(np.linalg.norm(self.prox(Z)))
        shift = A * float(np.linalg.norm(self.c)) * float(np.sqrt(Z.shape[1]))
        scale = shift + float(np.linalg.norm(Z)) + (1 + A * A) * out
        return self._inverse * rounding(sum(self.A.shape), scale)

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return True

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        """The Jacobian of the prox at each column (N x m x m)."""
        jacobian = np.linalg.inv(np.eye(len(Z)) + self.hessian)
        return np.broadcast_to(jacobian, (Z.shape[1], *jacobian.shape))


class QuadraticKind(Regularizer):
    """A regulariser with a gradient; its matrix may depend on the output weights."""

    differentiable = True
    uses_output = False

    def check_width(self, m: int) -> None:
        """Refuse arrays that do not fit a state of width m."""
        return

    @abstractmethod
    def on(self, m: int, Wo: np.ndarray) -> Quadratic: ...


def fit_length(key: str, array: np.ndarray | None, axis: int, m: int) -> None:
    """The size of an array along an axis must be the width of the state."""
    if array is not None and (array.ndim <= axis or array.shape[axis] != m):
        raise Refusal(key, f"has shape {array.shape}; expected the state width {m} on axis {axis}")
