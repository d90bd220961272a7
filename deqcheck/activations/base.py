"""What a theory of increasing activations asks of each of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from deqcheck import kinds


@dataclass(frozen=True)
class Activation(kinds.Activation):
    """s, applied entrywise; 0 <= s' <= 1 for every kind."""

    @property
    @abstractmethod
    def slopes(self) -> tuple[float, float]:
        """inf s' and sup s'."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """sup |s''|: the Lipschitz constant of s', infinite where s has kinks."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where s' jumps; s'(kink) is the slope to the left of it, so relu'(0) = 0."""
        return ()

    @property
    def bound(self) -> float:
        """sup |s|."""
        return np.inf

    @property
    def resting(self) -> tuple[float, float]:
        """The interval of all t with s(t) = t; empty as (inf, -inf)."""
        return (0.0, 0.0)

    @property
    def strict(self) -> bool:
        """Whether s increases strictly and s' = 1 at isolated points only."""
        return False

    @property
    def lift(self) -> float:
        """The infimum of s(t) - t where it is finite and not attained, else -inf."""
        return -np.inf

    @abstractmethod
    def value(self, t: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def slope(self, t: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def primitive(self, t: np.ndarray) -> np.ndarray:
        """S(t) = int_0^t s."""

    @abstractmethod
    def conjugate(self, u: np.ndarray) -> np.ndarray:
        """S*(u) = sup_t u t - S(t), infinite outside the closure of the range of s."""

    @property
    def at_zero(self) -> float:
        return float(self.value(np.zeros(1))[0])

    @property
    def smooth(self) -> bool:
        return not self.kinks

    def piece(self, t: np.ndarray) -> np.ndarray:
        """The number of the linear piece that each entry lies on."""
        return np.searchsorted(np.array(self.kinks), t)

    def doubtful(self, t: np.ndarray, radius: float) -> np.ndarray:
        """Entries, known up to the radius, of which it is not known on which piece they lie; with
        radius 0 an entry on a kink is there, and has the slope to the left by convention."""
        near = np.abs(t[..., None] - np.array(self.kinks)) <= radius
        return near.any(axis=-1) & (radius > 0)

    def kink_distance(self, t: np.ndarray) -> float:
        """How far the nearest kink is from any entry."""
        return min((float(np.abs(t - kink).min()) for kink in self.kinks), default=np.inf)


def half_square(t: np.ndarray) -> np.ndarray:
    half: np.ndarray = t * t / 2
    return half


def log_cosh(t: np.ndarray) -> np.ndarray:
    size = np.abs(t)
    return size + np.log1p(np.expm1(-2 * size) / 2)


def restricted(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The values inside a set, infinity elsewhere."""
    return np.where(inside, values, np.inf)
