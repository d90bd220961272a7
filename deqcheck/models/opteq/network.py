"""The layers of an OptEq network: f_l(Z) = a W_l^T s(W_l Z + U_l X + b_l 1^T) + (1 - a) Z."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.linalg.stacked import norms
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.opteq.extractor import Extractor
from deqcheck.models.problem import Params, norm
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS

# A number; or one for each network, where there are many, with a leading axis in all their arrays.
Radius: TypeAlias = Any


def size(a: np.ndarray) -> Radius:
    """The Frobenius norm of a matrix, or of each."""
    return norm(a) if a.ndim < 3 else norms(a)


class Pass(NamedTuple):
    """What one layer saw: its input, pre-activation and activation, with Frobenius radii."""

    Zin: np.ndarray
    A: np.ndarray
    G: np.ndarray
    Zin_error: Radius
    A_error: Radius


@dataclass(frozen=True)
class Layer:
    alpha: float
    s: Activation
    W: np.ndarray
    U: np.ndarray
    b: np.ndarray
    X: np.ndarray
    # How far X may be off, where it is extracted.
    X_error: float = 0.0
    # Of ||W||_2 from above, where one is known.
    bound: Radius | None = None

    @cached_property
    def drive(self) -> np.ndarray:
        """C = U X + b 1^T."""
        found: np.ndarray = self.U @ self.X + self.b[..., None]
        return found

    @cached_property
    def norm(self) -> Radius:
        """An upper bound of ||W||_2."""
        return float(errors.norm2(self.W).high) if self.bound is None else self.bound

    @cached_property
    def frobenius(self) -> Radius:
        return size(self.W)

    @cached_property
    def _drive_size(self) -> Radius:
        columns = math.sqrt(self.X.shape[-1])
        return size(self.U) * size(self.X) + columns * size(self.b[..., None])

    @cached_property
    def lipschitz(self) -> Radius:
        return self.alpha * self.s.slopes[1] * self.norm * self.norm + 1 - self.alpha

    @cached_property
    def bend(self) -> Radius:
        """Lipschitz constant of the Jacobian; on a fixed linear piece, 0."""
        # A power of a Python float raises where a product overflows to infinity.
        cubed = self.norm * self.norm * self.norm
        return self.alpha * cubed * (self.s.curvature if self.s.smooth else 0.0)

    def f(self, Z: np.ndarray) -> np.ndarray:
        G = self.s.value(self.W @ Z + self.drive)
        out: np.ndarray = self.alpha * (self.W.mT @ G) + (1 - self.alpha) * Z
        return out

    def visit(self, Z: np.ndarray, radius: Radius) -> tuple[Pass, np.ndarray, Radius]:
        """The layer at Z, its output and how far that may be from the exact one."""
        A = self.W @ Z + self.drive
        G = self.s.value(A)
        out = self.alpha * (self.W.mT @ G) + (1 - self.alpha) * Z
        A_error, moved = self.radii(size(Z), size(G), radius)
        return Pass(Z, A, G, radius, A_error), out, moved

    def radii(self, before: Radius, active: Radius, radius: Radius) -> tuple[Radius, Radius]:
        """Of the pre-activation and of the output, where the input and the activation have these
        sizes and the input this radius."""
        length = sum(self.W.shape[-2:]) + len(self.X)
        noise = errors.rounding(length, self.frobenius * before + self._drive_size)
        if self.X_error:
            noise += size(self.U) * self.X_error
        local = self.alpha * (
            self.norm * noise + errors.rounding(self.W.shape[-2], self.frobenius * active)
        )
        local += errors.rounding(1, before)
        return self.norm * radius + noise, self.lipschitz * radius + local

    def jacobians(self, Z: np.ndarray) -> np.ndarray:
        """a W^T D_j W + (1 - a) I for each sample (N x m x m)."""
        inner = self.slopes_between(self.W @ Z + self.drive)
        out: np.ndarray = self.alpha * inner + (1 - self.alpha) * np.eye(len(Z))
        return out

    def slopes_between(self, A: np.ndarray) -> np.ndarray:
        """W^T D_j W for each column of the pre-activations (N x m x m)."""
        D = self.s.slope(A).T
        return np.asarray(self.W.T @ (D[:, :, None] * self.W))


class Network:
    """T = f_L o ... o f_1."""

    def __init__(
        self,
        alpha: float,
        s: Activation,
        X: np.ndarray,
        theta: Params,
        depth: int,
        extractor: Extractor | None = None,
    ):
        self.alpha, self.s, self.X, self.extractor = alpha, s, X, extractor
        self.X_error = 0.0 if extractor is None else extractor.X_error
        self.layers = [
            Layer(alpha, s, theta[f"W{i}"], theta[f"U{i}"], theta[f"b{i}"], X, self.X_error)
            for i in range(1, depth + 1)
        ]

    def head(self, depth: int) -> Network:
        """f_l o ... o f_1 alone."""
        out = self.copy()
        out.layers = self.layers[:depth]
        return out

    def copy(self) -> Network:
        """Another one, whose layers may be replaced."""
        return copy(self)

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        """Whether the linear piece of every unit is known where Z is known up to the radius."""
        if self.s.smooth:
            return True
        passes, _, _ = self.visit(Z, radius)
        return not any(self.s.doubtful(p.A, p.A_error).any() for p in passes)

    def T(self, Z: np.ndarray) -> np.ndarray:
        for layer in self.layers:
            Z = layer.f(Z)
        return Z

    def visit(self, Z: np.ndarray, radius: Radius) -> tuple[list[Pass], np.ndarray, Radius]:
        passes = []
        for layer in self.layers:
            visited, Z, radius = layer.visit(Z, radius)
            passes.append(visited)
        return passes, Z, radius

    def blocks(self, Z: np.ndarray) -> list[np.ndarray]:
        """Z_0 = Z, Z_1, ..., Z_L."""
        out = [Z]
        for layer in self.layers:
            out.append(layer.f(out[-1]))
        return out

    def jacobians(self, Z: np.ndarray) -> np.ndarray:
        """dT/dz for each sample (N x m x m), the last layer on the left."""
        product = np.broadcast_to(np.eye(len(Z)), (Z.shape[1], len(Z), len(Z)))
        for layer in self.layers:
            product = layer.jacobians(Z) @ product
            Z = layer.f(Z)
        return product

    @cached_property
    def lipschitz(self) -> float:
        return float(np.prod([layer.lipschitz for layer in self.layers])) * (1 + 8 * EPS)

    @cached_property
    def jacobian_rounding(self) -> float:
        """Of the entries of I - dT/dz, as a radius in the 2-norm."""
        length = sum(sum(layer.W.shape) for layer in self.layers)
        return errors.rounding(length, 1 + max(self.lipschitz, 1.0))

    @cached_property
    def bend(self) -> float:
        """Lipschitz constant of dT/dz: one layer bends, those before it stretch its input."""
        lips = [max(layer.lipschitz, 0.0) for layer in self.layers]
        total = 0.0
        for i, layer in enumerate(self.layers):
            before, after = float(np.prod(lips[:i])), float(np.prod(lips[i + 1 :]))
            total += after * layer.bend * before * before
        return total
