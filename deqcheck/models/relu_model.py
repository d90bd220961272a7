"""What the three ReLU equilibrium models share beside their states."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

import numpy as np

from deqcheck.linalg.precise import Numbers, relu_equilibrium
from deqcheck.models.problem import BuiltModel, Params
from deqcheck.models.relu_state import ReluState
from deqcheck.records.measured import Measured, given

R = TypeVar("R", bound=ReluState)


class ReluModel(BuiltModel[R], Generic[R]):
    """A ReLU equilibrium model with its data; the theorems compare the loss with 0."""

    loss_kind = "half-square"
    y: np.ndarray

    @property
    def samples(self) -> int:
        return len(self.y)

    @property
    def infimum(self) -> Measured:
        return given(0)

    @abstractmethod
    def precise_form(self, theta: Params, digits: Numbers) -> tuple[np.ndarray, ...]:
        """W and C of the canonical form, and the read-out weights."""

    @abstractmethod
    def precise_parts(
        self, theta: Params, digits: Numbers, Z: np.ndarray, E: np.ndarray, r: np.ndarray
    ) -> Params:
        """The gradient from Z, E = V diag(r) and r."""

    def precise_gradient(self, theta: Params, digits: Numbers) -> Params:
        W, C, a = self.precise_form(theta, digits)
        near = self.at({name: digits.lower(array) for name, array in theta.items()})
        Z, V = relu_equilibrium(W, C, a, near.equilibrium.mask, digits)
        r = Z.T @ a - digits.lift(self.y)
        return self.precise_parts(theta, digits, Z, V * r, r)
