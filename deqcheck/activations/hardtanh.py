"""The clipped identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.activations.base import Activation, half_square, restricted


@dataclass(frozen=True)
class HardTanh(Activation):
    """min(max(t, -1), 1): the projection on [-1, 1]."""

    kind: ClassVar[str] = "hardtanh"
    slopes = (0.0, 1.0)
    curvature = np.inf
    kinks = (-1.0, 1.0)
    bound = 1.0
    resting = (-1.0, 1.0)

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.clip(t, -1.0, 1.0)

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.where((t > -1) & (t <= 1), 1.0, 0.0)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.abs(t) <= 1, half_square(t), np.abs(t) - 0.5)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return restricted(half_square(u), np.abs(u) <= 1)
