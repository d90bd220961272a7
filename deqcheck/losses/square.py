"""The square loss: sum of squared residuals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from deqcheck.fields import Refusal
from deqcheck.linalg.errors import rounding, sum_of_squares
from deqcheck.linalg.spectra import Factored
from deqcheck.records.measured import EPS, Measured, measured


@dataclass(frozen=True)
class Square:
    """|q - y|^2, summed over the samples (no 1/n, no 1/2)."""

    kind: ClassVar[str] = "square"

    def on(self, Phi: np.ndarray, Y: np.ndarray) -> LinearSquare:
        if not Phi.any():
            raise Refusal("data", "every feature is zero (Phi = 0); expected a non-zero Phi")
        return LinearSquare(Phi, Y)


class LinearSquare:
    """L0(W) = ||W Phi - Y||_F^2, free of n after set-up.

    With Phi = P diag(s) V^T (thin): L0(W) = ||W P diag(s) - Y V||^2 + ||Y (I - V V^T)||^2. The
    first term is the gap to the infimum, without any cancellation between losses.
    """

    def __init__(self, Phi: np.ndarray, Y: np.ndarray):
        self.Phi, self.Y = Phi, Y
        self.factored = Factored(Phi)
        self.features = np.ascontiguousarray(self.factored.scaled)
        self.targets = Y @ self.factored.vt.T
        self._phi_norm = float(np.linalg.norm(self.features))
        self._y_norm = float(np.linalg.norm(Y))
        self._orthogonal = float(np.linalg.norm(self._rest))

    @property
    def _rest(self) -> np.ndarray:
        return self.Y - self.targets @ self.factored.vt

    @cached_property
    def infimum(self) -> Measured:
        """||Y (I - V V^T)||^2: exactly 0 when the samples are independent."""
        if self.factored.rank == self.Phi.shape[1]:
            return Measured(0.0)
        radius = rounding(1, self._y_norm) + self.factored.row_space_error * self._y_norm
        return sum_of_squares(self._rest, radius)

    def residual(self, W: np.ndarray) -> np.ndarray:
        return W @ self.features - self.targets

    def gap_radius(self, W_norm: float, W_radius: float, residual: float) -> float:
        """How far the computed residual (in row-space coordinates) may be from the true one."""
        scale = W_norm * self._phi_norm + self._y_norm
        turned = self.factored.row_space_error * (residual + self._orthogonal)
        cut = self.factored.tolerance * W_norm
        return 8 * EPS * len(self.features) * scale + self._phi_norm * W_radius + turned + cut

    def gap_and_gradient(self, W: np.ndarray, W_radius: float) -> tuple[float, float, np.ndarray]:
        r = self.residual(W)
        gap = float(np.vdot(r, r))
        size = gap**0.5
        radius = self.gap_radius(float(np.linalg.norm(W)), W_radius, size)
        error = 2 * size * radius + radius**2 + 4 * EPS * gap
        return gap, error, (2 * r) @ self.features.T

    def gradient_radius(self, W: np.ndarray, W_radius: float) -> float:
        """Frobenius radius of the computed gradient with respect to W."""
        size = float(np.linalg.norm(self.residual(W)))
        radius = self.gap_radius(float(np.linalg.norm(W)), W_radius, size)
        return 2 * self._phi_norm * (radius + 4 * EPS * self.features.shape[1] * size)

    @cached_property
    def pl_constant(self) -> Measured:
        """The best kappa with |grad L0|^2/2 >= kappa (L0 - inf L0): 2 s_pos(Phi)^2."""
        return 2 * measured(self.factored.smallest_positive) ** 2

    def curvature(self) -> float:
        """l'' of the loss in each output, the same for every sample."""
        return 2.0
