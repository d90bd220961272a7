"""The rectifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.activations.base import Activation, half_square, restricted


@dataclass(frozen=True)
class Relu(Activation):
    """max(t, 0)."""

    kind: ClassVar[str] = "relu"
    slopes = (0.0, 1.0)
    curvature = np.inf
    kinks = (0.0,)
    resting = (0.0, np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(t, 0.0)

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.where(t > 0, 1.0, 0.0)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return half_square(np.maximum(t, 0.0))

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return restricted(half_square(u), u >= 0)
