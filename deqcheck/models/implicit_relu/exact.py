"""A ReLU implicit network computed again: its matrices as nodes of the tower."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.exact_relu_state import ExactReluState
from deqcheck.records.tower import Again, rational


class ExactImplicit:
    """What the canonical form, the gradient and H are made of."""

    def __init__(self, X: np.ndarray, W: np.ndarray, A: np.ndarray, gamma: float):
        self.X, self._A, self._gamma = exact.array(X), exact.array(A), Fraction(gamma)
        self._XW = exact.product(self.X, exact.array(W))
        self.Phi = exact.relu(self._XW)

    @property
    def weights(self) -> tuple[Again, Again]:
        """gamma A^T and Phi^T."""
        A = exact.scaled(rational(self._gamma), exact.transpose(self._A))
        return A, exact.transpose(self.Phi)

    def swept(self, Z: Again) -> Again:
        """relu(gamma Z A + Phi), (N x m)."""
        moved = exact.scaled(rational(self._gamma), exact.product(Z, self._A))
        return exact.relu(exact.plus(moved, self.Phi))

    def tangent(self, state: ExactReluState, d: dict[str, Again]) -> Again:
        """How fast the predictions move if the parameters move by d."""
        parts = []
        if "A" in d:
            turned = exact.product(exact.transpose(d["A"]), state.Z)
            parts.append(exact.scaled(rational(self._gamma), turned))
        if "W" in d:
            on = exact.where_positive(self._XW, exact.product(self.X, d["W"]))
            parts.append(exact.transpose(on))
        moved = []
        if parts:
            dZ = state.relu.tangent(exact.total(parts))
            moved.append(exact.product(exact.transpose(dZ), state.a))
        if "b" in d:
            moved.append(exact.product(exact.transpose(state.Z), d["b"]))
        return exact.total(moved)

    def active(self, state: ExactReluState, ones: Again, both: bool) -> Again:
        """1 where a unit is active, or one of each layer, and 0 elsewhere (m x N)."""
        inner = exact.where_positive(exact.transpose(self._XW), ones) if both else ones
        return exact.where_positive(state.relu.H, inner)

    def EP(self, state: ExactReluState) -> Again:
        """(E o P)^T, (m x N)."""
        return exact.where_positive(exact.transpose(self._XW), state.V)

    def gradient(self, state: ExactReluState) -> dict[str, Again]:
        """dW = X^T (E o (r . P)), dA = gamma Z^T (r . P), db = Z^T r."""
        rP = exact.transpose(state.E)
        masked = exact.where_positive(self._XW, rP)
        return {
            "W": exact.product(exact.transpose(self.X), masked),
            "A": exact.scaled(rational(self._gamma), exact.product(state.Z, rP)),
            "b": state.Zr,
        }

    def H(self, state: ExactReluState) -> Again:
        """Lemma 4.1."""
        Z, P, EP = (exact.transpose(a) for a in (state.Z, state.V, self.EP(state)))
        ZZ, XX, PP, EP = (exact.gram(a) for a in (Z, self.X, P, EP))
        squared = rational(self._gamma**2)
        parts = [ZZ, exact.scaled(squared, exact.hadamard(ZZ, PP)), exact.hadamard(XX, EP)]
        return exact.total(parts)
