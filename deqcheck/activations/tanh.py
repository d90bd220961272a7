"""The hyperbolic tangent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from deqcheck.activations.base import Activation, log_cosh, restricted

# sup |tanh''| = sup 2 |u| (1 - u^2) at u = 1/sqrt(3).
TANH_CURVATURE = float(4 / (3 * np.sqrt(3)))


@dataclass(frozen=True)
class Tanh(Activation):
    """tanh t."""

    kind: ClassVar[str] = "tanh"
    slopes = (0.0, 1.0)
    curvature = TANH_CURVATURE
    strict = True
    bound = 1.0

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.tanh(t)

    def slope(self, t: np.ndarray) -> np.ndarray:
        tangent = np.tanh(t)
        return (1 - tangent) * (1 + tangent)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return log_cosh(t)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        inside = np.clip(u, -1.0, 1.0)
        entropy = (
            scipy.special.xlog1py(1 + inside, inside) + scipy.special.xlog1py(1 - inside, -inside)
        ) / 2
        return restricted(entropy, np.abs(u) <= 1)
