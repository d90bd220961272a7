"""The smooth rectifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from deqcheck.activations.base import Activation, half_square, restricted

# -Li2(-1).
DILOGARITHM = np.pi**2 / 12


@dataclass(frozen=True)
class Softplus(Activation):
    """log(1 + exp t)."""

    kind: ClassVar[str] = "softplus"
    slopes = (0.0, 1.0)
    curvature = 0.25
    strict = True
    lift = 0.0
    # log(1 + exp t) > t for every t.
    resting = (np.inf, -np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, t)

    def slope(self, t: np.ndarray) -> np.ndarray:
        slope: np.ndarray = scipy.special.expit(t)
        return slope

    def primitive(self, t: np.ndarray) -> np.ndarray:
        """-Li2(-e^t) + Li2(-1), and Li2(-e^t) + Li2(-e^-t) = -pi^2/6 - t^2/2 for t > 0."""
        tail = scipy.special.spence(1 + np.exp(-np.abs(t)))
        return np.where(t > 0, half_square(t) + DILOGARITHM + tail, -tail - DILOGARITHM)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        """u t - S(t) at t = log(e^u - 1); the limit at u = 0 is -S(-inf)."""
        inside = np.where(u > 0, u, 1.0)
        t = inside + np.log(-np.expm1(-inside))
        values = np.where(u > 0, inside * t - self.primitive(t), DILOGARITHM)
        return restricted(values, u >= 0)
