"""Between the identity and the hyperbolic tangent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.activations.base import Activation, half_square, log_cosh
from deqcheck.activations.tanh import TANH_CURVATURE, Tanh
from deqcheck.fields import number

# Newton for a function with slopes in [k, 1] from a bracket end; far more than ever needed.
INVERSION_STEPS = 200


@dataclass(frozen=True)
class Mix(Activation):
    """k t + (1 - k) tanh t, whose slope stays above k."""

    kind: ClassVar[str] = "mix"
    k: float = number(above=0, at_most=1, doc="share of the identity")

    @property
    def slopes(self) -> tuple[float, float]:
        return (self.k, 1.0)

    @property
    def curvature(self) -> float:
        return (1 - self.k) * TANH_CURVATURE

    @property
    def resting(self) -> tuple[float, float]:
        return (-np.inf, np.inf) if self.k == 1 else (0.0, 0.0)

    @property
    def strict(self) -> bool:
        return self.k < 1

    def value(self, t: np.ndarray) -> np.ndarray:
        return self.k * t + (1 - self.k) * np.tanh(t)

    def slope(self, t: np.ndarray) -> np.ndarray:
        return self.k + (1 - self.k) * Tanh().slope(t)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return self.k * half_square(t) + (1 - self.k) * log_cosh(t)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        t = self.inverse(u)
        return u * t - self.primitive(t)

    def inverse(self, u: np.ndarray) -> np.ndarray:
        """s^-1: for u > 0, s is concave, so Newton from the left end t = u rises monotonically."""
        t = np.array(u, dtype=float)
        for _ in range(INVERSION_STEPS):
            step = (u - self.value(t)) / self.slope(t)
            t = t + step
            if np.all(np.abs(step) <= 1e-15 * np.abs(t)):
                break
        return t
