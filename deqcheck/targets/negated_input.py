"""The inputs with their sign changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class NegatedInput:
    """Y = -X plus normal noise."""

    kind: ClassVar[str] = "negated-input"
    noise: float = number(at_least=0, default=0.0, doc="standard deviation of the noise")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        noise = rng(seed, "target.noise").standard_normal(inputs.shape)
        targets: np.ndarray = self.noise * noise - inputs
        return targets
