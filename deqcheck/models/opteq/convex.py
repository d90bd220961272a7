"""Convex functions of the state, the sum over the columns of Z: by their proximal maps, for a last
layer, or by their gradients, for SAM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import norm2, nth_singular_value, rounding, singular_values
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.opteq.entries import entrywise
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Level, NoExactForm


class Proximal(ABC):
    """A convex R, lower semicontinuous, that is given by its proximal map."""

    # Lipschitz constant of the map, and of its Jacobian where that is known on a piece.
    lipschitz: float = 1.0
    bend: float = 0.0

    @abstractmethod
    def prox(self, Z: np.ndarray) -> np.ndarray:
        """argmin_u R(u) + |u - z|^2/2 in each column."""

    @abstractmethod
    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        """The Jacobian of the prox at each column (N x m x m)."""

    def prox_on(self, level: Level, z: Any) -> Any:
        """The prox of a column that is computed again."""
        raise NoExactForm

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        """Its Jacobian there."""
        raise NoExactForm

    @abstractmethod
    def noise(self, Z: np.ndarray) -> float:
        """Rounding of the prox at Z."""

    @abstractmethod
    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        """Whether the Jacobian is smooth within the radius around Z."""

    @abstractmethod
    def value(self, Z: np.ndarray) -> float:
        """R(z), summed over the columns; infinite outside its domain."""

    @abstractmethod
    def subgradient(self, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The subgradient at Z that is nearest to the wanted one."""

    @abstractmethod
    def turn(self, Z: np.ndarray) -> float:
        """Lipschitz constant of the subgradients along their piece near Z."""

    @abstractmethod
    def growth(self, Z: np.ndarray) -> float:
        """A Lipschitz constant of R near Z, inside its domain."""


class Smooth(ABC):
    """A convex R with a Lipschitz gradient, which is what SAM asks for."""

    # Lipschitz constant of the Hessian.
    hessian_bend: float = 0.0
    # Whether R is strictly convex, as far as that is known.
    strict: bool = False

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """L_z, the Lipschitz constant of the gradient."""

    @property
    @abstractmethod
    def L_z(self) -> Measured:
        """The same with its error."""

    @property
    @abstractmethod
    def strong_convexity(self) -> Measured:
        """A lower bound of the Hessian; 0 where none is known."""

    @property
    @abstractmethod
    def offset(self) -> float:
        """0 where the gradient at 0 is known to vanish."""

    @abstractmethod
    def value(self, Z: np.ndarray) -> float: ...

    @abstractmethod
    def gradient(self, Z: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def hessians(self, Z: np.ndarray) -> np.ndarray:
        """For each column (N x m x m)."""

    @abstractmethod
    def pull(self, Z: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """The Hessian at Z times Q, column by column."""

    def gradient_on(self, level: Level, Z: Any) -> Any:
        """The gradient at a state that is computed again."""
        raise NoExactForm

    def pull_on(self, level: Level, Z: Any, Q: Any) -> Any:
        """The Hessian there times Q."""
        raise NoExactForm

    @abstractmethod
    def rounding(self, size: float, columns: int) -> float:
        """Of the gradient, or of a Hessian's product, at a state of this Frobenius norm."""


@dataclass(frozen=True)
class Quadratic(Smooth, Proximal):
    """R(z) = |A z - c|^2/2."""

    A: np.ndarray
    c: np.ndarray

    @cached_property
    def hessian(self) -> np.ndarray:
        found: np.ndarray = self.A.T @ self.A
        return found

    @cached_property
    def smoothness(self) -> float:
        return spectral_norm(self.A) ** 2

    @cached_property
    def L_z(self) -> Measured:
        return norm2(self.A, exact=exact.array(self.A)) ** 2

    @cached_property
    def strong_convexity(self) -> Measured:
        """The smallest eigenvalue of A^T A: 0 for fewer rows than columns."""
        return nth_singular_value(self.A, self.A.shape[1], exact=exact.array(self.A)) ** 2

    def hessian_on(self, level: Level) -> Any:
        """A^T A."""
        A = exact.array(self.A)
        return exact.product(exact.transpose(A), A).at(level)

    def shift_on(self, level: Level) -> Any:
        """A^T c."""
        return exact.product(exact.transpose(exact.array(self.A)), exact.array(self.c)).at(level)

    def gradient_on(self, level: Level, Z: Any) -> Any:
        ones = exact.matrix(level, 1, Z.ncols(), [1] * Z.ncols())
        return self.hessian_on(level) * Z - self.shift_on(level) * ones

    def pull_on(self, level: Level, Z: Any, Q: Any) -> Any:
        return self.hessian_on(level) * Q

    def prox_on(self, level: Level, z: Any) -> Any:
        return self.prox_slopes_on(level, z) * (z + self.shift_on(level))

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        return (exact.identity(level, z.nrows()) + self.hessian_on(level)).inv()

    @property
    def offset(self) -> float:
        return float(np.abs(self.c).max())

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.A.T @ (self.A @ Z - self.c[:, None])
        return found

    def hessians(self, Z: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.hessian, (Z.shape[1], *self.hessian.shape))

    def pull(self, Z: np.ndarray, Q: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.hessian @ Q
        return found

    def rounding(self, size: float, columns: int) -> float:
        A = euclidean(self.A)
        shift = A * euclidean(self.c) * float(np.sqrt(columns))
        return rounding(sum(self.A.shape), 2 * A * A * size + shift)

    def value(self, Z: np.ndarray) -> float:
        return float(np.sum((self.A @ Z - self.c[:, None]) ** 2)) / 2

    def prox(self, Z: np.ndarray) -> np.ndarray:
        """(I + A^T A)^-1 (z + A^T c)."""
        moved = Z + (self.A.T @ self.c)[:, None]
        return np.linalg.solve(np.eye(len(Z)) + self.hessian, moved)

    @cached_property
    def _inverse(self) -> float:
        """At least the norm of (I + A^T A)^-1."""
        if self.A.shape[0] < self.A.shape[1]:
            return 1.0
        return 1 / (1 + max(float(singular_values(self.A).low[-1]), 0.0) ** 2)

    def noise(self, Z: np.ndarray) -> float:
        """Of its right side, and of a solve with I + A^T A."""
        A, out = euclidean(self.A), float(np.linalg.norm(self.prox(Z)))
        shift = A * euclidean(self.c) * float(np.sqrt(Z.shape[1]))
        scale = shift + euclidean(Z) + (1 + A * A) * out
        return self._inverse * rounding(sum(self.A.shape), scale)

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return True

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        jacobian = np.linalg.inv(np.eye(len(Z)) + self.hessian)
        return np.broadcast_to(jacobian, (Z.shape[1], *jacobian.shape))

    def subgradient(self, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return self.gradient(Z)

    def turn(self, Z: np.ndarray) -> float:
        return self.smoothness

    def growth(self, Z: np.ndarray) -> float:
        return float(np.linalg.norm(self.gradient(Z))) + self.smoothness


@dataclass(frozen=True)
class Sphere(Quadratic):
    """weight |z - center|^2/2: A and c above have the root of the weight, which is rounded."""

    weight: float
    center: np.ndarray

    @property
    def L_z(self) -> Measured:
        return given(self.weight)

    @property
    def strong_convexity(self) -> Measured:
        return given(self.weight)

    def hessian_on(self, level: Level) -> Any:
        return exact.raw(level, Fraction(self.weight)) * exact.identity(level, len(self.center))

    def shift_on(self, level: Level) -> Any:
        return exact.raw(level, Fraction(self.weight)) * exact.array(self.center).at(level)


@dataclass(frozen=True)
class Potential(Smooth):
    """R(z) = weight sum_i S(z_i - c_i), S' = s a smooth activation: slopes in [0, 1] make it convex
    and weight-smooth."""

    s: Activation
    weight: float
    center: np.ndarray

    @property
    def smoothness(self) -> float:
        return self.weight * self.s.slopes[1]

    @property
    def L_z(self) -> Measured:
        return given(self.weight) * given(self.s.slopes[1])

    @property
    def strong_convexity(self) -> Measured:
        return given(self.weight) * given(self.s.slopes[0])

    @property
    def hessian_bend(self) -> float:  # type: ignore[override]
        return self.weight * self.s.curvature

    @property
    def strict(self) -> bool:  # type: ignore[override]
        return self.s.strict

    @property
    def offset(self) -> float:
        return float(np.abs(self.gradient(np.zeros((len(self.center), 1)))).max())

    def _moved(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = Z - self.center[:, None]
        return found

    def value(self, Z: np.ndarray) -> float:
        return self.weight * float(self.s.primitive(self._moved(Z)).sum())

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.weight * self.s.value(self._moved(Z))
        return found

    def hessians(self, Z: np.ndarray) -> np.ndarray:
        diagonal = self.weight * self.s.slope(self._moved(Z)).T
        found: np.ndarray = diagonal[:, :, None] * np.eye(len(Z))
        return found

    def pull(self, Z: np.ndarray, Q: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.weight * self.s.slope(self._moved(Z)) * Q
        return found

    def gradient_on(self, level: Level, Z: Any) -> Any:
        w = exact.raw(level, Fraction(self.weight))
        moved = self._moved_on(level, Z)
        return w * exact.mapped(level, moved, lambda t: self.s.value_on(level, t))

    def pull_on(self, level: Level, Z: Any, Q: Any) -> Any:
        w = exact.raw(level, Fraction(self.weight))
        moved = self._moved_on(level, Z)
        slopes = exact.mapped(level, moved, lambda t: self.s.slope_on(level, t))
        return w * entrywise(level, slopes, Q)

    def _moved_on(self, level: Level, Z: Any) -> Any:
        ones = exact.matrix(level, 1, Z.ncols(), [1] * Z.ncols())
        return Z - exact.array(self.center).at(level) * ones

    def rounding(self, size: float, columns: int) -> float:
        at_zero = abs(self.s.at_zero) * float(np.sqrt(len(self.center)))
        fixed = (euclidean(self.center) + at_zero) * float(np.sqrt(columns))
        return rounding(4, self.weight * (size + fixed))


@dataclass(frozen=True)
class ExplicitStep:
    """I - gamma grad R, which takes the place of prox_R in section 4.1."""

    R: Quadratic
    gamma: float
    bend: ClassVar[float] = 0.0

    @cached_property
    def lipschitz(self) -> float:
        """Of I - gamma A^T A, whose eigenvalues lie between 1 - gamma L_R and 1."""
        return max(1.0, abs(1 - self.gamma * self.R.smoothness)) * (1 + 8 * EPS)

    def prox(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = Z - self.gamma * self.R.gradient(Z)
        return found

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        jacobian = np.eye(len(Z)) - self.gamma * self.R.hessian
        return np.broadcast_to(jacobian, (Z.shape[1], *jacobian.shape))

    def prox_on(self, level: Level, z: Any) -> Any:
        return z - exact.raw(level, Fraction(self.gamma)) * self.R.gradient_on(level, z)

    def prox_slopes_on(self, level: Level, z: Any) -> Any:
        step = exact.raw(level, Fraction(self.gamma)) * self.R.hessian_on(level)
        return exact.identity(level, z.nrows()) - step

    def noise(self, Z: np.ndarray) -> float:
        A, size = euclidean(self.R.A), euclidean(Z)
        shift = A * euclidean(self.R.c) * float(np.sqrt(Z.shape[1]))
        return rounding(2 * sum(self.R.A.shape), size + self.gamma * (A * A * size + shift))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return True
