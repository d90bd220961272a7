"""An axis: from values to places on a drawing, and the ticks between."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """`low` and `high` lie at the places `start` and `end`."""

    low: float
    high: float
    log: bool
    start: float
    end: float

    def at(self, values: np.ndarray | float) -> np.ndarray:
        """Places; what lies outside is put at the nearer end."""
        low, high, x = self._scaled(self.low), self._scaled(self.high), self._scaled(values)
        share = (np.clip(x, low, high) - low) / (high - low)
        return np.asarray(self.start + share * (self.end - self.start))

    def _scaled(self, x: np.ndarray | float) -> np.ndarray:
        return np.log10(np.maximum(x, np.finfo(float).tiny)) if self.log else np.asarray(x)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about this number of round values between the ends, with their labels."""
        if self.log and self.high >= 100 * self.low:
            return self._decades(most)
        return [(x, f"{x:.6g}") for x in _round_values(self.low, self.high, most)]

    def _decades(self, most: int) -> list[tuple[float, str]]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first + 1) / most))
        powers = range(first + (-first) % every, last + 1, every)
        return [(10.0**power, f"10{str(power).translate(SUPERSCRIPTS)}") for power in powers]


def _round_values(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(i * step, 12 - math.floor(math.log10(step))) for i in range(first, last + 1)]
