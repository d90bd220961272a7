"""Targets that know nothing of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import integer, number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class GaussianTarget:
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    outputs: int = integer(at_least=1, default=1, doc="outputs for each sample")
    scale: float = number(above=0, default=1.0, doc="standard deviation of an entry")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        shape = (self.outputs, inputs.shape[1])
        return self.scale * rng(seed, "target.gaussian").standard_normal(shape)
