"""Monotone deep equilibrium models of one shape side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.stacked import lengths, norms
from deqcheck.models.monotone_deq.state import FINE
from deqcheck.models.problem import Params
from deqcheck.models.relu_stacked import Equation, StackedRelu, StackedReluState, common_measures
from deqcheck.models.stack import Numbers
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS

PARTS = ("A", "B", "U", "u")


class StackedMonotoneState(StackedReluState):
    read_out: ClassVar[str] = "u"
    finest: ClassVar[float] = FINE

    def equation(self) -> Equation:
        A, B, U = (self.theta[name] for name in ("A", "B", "U"))
        X, modulus, n = self.stack.X, self.stack.modulus, A.shape[1]
        W = B - B.transpose(0, 2, 1) - np.matmul(A.transpose(0, 2, 1), A)
        at = np.arange(n)
        W[:, at, at] += (1 - modulus)[:, None]
        added = 2 * norms(B) + np.abs(1 - modulus) * np.sqrt(n)
        W_radius = EPS * ((n + 4) * norms(A) ** 2 + 4 * added)
        C_radius = EPS * X.shape[1] * lengths(U) * self.stack.X_length
        return Equation(W, np.matmul(U, X), W_radius, C_radius, modulus)

    def defect(self) -> np.ndarray:
        """rho of the certificate `Monotone`."""
        Z, H = self.Z, self.H
        return np.where(Z > 0, Z - H, np.where(Z == 0, -np.maximum(H, 0.0), np.inf))

    def parts(self) -> Params:
        """gA = -A (G + G^T), gB = G - G^T, gU = E X^T, gu = Z r, with G = dL/dW = E Z^T."""
        G = np.matmul(self.E, self.Z.transpose(0, 2, 1))
        turned = G.transpose(0, 2, 1)
        return {
            "A": -np.matmul(self.theta["A"], G + turned),
            "B": G - turned,
            "U": np.matmul(self.E, self.stack.X.transpose(0, 2, 1)),
            "u": np.matmul(self.Z, self.r[:, :, None])[:, :, 0],
        }

    def radii(self) -> dict[str, np.ndarray]:
        n, N = self.Z.shape[1:]
        E, Z, A, X = norms(self.E), self.Z_length, norms(self.theta["A"]), self.stack.X_norm
        dE, dZ, dr, r = self.dE, self.dZ, self.dr, self.read_length
        G = dE * Z + E * dZ + dE * dZ + errors.rounding(N, E * Z)
        return {
            "A": 2 * A * (G + errors.rounding(n, E * Z)),
            "B": 2 * (G + errors.rounding(1, E * Z)),
            "U": X * dE + errors.rounding(N, E * X),
            "u": dZ * r + (Z + dZ) * dr + errors.rounding(N, Z * r),
        }

    measures: ClassVar[Mapping[str, Callable[[Any], Numbers]]] = common_measures(PARTS)


class StackedMonotone(StackedRelu):
    state = StackedMonotoneState

    def __init__(self, models: Sequence[Any], m: int):
        super().__init__(models, m)
        self.modulus = np.array([model.m for model in models])

    @cached_property
    def X_length(self) -> np.ndarray:
        return lengths(self.X)
