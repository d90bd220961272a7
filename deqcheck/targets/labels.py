"""Two-class labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import flag, number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class Labels:
    """One of two labels for each sample: by a fair coin, or by the side of a random hyperplane."""

    kind: ClassVar[str] = "labels"
    low: float = number(default=0.0, doc="the first label")
    high: float = number(default=1.0, doc="the second label")
    separable: bool = flag(default=False, doc="by the side of a hyperplane through 0")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        if self.separable:
            normal = rng(seed, "target.hyperplane").normal(size=len(inputs))
            upper = normal @ inputs > 0
        else:
            upper = rng(seed, "target.labels").random(inputs.shape[1]) < 0.5
        return np.where(upper, self.high, self.low)[None]
