"""ReLU implicit networks of one shape side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.along import norms2
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.linalg.stacked import norms
from deqcheck.models.problem import Params
from deqcheck.models.relu_stacked import (
    Equation,
    StackedRelu,
    StackedReluState,
    common_measures,
    frobenius,
    largest_singular_value,
)
from deqcheck.models.stack import Numbers
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS

PARTS = ("W", "A", "b")
# Matrices with their Frobenius radii.
Radii = tuple[np.ndarray, np.ndarray]


class StackedImplicitState(StackedReluState):
    """Samples are the rows of X, and units the rows of Z."""

    read_out: ClassVar[str] = "b"

    def equation(self) -> Equation:
        W, A, gamma = self.theta["W"], self.theta["A"], self.stack.gamma
        XW = np.matmul(self.stack.X, W)
        self.on, self.Phi = XW > 0, relu(XW)
        self.Phi_radius = errors.product(W.shape[1], self.stack.X_norm * norms(W))
        # No kink of the inner layer is within reach.
        nearest = np.abs(XW).reshape(len(W), -1).min(axis=1)
        self._ask(nearest > self.Phi_radius)
        weights = gamma[:, None, None] * A.transpose(0, 2, 1)
        C = np.ascontiguousarray(self.Phi.transpose(0, 2, 1))
        norm_A = self.way.bound(A, 1 / gamma, norms2)
        # gamma |A|, rounded outward.
        contraction = gamma * norm_A * (1 + 4 * EPS)
        off, room = EPS * norms(weights), 1 - contraction
        return Equation(weights, C, off, self.Phi_radius, room, ~self.on.any(axis=2))

    @cached_property
    def norm_A(self) -> Numbers:
        return largest_singular_value(self.theta["A"])

    def parts(self) -> Params:
        """dW = X^T (E o (r . P)), dA = gamma Z^T (r . P), db = Z^T r."""
        Et = self.E.transpose(0, 2, 1)
        return {
            "W": np.matmul(self.stack.X.transpose(0, 2, 1), self.on * Et),
            "A": self.stack.gamma[:, None, None] * np.matmul(self.Z, Et),
            "b": np.matmul(self.Z, self.r[:, :, None])[:, :, 0],
        }

    def radii(self) -> dict[str, np.ndarray]:
        X, Z, E, r = self.stack.X_norm, self.Z_length, norms(self.E), norms(self.r)
        dZ, dE, dr = self.dZ, self.dE, self.dr
        sums = errors.product(self.r.shape[1], 1.0)
        return {
            "W": X * (dE + sums * E),
            "A": self.stack.gamma * (dZ * (E + dE) + Z * (dE + sums * E)),
            "b": dZ * (r + dr) + Z * (dr + sums * r),
        }

    def parameter_norm(self, name: str) -> Numbers:
        """That of A is known."""
        if name == "A":
            return self.norm2(self.theta["A"], self.norm_A)
        return super().parameter_norm(name)

    @property
    def features(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {"Z": (self.Z, self.dZ)}

    @property
    def lambda_min_H(self) -> Numbers:
        """Lemma 4.1, with P = V^T."""
        P = self.V.transpose(0, 2, 1)
        ZZ = _gram(self.Z.transpose(0, 2, 1), self.dZ)
        PP, EP = _gram(P, self.dV), _gram(self.on * P, self.dV)
        XX = _gram(self.stack.X, np.zeros(len(P)))
        M, Pi = _hadamard(ZZ, PP), _hadamard(XX, EP)
        squares = self.stack.gamma**2
        H: np.ndarray = ZZ[0] + squares[:, None, None] * M[0] + Pi[0]
        return self.smallest_eigenvalue(H, ZZ[1] + squares * M[1] + Pi[1] + 4 * EPS * norms(H))

    measures: ClassVar[Mapping[str, Callable[[Any], Numbers]]] = {
        **common_measures(PARTS),
        "lambda_min_H": lambda s: s.lambda_min_H,
        "Phi_fro": lambda s: frobenius(s.Phi, s.Phi_radius),
        "norm2.Phi": lambda s: largest_singular_value(s.Phi, s.Phi_radius),
        "Z_fro": lambda s: frobenius(s.Z, s.dZ),
    }


class StackedImplicit(StackedRelu):
    state = StackedImplicitState

    def __init__(self, models: Sequence[Any], m: int):
        super().__init__(models, m)
        self.gamma = np.array([model.gamma for model in models])


def _gram(a: np.ndarray, radius: np.ndarray) -> Radii:
    """a a^T with its Frobenius radius."""
    size = norms(a)
    rounding = errors.product(a.shape[2], size**2)
    return np.matmul(a, a.transpose(0, 2, 1)), 2 * size * radius + radius**2 + rounding


def _hadamard(a: Radii, b: Radii) -> Radii:
    """As of single matrices."""
    largest_a, largest_b = (np.abs(x).max(axis=(1, 2)) for x, _ in (a, b))
    product: np.ndarray = a[0] * b[0]
    off = largest_a * b[1] + largest_b * a[1] + a[1] * b[1]
    return product, off + EPS * norms(product)
