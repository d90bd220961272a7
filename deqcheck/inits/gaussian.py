"""Gaussian initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import choice, number
from deqcheck.inits.drawn import Drawn
from deqcheck.seeds import rng


@dataclass(frozen=True)
class GaussianInit(Drawn):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    scale: float = number(at_least=0, default=1.0, doc="standard deviation of an entry")
    fan: str = choice(
        "none", "in", default="none", doc="in: divide by the root of the last axis' size"
    )

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        normal = rng(seed, f"init.{name}").standard_normal(shape)
        return self.scale * (normal / np.sqrt(shape[-1]) if self.fan == "in" else normal)
