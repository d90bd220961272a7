"""The squared distance from a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import array, number
from deqcheck.regularizers.base import Quadratic, QuadraticKind, fit_length


@dataclass(frozen=True, eq=False)
class Distance(QuadraticKind):
    """weight |z - center|^2/2."""

    kind: ClassVar[str] = "distance"
    weight: float = number(above=0, default=1.0, doc="factor of the squared distance")
    center: np.ndarray | None = array(default=None, doc="the point; default: the origin")

    def check_width(self, m: int) -> None:
        fit_length("center", self.center, 0, m)

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        root = float(np.sqrt(self.weight))
        center = np.zeros(m) if self.center is None else self.center
        return Quadratic(root * np.eye(m), root * center)
