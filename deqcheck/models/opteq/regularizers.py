"""Regularisers of the state as a case names them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import Refusal, array, number, part
from deqcheck.frozen import dataclass
from deqcheck.kinds import Regularizer
from deqcheck.linalg import exact
from deqcheck.linalg.errors import rounding
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.opteq.convex import Potential, Proximal, Quadratic, Sphere
from deqcheck.models.opteq.entries import above, clipped
from deqcheck.records.tower import Level, NoExactForm


class QuadraticKind(Regularizer):
    """A regulariser with a gradient; its matrix may depend on the output weights."""

    differentiable = True
    proximal = True
    uses_output = False

    def check_width(self, m: int) -> None:
        """Refuse arrays that do not fit a state of width m."""
        return

    @abstractmethod
    def on(self, m: int, Wo: np.ndarray) -> Quadratic: ...


def fit_length(key: str, array: np.ndarray | None, axis: int, m: int) -> None:
    """The size of an array along an axis must be the width of the state."""
    if array is not None and (array.ndim <= axis or array.shape[axis] != m):
        raise Refusal(key, f"has shape {array.shape}; expected the state width {m} on axis {axis}")


@dataclass(frozen=True, eq=False)
class Distance(QuadraticKind):
    """weight |z - center|^2/2."""

    kind: ClassVar[str] = "distance"
    weight: float = number(above=0, default=1.0, doc="factor of the squared distance")
    center: np.ndarray | None = array(default=None, doc="the point; default: the origin")

    def check_width(self, m: int) -> None:
        fit_length("center", self.center, 0, m)

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        root = float(np.sqrt(self.weight))
        center = np.zeros(m) if self.center is None else self.center
        return Sphere(root * np.eye(m), root * center, self.weight, center)


@dataclass(frozen=True, eq=False)
class LeastSquares(QuadraticKind):
    """|A z - c|^2/2."""

    kind: ClassVar[str] = "least-squares"
    A: np.ndarray = array(doc="matrix with as many columns as the state has entries")
    c: np.ndarray = array(doc="one number for each row of A")

    def check(self) -> Iterable[tuple[str, str]]:
        if self.A.ndim != 2 or self.c.shape != self.A.shape[:1]:
            yield "c", f"has shape {self.c.shape}; expected one number for each row of A"

    def check_width(self, m: int) -> None:
        fit_length("A", self.A, 1, m)

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        return Quadratic(self.A, self.c)


@dataclass(frozen=True)
class Output(QuadraticKind):
    """|W_o z|^2/2, which moves with the output weights (appendix G of xie2021)."""

    kind: ClassVar[str] = "output"
    uses_output = True

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        return Quadratic(Wo, np.zeros(len(Wo)))


@dataclass(frozen=True, eq=False)
class PotentialKind(Regularizer):
    """weight sum_i S(z_i - center_i) with S' a smooth activation; tanh gives log cosh, a smooth
    form of the l1 norm. For SAM: its proximal map is not at hand."""

    kind: ClassVar[str] = "potential"
    differentiable: ClassVar[bool] = True
    proximal: ClassVar[bool] = False
    uses_output: ClassVar[bool] = False
    activation: Any = part(Activation, default="tanh", doc="the derivative of S, without kinks")
    weight: float = number(above=0, default=1.0, doc="factor of the sum")
    center: np.ndarray | None = array(default=None, doc="the point; default: the origin")

    def check(self) -> Iterable[tuple[str, str]]:
        if self.activation.kinks:
            yield "activation", f"{self.activation.kind!r} has kinks; expected a smooth activation"

    def check_width(self, m: int) -> None:
        fit_length("center", self.center, 0, m)

    def on(self, m: int, Wo: np.ndarray) -> Potential:
        center = np.zeros(m) if self.center is None else self.center
        return Potential(self.activation, self.weight, center)


class ProximalKind(Regularizer, Proximal):
    """A regulariser that is known by its proximal map alone; it has no gradient."""

    differentiable: ClassVar[bool] = False
    proximal: ClassVar[bool] = True
    uses_output: ClassVar[bool] = False

    def check_width(self, m: int) -> None:
        return None

    def on(self, m: int, Wo: np.ndarray) -> Proximal:
        return self


@dataclass(frozen=True)
class L1(ProximalKind):
    """weight |z|_1: its prox is the soft threshold; it has no gradient."""

    kind: ClassVar[str] = "l1"
    weight: float = number(above=0, default=1.0, doc="factor of the sum")

    def value(self, Z: np.ndarray) -> float:
        return self.weight * float(np.abs(Z).sum())

    def prox(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.sign(Z) * np.maximum(np.abs(Z) - self.weight, 0.0)
        return found

    def prox_on(self, level: Level, z: Any) -> Any:
        return exact.mapped(level, z, lambda t: t - clipped(level, t, -self.weight, self.weight))

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        w = self.weight
        return _diagonal_on(level, z, lambda t: above(level, t, w) or above(level, -t, w))

    def noise(self, Z: np.ndarray) -> float:
        """|z| - weight rounds once."""
        return rounding(1, float(np.linalg.norm(Z)))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return bool((np.abs(np.abs(Z) - self.weight) > radius).all())

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        return _diagonal(np.abs(Z) > self.weight)

    def subgradient(self, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        inside = np.clip(wanted, -self.weight, self.weight)
        found: np.ndarray = np.where(Z != 0, self.weight * np.sign(Z), inside)
        return found

    def turn(self, Z: np.ndarray) -> float:
        return 0.0

    def growth(self, Z: np.ndarray) -> float:
        return float(self.weight * np.sqrt(Z.size))


@dataclass(frozen=True)
class Box(ProximalKind):
    """0 for low <= z <= high in every entry, infinite elsewhere: its prox is the projection."""

    kind: ClassVar[str] = "box"
    low: float = number(default=0.0, doc="smallest entry of the state")
    high: float = number(default=1.0, doc="largest entry of the state")

    def check(self) -> Iterable[tuple[str, str]]:
        if not self.low < self.high:
            yield "high", f"{self.high:g} is not above low = {self.low:g}"

    def value(self, Z: np.ndarray) -> float:
        return 0.0 if ((self.low <= Z) & (self.high >= Z)).all() else np.inf

    def prox(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.clip(Z, self.low, self.high)
        return found

    def prox_on(self, level: Level, z: Any) -> Any:
        return exact.mapped(level, z, lambda t: clipped(level, t, self.low, self.high))

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        return _diagonal_on(
            level, z, lambda t: above(level, t, self.low) and above(level, -t, -self.high)
        )

    def noise(self, Z: np.ndarray) -> float:
        return 0.0

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        ends = np.minimum(np.abs(Z - self.low), np.abs(Z - self.high))
        return bool((ends > radius).all())

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        return _diagonal((self.low < Z) & (self.high > Z))

    def subgradient(self, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The normal cone: 0 inside, outward at the ends."""
        down = np.where(self.low >= Z, np.minimum(wanted, 0.0), 0.0)
        found: np.ndarray = np.where(self.high <= Z, np.maximum(wanted, 0.0), down)
        return found

    def turn(self, Z: np.ndarray) -> float:
        return 0.0

    def growth(self, Z: np.ndarray) -> float:
        return 0.0


@dataclass(frozen=True)
class Euclidean(ProximalKind):
    """weight |z|_2, which is not separable: its prox shortens z by the weight."""

    kind: ClassVar[str] = "euclidean"
    weight: float = number(above=0, default=1.0, doc="factor of the norm of each column")

    @property
    def bend(self) -> float:  # type: ignore[override]
        """The Jacobian is I - weight (I - z z^T/|z|^2)/|z|; for |z| > weight both factors turn by
        at most 1/|z|, so that it turns by at most 2 weight/|z|^2."""
        return 2 / self.weight

    def value(self, Z: np.ndarray) -> float:
        return self.weight * float(np.linalg.norm(Z, axis=0).sum())

    def _kept(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The share of each column that is left, and which are left at all."""
        sizes = np.linalg.norm(Z, axis=0)
        left = sizes > self.weight
        return np.where(left, 1 - self.weight / np.where(left, sizes, 1.0), 0.0), left

    def prox(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._kept(Z)[0] * Z
        return found

    def _length_on(self, level: Level, z: Any) -> Any:
        """|z|, or None where nothing is left of z."""
        square = (z.transpose() * z)[0, 0]
        weight = exact.raw(level, Fraction(self.weight))
        if square <= weight * weight:
            return None
        if level.exact or not square > weight * weight:
            raise NoExactForm
        return square.sqrt()

    def prox_on(self, level: Level, z: Any) -> Any:
        length = self._length_on(level, z)
        return 0 * z if length is None else (1 - self.weight / length) * z

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        one, length = exact.identity(level, z.nrows()), self._length_on(level, z)
        if length is None:
            return 0 * one
        return (1 - self.weight / length) * one + (self.weight / length**3) * (z * z.transpose())

    def noise(self, Z: np.ndarray) -> float:
        return rounding(len(Z) + 4, float(np.linalg.norm(Z)))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return bool((np.abs(np.linalg.norm(Z, axis=0) - self.weight) > radius).all())

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        share, left = self._kept(Z)
        sizes = np.where(left, np.linalg.norm(Z, axis=0), 1.0)
        along = np.einsum("ij,kj,j->jik", Z, Z, np.where(left, self.weight / sizes**3, 0.0))
        found: np.ndarray = share[:, None, None] * np.eye(len(Z)) + along
        return found

    def subgradient(self, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        sizes, reach = np.linalg.norm(Z, axis=0), np.linalg.norm(wanted, axis=0)
        zero = wanted * np.minimum(1.0, self.weight / np.where(reach > 0, reach, 1.0))
        found: np.ndarray = np.where(
            sizes > 0, self.weight * Z / np.where(sizes > 0, sizes, 1.0), zero
        )
        return found

    def turn(self, Z: np.ndarray) -> float:
        sizes = np.linalg.norm(Z, axis=0)
        return self.weight / float(sizes[sizes > 0].min()) if (sizes > 0).any() else 0.0

    def growth(self, Z: np.ndarray) -> float:
        return float(self.weight * np.sqrt(Z.shape[1]))


def _diagonal(kept: np.ndarray) -> np.ndarray:
    """A projection on the entries that are kept, for each column."""
    found: np.ndarray = np.einsum("ij,ik->jik", kept.astype(float), np.eye(len(kept)))
    return found


def _diagonal_on(level: Level, z: Any, kept: Callable[[Any], bool]) -> Any:
    """The same for a column that is computed again."""
    found = exact.identity(level, z.nrows())
    for i in range(z.nrows()):
        found[i, i] = int(kept(z[i, 0]))
    return found
