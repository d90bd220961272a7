"""Zero initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.inits.drawn import Drawn


@dataclass(frozen=True)
class ZeroInit(Drawn):
    """Zeros."""

    kind: ClassVar[str] = "zero"
    scale: float = number(default=1.0, doc="no effect: every initialisation has a scale")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return np.zeros(shape)
