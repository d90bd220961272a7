"""Half-normal initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.inits.drawn import Drawn
from deqcheck.seeds import rng


@dataclass(frozen=True)
class HalfNormalInit(Drawn):
    """Absolute values of independent normal entries."""

    kind: ClassVar[str] = "half-normal"
    scale: float = number(at_least=0, default=1.0, doc="standard deviation before the modulus")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return self.scale * np.abs(rng(seed, f"init.{name}").standard_normal(shape))
