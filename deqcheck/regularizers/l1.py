"""The sum of absolute values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import number
from deqcheck.kinds import Regularizer
from deqcheck.linalg.errors import rounding


@dataclass(frozen=True)
class L1(Regularizer):
    """weight |z|_1: its prox is the soft threshold; it has no gradient."""

    kind: ClassVar[str] = "l1"
    differentiable: ClassVar[bool] = False
    uses_output: ClassVar[bool] = False
    weight: float = number(above=0, default=1.0, doc="factor of the sum")

    def check_width(self, m: int) -> None:
        return None

    def on(self, m: int, Wo: np.ndarray) -> L1:
        return self

    def value(self, Z: np.ndarray) -> float:
        return self.weight * float(np.abs(Z).sum())

    def prox(self, Z: np.ndarray) -> np.ndarray:
        return np.sign(Z) * np.maximum(np.abs(Z) - self.weight, 0.0)

    def noise(self, Z: np.ndarray) -> float:
        """|z| - weight rounds once."""
        return rounding(1, float(np.linalg.norm(Z)))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return bool((np.abs(np.abs(Z) - self.weight) > radius).all())

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        kept = (np.abs(Z) > self.weight).astype(float)
        return np.einsum("ij,ik->jik", kept, np.eye(len(Z)))
