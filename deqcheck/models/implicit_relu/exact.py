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
        Z, P = exact.transpose(state.Z), exact.transpose(state.V)
        ZZ, XX, PP = exact.gram(Z), exact.gram(self.X), exact.gram(P)
        EP = exact.gram(exact.where_positive(self._XW, P))
        squared = rational(self._gamma**2)
        parts = [ZZ, exact.scaled(squared, exact.hadamard(ZZ, PP)), exact.hadamard(XX, EP)]
        return exact.total(parts)
