"""Data on a sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.data.drawn import Drawn
from deqcheck.fields import number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class SphereData(Drawn):
    """Samples uniform on a sphere around the origin."""

    kind: ClassVar[str] = "sphere"
    radius: float = number(above=0, default=1.0, doc="Euclidean norm of every sample")

    def inputs(self, seed: int) -> np.ndarray:
        normal = rng(seed, "data.inputs").standard_normal((self.dim, self.n))
        directions: np.ndarray = normal / np.linalg.norm(normal, axis=0)
        return self.radius * directions
