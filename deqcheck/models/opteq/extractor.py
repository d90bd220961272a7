"""The feature extractor of (4): x = g(x_0, W_0) = s(W_0 x_0), a layer with trained weights."""

from __future__ import annotations

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.activations import Activation
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured


@dataclass(frozen=True)
class Extractor:
    """s has slopes in [0, 1] and no kinks."""

    s: Activation
    X0: np.ndarray
    W0: np.ndarray

    @cached_property
    def A(self) -> np.ndarray:
        found: np.ndarray = self.W0 @ self.X0
        return found

    @cached_property
    def X(self) -> np.ndarray:
        return self.s.value(self.A)

    @cached_property
    def _A_error(self) -> float:
        size = euclidean(self.W0) * euclidean(self.X0)
        return errors.rounding(self.W0.shape[1], size)

    @cached_property
    def X_error(self) -> float:
        """Of X, in the Frobenius norm: s does not enlarge what A is off, and rounds once more."""
        return self._A_error + errors.rounding(2, euclidean(self.X))

    @cached_property
    def lipschitz(self) -> Measured:
        """L_g: |s(V x_0) - s(V' x_0)|_F <= ||X_0||_2 |V - V'|_F."""
        return self.s.slopes[1] * errors.norm2(self.X0)

    def gradient(self, Q: np.ndarray, error: float) -> tuple[np.ndarray, float]:
        """By W_0, from the adjoint Q of X and its radius: (s'(A) o Q) X_0^T."""
        P, size = self.slopes * Q, euclidean(Q)
        P_error = error + self.s.curvature * self._A_error * size + errors.rounding(2, size)
        out: np.ndarray = P @ self.X0.T
        x = euclidean(self.X0)
        return out, x * (P_error + errors.rounding(self.X0.shape[1], euclidean(P)))

    @property
    def slopes(self) -> np.ndarray:
        return self.s.slope(self.A)

    def per_sample(self, Q: np.ndarray) -> np.ndarray:
        """The same with the samples kept apart (N x e x d)."""
        found: np.ndarray = np.einsum("ej,dj->jed", self.slopes * Q, self.X0)
        return found
