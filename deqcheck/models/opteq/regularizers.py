"""Regularisers of the state, the sum over the columns of Z."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from deqcheck.fields import Refusal, array, number
from deqcheck.kinds import Regularizer
from deqcheck.linalg.errors import rounding, singular_values


@dataclass(frozen=True)
class Quadratic:
    """R(z) = |A z - c|^2/2."""

    A: np.ndarray
    c: np.ndarray

    @cached_property
    def hessian(self) -> np.ndarray:
        found: np.ndarray = self.A.T @ self.A
        return found

    @cached_property
    def smoothness(self) -> float:
        """L_z, the Lipschitz constant of the gradient."""
        return float(np.linalg.norm(self.A, 2)) ** 2

    def gradient(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.A.T @ (self.A @ Z - self.c[:, None])
        return found

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
        """Rounding of the prox at Z: of its right side, and of a solve with I + A^T A."""
        A, out = float(np.linalg.norm(self.A)), float(np.linalg.norm(self.prox(Z)))
        shift = A * float(np.linalg.norm(self.c)) * float(np.sqrt(Z.shape[1]))
        scale = shift + float(np.linalg.norm(Z)) + (1 + A * A) * out
        return self._inverse * rounding(sum(self.A.shape), scale)

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return True

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        """The Jacobian of the prox at each column (N x m x m)."""
        jacobian = np.linalg.inv(np.eye(len(Z)) + self.hessian)
        return np.broadcast_to(jacobian, (Z.shape[1], *jacobian.shape))


class QuadraticKind(Regularizer):
    """A regulariser with a gradient; its matrix may depend on the output weights."""

    differentiable = True
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
        return Quadratic(root * np.eye(m), root * center)


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
        found: np.ndarray = np.sign(Z) * np.maximum(np.abs(Z) - self.weight, 0.0)
        return found

    def noise(self, Z: np.ndarray) -> float:
        """|z| - weight rounds once."""
        return rounding(1, float(np.linalg.norm(Z)))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        return bool((np.abs(np.abs(Z) - self.weight) > radius).all())

    def prox_slopes(self, Z: np.ndarray) -> np.ndarray:
        kept = (np.abs(Z) > self.weight).astype(float)
        found: np.ndarray = np.einsum("ij,ik->jik", kept, np.eye(len(Z)))
        return found
