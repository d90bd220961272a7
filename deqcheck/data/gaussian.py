"""Gaussian data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.data.drawn import Drawn
from deqcheck.fields import number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class GaussianData(Drawn):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    scale: float = number(above=0, default=1.0, doc="standard deviation of an entry")

    def inputs(self, seed: int) -> np.ndarray:
        return self.scale * rng(seed, "data.inputs").standard_normal((self.dim, self.n))
