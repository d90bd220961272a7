"""Identity initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.inits.drawn import Drawn


@dataclass(frozen=True)
class IdentityInit(Drawn):
    """Ones on the diagonal, zeros elsewhere; a vector is ones."""

    kind: ClassVar[str] = "identity"
    scale: float = number(default=1.0, doc="what stands in place of the ones")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return self.scale * (np.eye(*shape) if len(shape) == 2 else np.ones(shape))
