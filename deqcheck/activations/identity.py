"""No activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.activations.base import Activation, half_square


@dataclass(frozen=True)
class Identity(Activation):
    """t itself: a linear network."""

    kind: ClassVar[str] = "identity"
    slopes = (1.0, 1.0)
    curvature = 0.0
    resting = (-np.inf, np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        return t

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.ones_like(t)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return half_square(t)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return half_square(u)
