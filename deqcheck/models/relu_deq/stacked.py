"""ReLU equilibrium models of one shape side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from deqcheck.linalg.along import abscissae
from deqcheck.linalg.stacked import each, lengths, norms
from deqcheck.models import relu_radii
from deqcheck.models.problem import Params
from deqcheck.models.relu_stacked import Equation, StackedRelu, StackedReluState, common_measures
from deqcheck.models.stack import Numbers
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

PARTS = ("W", "U", "a")


class StackedReluDeqState(StackedReluState):
    read_out: ClassVar[str] = "a"

    def equation(self) -> Equation:
        W, U = self.theta["W"], self.theta["U"]
        C_radius = relu_radii.of_C(U.shape[2], lengths(U), self.stack.X_length)
        room = 1 - self.way.bound(W, 1.0, abscissae)
        return Equation(W, U @ self.stack.X, 0.0, C_radius, room)

    def defect(self) -> np.ndarray:
        """That of a contraction, and where Z and H are positive together the rho of the
        certificate `Monotone`, too."""
        self._ask(each((self.Z > 0) == self.mask))
        return super().defect()

    @cached_property
    def q(self) -> Measured:
        return Measured(*self.norm2(self.theta["W"]))

    def parts(self) -> Params:
        Z, E, X = self.Z, self.E, self.stack.X
        return {
            "W": E @ Z.transpose(0, 2, 1),
            "U": E @ X.transpose(0, 2, 1),
            "a": np.matmul(Z, self.r[:, :, None])[:, :, 0],
        }

    def radii(self) -> dict[str, np.ndarray]:
        off_each = self.dZ, self.dE, self.dr
        sizes = relu_radii.Sizes(
            self.Z_length, self.stack.X_norm, norms(self.E), self.read_length, *off_each
        )
        return relu_radii.of_gradient(self.r.shape[1], sizes)

    def parameter_norm(self, name: str) -> Numbers:
        """That of W is known."""
        if name == "W":
            return Numbers(self.q.value, self.q.error, self.q.how)
        return super().parameter_norm(name)

    @property
    def lambda_0(self) -> Numbers:
        squares = Measured(*self.sigma_min_Z) ** 2
        return Numbers(squares.value, squares.error, squares.how)

    @property
    def lambda_min_H(self) -> Numbers:
        Z, V, X = self.Z, self.V, self.stack.X
        G, SS, XX = (np.matmul(a.transpose(0, 2, 1), a) for a in (Z, V, X))
        H = G + G * SS + XX * SS
        longest = [np.add.reduce(a * a, axis=1).max(axis=1) for a in (Z, V, X)]
        sizes, off_each = (self.Z_length, norms(V), self.stack.X_norm), (self.dZ, self.dV)
        shape = Z.shape[1], X.shape[1]
        radius = relu_radii.of_H(*shape, sizes, longest, off_each, norms(H))
        half = (H + H.transpose(0, 2, 1)) / 2
        return self.smallest_eigenvalue(half, radius + EPS * lengths(half), self.unheard)

    measures: ClassVar[Mapping[str, Callable[[Any], Numbers]]] = {
        **common_measures(PARTS),
        "lambda_0": lambda s: s.lambda_0,
        "lambda_min_H": lambda s: s.lambda_min_H,
    }


class StackedReluDeq(StackedRelu):
    state = StackedReluDeqState

    @cached_property
    def X_length(self) -> np.ndarray:
        return lengths(self.X)
