"""Statements of the form `a quantity is O(m^e)`, `Omega(m^e)` or `Theta(m^e)`, for a start that is
drawn.

An order says nothing about one size. The quantity is drawn at several sizes, the exponent is fitted
with a confidence interval, and the outcome is `consistent` or `inconsistent` over those sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.models.problem import M, Problem, S
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.frequency import MISSED, SEEDS, Frequency

# Each size is twice the one before.
SIZES = 4


class Fit(NamedTuple):
    """The exponent, and the half-width of its interval."""

    exponent: float
    radius: float


def fitted(sizes: Sequence[float], values: Sequence[float]) -> Fit:
    """Least squares of log value on log size. To the Student interval of level 1 - MISSED comes the
    drift of the exponent from the smaller to the larger sizes: what is of order m^e only in the
    limit bends, and no number of draws makes that smaller."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    slope, error = _line(x, y)
    degrees = len(x) - 2
    quantile = float(scipy.special.stdtrit(degrees, 1 - MISSED / 2))
    middle = np.median(np.unique(x))
    drift = abs(_line(x[x >= middle], y[x >= middle])[0] - _line(x[x <= middle], y[x <= middle])[0])
    return Fit(slope, quantile * error + drift)


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and standard error."""
    dx, dy = x - x.mean(), y - y.mean()
    spread = float(dx @ dx)
    slope = float(dx @ dy) / spread
    rest = dy - slope * dx
    return slope, float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / spread))


class Order(Frequency[M, S]):
    """`quantity = O(m^e)` (`upper`), `Omega(m^e)` or, from both sides, `Theta(m^e)` for parameters
    drawn at growing sizes."""

    constants: ClassVar[dict[str, str]] = SEEDS
    # Whether the order bounds from above, O, or from below, Omega.
    upper: ClassVar[bool] = True

    # fitted - claimed for O, claimed - fitted for Omega, the modulus for Theta.
    allows = Check(
        "the fitted exponent allows the order", "excess <= radius", "over the sizes tried"
    )

    @property
    def two_sided(self) -> bool:
        """Whether this edition bounds from both sides, Theta."""
        return False

    def exponent(self, p: Problem[M, S]) -> float:
        """The claimed one."""
        raise NotImplementedError

    def base_size(self, p: Problem[M, S]) -> int:
        """The smallest size that is tried."""
        raise NotImplementedError

    def value(self, p: Problem[M, S], size: int, seed: int) -> float:
        """The quantity for a draw of this size: a function of problem, size and seed alone."""
        raise NotImplementedError

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        if self.seeds < 2 * SIZES:
            yield f"{self.id} has seeds = {self.seeds}; expected at least {2 * SIZES}"

    def sizes(self, p: Problem[M, S]) -> list[int]:
        return [self.base_size(p) * 2**i for i in range(SIZES)]

    def _size(self, p: Problem[M, S], seed: int) -> int:
        return self.sizes(p)[seed % SIZES]

    def trial(self, p: Problem[M, S], seed: int) -> Any:
        return float(self.value(p, self._size(p, seed), seed))

    def _excluded(self, low: float, high: float) -> str:
        """What these draws would have noticed."""
        if self.two_sided:
            return f"excluded are orders below {low:.4g} and above {high:.4g}"
        side = f"below {low:.4g}" if self.upper else f"above {high:.4g}"
        return f"excluded are orders {side}, and no others"

    def tallied(self, p: Problem[M, S], results: Sequence[Any]) -> Claim:
        sizes = [self._size(p, seed) for seed in range(len(results))]
        known = [(m, v) for m, v in zip(sizes, results, strict=True) if v is not None and v > 0]
        tried = self.sizes(p)
        if any([m for m, _ in known].count(size) < 2 for size in tried):
            # A logarithm needs positive numbers, a spread two of them.
            note = f"fewer than two of the draws at some size of {tried} are positive"
            return self.allows(note, excess=Measured(0.0, math.inf), radius=0.0)
        fit = fitted(*zip(*known, strict=True))
        low, high = fit.exponent - fit.radius, fit.exponent + fit.radius
        note = (
            f"{len(known)} draws at sizes {', '.join(map(str, tried))}: exponent "
            f"{fit.exponent:.4g}, {1 - MISSED:.1%} interval [{low:.4g}, {high:.4g}], its drift "
            f"over the sizes included; {self._excluded(low, high)}"
        )
        beyond = fit.exponent - self.exponent(p)
        excess = abs(beyond) if self.two_sided else beyond if self.upper else -beyond
        return self.allows(note, excess=excess, radius=fit.radius)
