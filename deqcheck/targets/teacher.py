"""Targets of a linear teacher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import integer, number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class Teacher:
    """Y = T X plus normal noise, where T has normal entries over the root of the dimension."""

    kind: ClassVar[str] = "teacher"
    outputs: int = integer(at_least=1, default=1, doc="outputs for each sample")
    scale: float = number(above=0, default=1.0, doc="standard deviation of sqrt(dim) T")
    noise: float = number(at_least=0, default=0.0, doc="standard deviation of the noise")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        dim, n = inputs.shape
        teacher = rng(seed, "target.teacher").standard_normal((self.outputs, dim)) / np.sqrt(dim)
        noise = rng(seed, "target.noise").standard_normal((self.outputs, n))
        targets: np.ndarray = self.scale * (teacher @ inputs) + self.noise * noise
        return targets
