"""The squared norm of the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.regularizers.base import Quadratic, QuadraticKind


@dataclass(frozen=True)
class Output(QuadraticKind):
    """|W_o z|^2/2, which moves with the output weights (appendix G of xie2021)."""

    kind: ClassVar[str] = "output"
    uses_output = True

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        return Quadratic(Wo, np.zeros(len(Wo)))
