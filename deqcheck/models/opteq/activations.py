"""Increasing activations with 0 <= s' <= 1, and what the theory asks of each of them."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np

from deqcheck import kinds
from deqcheck.fields import number
from deqcheck.frozen import dataclass
from deqcheck.linalg import exact
from deqcheck.linalg.exact import raw
from deqcheck.linalg.late import scipy
from deqcheck.models.opteq.entries import clipped, one_inside, only_zero, values
from deqcheck.records.measured import EPS, Measured, given, sqrt
from deqcheck.records.tower import Level, NoExactForm


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

    def slope_beside(self, t: np.ndarray, value: np.ndarray) -> np.ndarray:
        """s'(t), the same to the last digit, where s(t) is known."""
        return self.slope(t)

    @abstractmethod
    def primitive(self, t: np.ndarray) -> np.ndarray:
        """S(t) = int_0^t s."""

    @abstractmethod
    def conjugate(self, u: np.ndarray) -> np.ndarray:
        """S*(u) = sup_t u t - S(t), infinite outside the closure of the range of s."""

    def value_on(self, level: Level, t: Any) -> Any:
        """s of an entry of a matrix that is computed again."""
        raise NoExactForm

    def slope_on(self, level: Level, t: Any) -> Any:
        """s' of such an entry."""
        raise NoExactForm

    def primitive_on(self, level: Level, t: Any) -> Any:
        """S of such an entry."""
        raise NoExactForm

    @property
    def at_zero(self) -> float:
        return float(self.value(np.zeros(1))[0])

    @property
    def origin(self) -> Measured:
        """s(0) with its rounding."""
        again = exact.entry(values(self, exact.array(np.zeros(1))), 0)
        return Measured(self.at_zero, 4 * EPS * abs(self.at_zero), again=again)

    @property
    def most_bent(self) -> Measured:
        """sup |s''| with its rounding."""
        return Measured(self.curvature, 8 * EPS * self.curvature if self.smooth else 0.0)

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
        return np.asarray(near.any(axis=-1) & (radius > 0))


def half_square(t: np.ndarray) -> np.ndarray:
    half: np.ndarray = t * t / 2
    return half


def log_cosh(t: np.ndarray) -> np.ndarray:
    """To a few eps of its own size: near 0, where it is t^2/2, |t| must not be added first."""
    size = np.abs(t)
    near = np.sinh(np.minimum(size, 1.0) / 2)
    far = size + np.log1p(np.expm1(-2 * size) / 2)
    return np.asarray(np.where(size <= 1, np.log1p(2 * near * near), far))


def restricted(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The values inside a set, infinity elsewhere."""
    return np.where(inside, values, np.inf)


@dataclass(frozen=True)
class Identity(Activation):
    """t itself: a linear network."""

    kind: ClassVar[str] = "identity"
    slopes = (1.0, 1.0)
    curvature = 0.0
    most_bent = given(0)
    resting = (-np.inf, np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        return t

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.ones_like(t)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return half_square(t)

    def value_on(self, level: Level, t: Any) -> Any:
        return t

    def slope_on(self, level: Level, t: Any) -> Any:
        return raw(level, 1)

    def primitive_on(self, level: Level, t: Any) -> Any:
        return t * t / 2

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return half_square(u)


@dataclass(frozen=True)
class Relu(Activation):
    """max(t, 0)."""

    kind: ClassVar[str] = "relu"
    slopes = (0.0, 1.0)
    curvature = np.inf
    kinks = (0.0,)
    resting = (0.0, np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.maximum(t, 0.0)
        return found

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.where(t > 0, 1.0, 0.0)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return half_square(np.maximum(t, 0.0))

    def value_on(self, level: Level, t: Any) -> Any:
        return clipped(level, t, 0.0, np.inf)

    def slope_on(self, level: Level, t: Any) -> Any:
        return one_inside(level, t, 0.0, np.inf)

    def primitive_on(self, level: Level, t: Any) -> Any:
        kept = self.value_on(level, t)
        return kept * kept / 2

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return restricted(half_square(u), u >= 0)


@dataclass(frozen=True)
class HardTanh(Activation):
    """min(max(t, -1), 1): the projection on [-1, 1]."""

    kind: ClassVar[str] = "hardtanh"
    slopes = (0.0, 1.0)
    curvature = np.inf
    kinks = (-1.0, 1.0)
    bound = 1.0
    resting = (-1.0, 1.0)

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(np.clip(t, -1.0, 1.0))

    def slope(self, t: np.ndarray) -> np.ndarray:
        return np.where((t > -1) & (t <= 1), 1.0, 0.0)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.abs(t) <= 1, half_square(t), np.abs(t) - 0.5)

    def value_on(self, level: Level, t: Any) -> Any:
        return clipped(level, t, -1.0, 1.0)

    def slope_on(self, level: Level, t: Any) -> Any:
        return one_inside(level, t, -1.0, 1.0)

    def primitive_on(self, level: Level, t: Any) -> Any:
        """t clip(t) - clip(t)^2/2."""
        kept = self.value_on(level, t)
        return t * kept - kept * kept / 2

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return restricted(half_square(u), np.abs(u) <= 1)


# -Li2(-1).
DILOGARITHM = np.pi**2 / 12
# Terms of a power series in (t/2)^2 that converges for |t| < pi; for |t| <= 1 each is a tenth of
# the one before, so that what is left out is below 1e-18 of the sum.
SERIES_TERMS = 18


@cache
def _log_cosh_integrated() -> np.ndarray:
    """int_0^x log cosh = x^3 sum_k c_k x^(2k): tanh = sum_k a_k x^(2k+1) with tanh' = 1 - tanh^2,
    and each integration divides by the power that it makes."""
    tanh: list[float] = []
    for k in range(SERIES_TERMS):
        square = sum(tanh[i] * tanh[k - 1 - i] for i in range(k))
        tanh.append(((1.0 if k == 0 else 0.0) - square) / (2 * k + 1))
    return np.array([a / ((2 * k + 2) * (2 * k + 3)) for k, a in enumerate(tanh)])


def _softplus_integrated_near_zero(t: np.ndarray) -> np.ndarray:
    """softplus(t) = log 2 + t/2 + log cosh(t/2)."""
    x = t / 2
    bent = 2 * x**3 * np.polynomial.polynomial.polyval(x * x, _log_cosh_integrated())
    found: np.ndarray = t * (np.log(2) + t / 4) + bent
    return found


@dataclass(frozen=True)
class Softplus(Activation):
    """log(1 + exp t)."""

    kind: ClassVar[str] = "softplus"
    slopes = (0.0, 1.0)
    curvature = 0.25
    most_bent = given(0.25)
    strict = True
    lift = 0.0
    # log(1 + exp t) > t for every t.
    resting = (np.inf, -np.inf)

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0.0, t))

    def slope(self, t: np.ndarray) -> np.ndarray:
        slope: np.ndarray = scipy.special.expit(t)
        return slope

    def primitive(self, t: np.ndarray) -> np.ndarray:
        """-Li2(-e^t) + Li2(-1), and Li2(-e^t) + Li2(-e^-t) = -pi^2/6 - t^2/2 for t > 0. Near 0,
        where these constants cancel, by a series: to a few eps of its own size everywhere."""
        tail = scipy.special.spence(1 + np.exp(-np.abs(t)))
        far = np.where(t > 0, half_square(t) + DILOGARITHM + tail, -tail - DILOGARITHM)
        near = np.abs(t) <= 1
        found: np.ndarray = np.where(near, _softplus_integrated_near_zero(np.clip(t, -1, 1)), far)
        return found

    def value_on(self, level: Level, t: Any) -> Any:
        if level.exact:
            raise NoExactForm
        return t.exp().log1p()

    def slope_on(self, level: Level, t: Any) -> Any:
        return raw(level, Fraction(1, 2)) if only_zero(level, t) else 1 / (1 + (-t).exp())

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        """u t - S(t) at t = log(e^u - 1); the limit at u = 0 is -S(-inf)."""
        inside = np.where(u > 0, u, 1.0)
        t = inside + np.log(-np.expm1(-inside))
        values = np.where(u > 0, inside * t - self.primitive(t), DILOGARITHM)
        return restricted(values, u >= 0)


# sup |tanh''| = sup 2 |u| (1 - u^2) at u = 1/sqrt(3).
TANH_CURVATURE = float(4 / (3 * np.sqrt(3)))
EXACT_TANH_CURVATURE = sqrt(given(Fraction(16, 27)))


@dataclass(frozen=True)
class Tanh(Activation):
    """tanh t."""

    kind: ClassVar[str] = "tanh"
    slopes = (0.0, 1.0)
    curvature = TANH_CURVATURE
    most_bent = EXACT_TANH_CURVATURE
    strict = True
    bound = 1.0

    def value(self, t: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.tanh(t)
        return found

    def slope(self, t: np.ndarray) -> np.ndarray:
        return self.slope_beside(t, np.tanh(t))

    def slope_beside(self, t: np.ndarray, value: np.ndarray) -> np.ndarray:
        return np.asarray((1 - value) * (1 + value))

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return log_cosh(t)

    def value_on(self, level: Level, t: Any) -> Any:
        return raw(level, 0) if only_zero(level, t) else t.tanh()

    def slope_on(self, level: Level, t: Any) -> Any:
        return raw(level, 1) if only_zero(level, t) else t.sech() ** 2

    def primitive_on(self, level: Level, t: Any) -> Any:
        return raw(level, 0) if only_zero(level, t) else t.cosh().log()

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        """((1 + u) log(1 + u) + (1 - u) log(1 - u))/2; near 0, where its terms cancel to u^2/2, as
        u artanh(u) + log(1 - u^2)/2."""
        small = np.clip(u, -0.5, 0.5)
        inside = np.clip(u, -1.0, 1.0)
        near = small * np.arctanh(small) + np.log1p(-small * small) / 2
        far = (
            scipy.special.xlog1py(1 + inside, inside) + scipy.special.xlog1py(1 - inside, -inside)
        ) / 2
        return restricted(np.where(np.abs(u) <= 0.5, near, far), np.abs(u) <= 1)


# Newton for a function with slopes in [k, 1] from a bracket end; far more than ever needed.
INVERSION_STEPS = 200


@dataclass(frozen=True)
class Mix(Activation):
    """k t + (1 - k) tanh t, whose slope stays above k."""

    kind: ClassVar[str] = "mix"
    k: float = number(above=0, at_most=1, doc="share of the identity")

    @property
    def slopes(self) -> tuple[float, float]:
        return (self.k, 1.0)

    @property
    def curvature(self) -> float:
        return (1 - self.k) * TANH_CURVATURE

    @property
    def most_bent(self) -> Measured:
        return (1 - given(self.k)) * EXACT_TANH_CURVATURE

    @property
    def resting(self) -> tuple[float, float]:
        return (-np.inf, np.inf) if self.k == 1 else (0.0, 0.0)

    @property
    def strict(self) -> bool:
        return self.k < 1

    def value(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(self.k * t + (1 - self.k) * np.tanh(t))

    def slope(self, t: np.ndarray) -> np.ndarray:
        return self.k + (1 - self.k) * Tanh().slope(t)

    def primitive(self, t: np.ndarray) -> np.ndarray:
        return self.k * half_square(t) + (1 - self.k) * log_cosh(t)

    def value_on(self, level: Level, t: Any) -> Any:
        k = raw(level, Fraction(self.k))
        return k * t + (1 - k) * Tanh().value_on(level, t)

    def slope_on(self, level: Level, t: Any) -> Any:
        k = raw(level, Fraction(self.k))
        return k + (1 - k) * Tanh().slope_on(level, t)

    def primitive_on(self, level: Level, t: Any) -> Any:
        k = raw(level, Fraction(self.k))
        return k * t * t / 2 + (1 - k) * Tanh().primitive_on(level, t)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        t = self.inverse(u)
        return np.asarray(u * t - self.primitive(t))

    def inverse(self, u: np.ndarray) -> np.ndarray:
        """s^-1: for u > 0, s is concave, so Newton from the left end t = u rises monotonically."""
        t = np.array(u, dtype=float)
        for _ in range(INVERSION_STEPS):
            step = (u - self.value(t)) / self.slope(t)
            t = t + step
            if np.all(np.abs(step) <= 1e-15 * np.abs(t)):
                break
        return t
