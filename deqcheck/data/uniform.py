"""Uniform data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.data.drawn import Drawn
from deqcheck.fields import number
from deqcheck.seeds import rng


@dataclass(frozen=True)
class UniformData(Drawn):
    """Independent entries, uniform on an interval."""

    kind: ClassVar[str] = "uniform"
    low: float = number(default=-1.0, doc="lower end of the interval")
    high: float = number(default=1.0, doc="upper end of the interval")

    def check(self) -> Iterable[tuple[str, str]]:
        yield from super().check()
        if self.low >= self.high:
            yield "low", f"{self.low:g} is out of range; expected a number < high = {self.high:g}"

    def inputs(self, seed: int) -> np.ndarray:
        # Not rng.uniform(low, high): it raises where high - low overflows.
        share = rng(seed, "data.inputs").random((self.dim, self.n))
        return self.low * (1 - share) + self.high * share
