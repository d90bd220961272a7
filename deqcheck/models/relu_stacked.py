"""What stacks of ReLU equilibrium models share: Z = relu(W Z + C) in every slice, read out by a.

The formulas and radii are those of `ReluState`, which is the twin in the tests.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from deqcheck.linalg import errors, largest, smallest
from deqcheck.linalg.along import Along, Upper
from deqcheck.linalg.near_one import LARGEST
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.linalg.stacked import Places, each, follow, lengths, norms, slices
from deqcheck.models import relu_radii
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.models.relu_state import CERTIFIED, ReluState
from deqcheck.models.stack import Numbers, Spectral, Stack, StackState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, stack

# What eigenvalues and singular values of LAPACK rest on.
WEYL = "Weyl"


class Equation(NamedTuple):
    """Of every slice: its matrices, how far they may be off, and the room that its certificate
    leaves: a defect is divided by it, and so is whatever goes through (I - J W)^-1 J."""

    W: np.ndarray
    C: np.ndarray
    W_radius: np.ndarray | float
    C_radius: np.ndarray
    room: np.ndarray
    # Samples for which C is exactly 0, and with it Z and W Z + C.
    dark: np.ndarray | None = None


class Way(Protocol):
    """How all slices get to their equilibria."""

    def bound(self, a: np.ndarray, limit: np.ndarray | float, upper: Upper) -> np.ndarray:
        """On what `upper` bounds of each matrix, to be compared with a limit."""

    def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Z = relu(W Z + C), its pre-activations, and where these were found."""

    def adjoint(self, W: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V = J (W^T V + a) on the patterns of Z, and W^T V + a."""


class FromPatterns:
    """By Newton's method from patterns nearby."""

    def __init__(self, near: Places):
        self.near = near

    def bound(self, a: np.ndarray, limit: np.ndarray | float, upper: Upper) -> np.ndarray:
        return upper(a)

    def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = follow(W, C, self.near)
        self._systems = found.systems
        return found.Z, found.H, found.fits

    def adjoint(self, W: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V = self._systems.adjoint(a)
        return V, W.transpose(0, 2, 1) @ V + a[:, :, None]


class StackedRelu(Stack):
    """Models of m units; a single one stands for all slices."""

    state: ClassVar[type[StackedReluState]]

    def __init__(self, models: Sequence[Any], m: int):
        self.models, self.m = models, m
        self.X = np.stack([model.X for model in models])
        self.y = np.stack([model.y for model in models])
        self.most = slices(m, self.y.shape[1])

    def first(self, starts: Sequence[ReluState]) -> tuple[np.ndarray, np.ndarray]:
        shape = len(starts), self.m, self.y.shape[1]
        masks, known = np.zeros(shape, dtype=bool), np.zeros(len(starts), dtype=bool)
        for i, start in enumerate(starts):
            with suppress(NoEquilibrium):
                found = start.equilibrium
                masks[i], known[i] = found.mask, found.factored is not None
        return masks, known

    @property
    def names(self) -> Sequence[str]:
        return tuple(self.state.measures)

    def at(self, theta: Params, near: Places | Along) -> StackedReluState:
        way = FromPatterns(near) if isinstance(near, Places) else near
        return self.state(self, theta, way)

    def kept(self, kept: np.ndarray) -> StackedRelu:
        return type(self)([self.models[i] for i in np.flatnonzero(kept).tolist()], self.m)

    @cached_property
    def X_norm(self) -> np.ndarray:
        return norms(self.X)

    @cached_property
    def y_length(self) -> np.ndarray:
        return lengths(self.y)


class StackedReluState(StackState):
    # Which of the parameters reads out.
    read_out: ClassVar[str]
    # A relative error of Z above this is known better by a state alone.
    finest: ClassVar[float] = math.inf

    def __init__(self, stack: Any, theta: Params, way: Way):
        self.stack, self.theta, self.way = stack, theta, way
        self.fine = np.ones(len(theta[self.read_out]), dtype=bool)
        for array in theta.values():
            self._ask(np.isfinite(norms(array)))
        if not self.fine.all():
            # What LAPACK refuses is out already.
            self.theta = {
                name: np.where(self.fine.reshape(-1, *[1] * (a.ndim - 1)), a, 0.0)
                for name, a in theta.items()
            }
        self.a = self.theta[self.read_out]
        self._solve(self.equation())
        self._adjoint()
        self._objective()

    @abstractmethod
    def equation(self) -> Equation:
        """At these parameters."""

    def defect(self) -> np.ndarray:
        """Of Z with its pre-activations."""
        found: np.ndarray = self.Z - relu(self.H)
        return found

    @abstractmethod
    def parts(self) -> Params:
        """The gradient, from Z, E and r."""

    @abstractmethod
    def radii(self) -> dict[str, np.ndarray]:
        """Of each part."""

    def _ask(self, holds: np.ndarray) -> None:
        """Of the slices that are fine."""
        self.fine &= holds

    def norm2(self, a: np.ndarray, known: Numbers | None = None) -> Numbers:
        """Of matrices that are what they are; `known` is their largest singular value."""
        found = largest_singular_value(a) if known is None else known
        if min(a.shape[1:]) <= LARGEST:
            # There rational numbers tell the side of 1.
            self._ask(np.abs(found.value - 1) > found.error + 4 * EPS)
        return found

    def _solve(self, equation: Equation) -> None:
        W, C, W_radius, C_radius, room, dark = equation
        m = W.shape[1]
        self.Z, self.H, fits = self.way.solve(W, C)
        self.W = W
        self.mask = self.H > 0
        self.W_size, self.W_radius = norms(W), W_radius
        self.Z_length, C_length = lengths(self.Z), lengths(C)
        noise = errors.product(m, self.W_size * self.Z_length + C_length)
        noise = noise + W_radius * self.Z_length
        self.room, self._away = room, 1 / room
        self.dZ = (lengths(self.defect()) + noise + C_radius) / room
        self._ask(fits & (room > 0))
        size = np.maximum(np.maximum(self.Z_length, C_length), C_radius / EPS)
        self._ask((self.dZ <= CERTIFIED * size) & np.isfinite(size))
        self._ask(self.dZ <= self.finest * self.Z_length)
        # No kink is within reach, and some unit is active.
        nearest = np.abs(self.H).min(axis=1)
        nearest = (nearest if dark is None else np.where(dark, np.inf, nearest)).min(axis=1)
        self._ask(nearest > self.W_size * self.dZ + noise + C_radius)
        self.heard = np.asarray(self.mask.any(axis=1))
        self._ask(np.asarray(self.heard.any(axis=1)))

    def _adjoint(self) -> None:
        W, a, m = self.W, self.a, self.W.shape[1]
        self.V, incoming = self.way.adjoint(W, a)
        defect = lengths(self.V - self.mask * incoming)
        counts = np.count_nonzero(self.mask, axis=2).astype(float)
        read_out = np.sqrt(np.matmul(counts[:, None, :], (a * a)[:, :, None])[:, 0, 0])
        V_length = lengths(self.V)
        total = errors.product(m, (1 + self.W_size) * V_length) + EPS * read_out
        self.dV = (defect + total + self.W_radius * V_length) * self._away

    def _objective(self) -> None:
        Z, a, y = self.Z, self.a, self.stack.y
        m, n = Z.shape[1:]
        self.r: np.ndarray = np.matmul(Z.transpose(0, 2, 1), a[:, :, None])[:, :, 0] - y
        a_length, self.r_length = lengths(a), lengths(self.r)
        self.read_length = self._read_length()
        known = relu_radii.of_residual(m, a_length, self.Z_length, self.stack.y_length, self.dZ)
        self.dr: np.ndarray = np.where(a_length > 0, known, 0.0)
        total = np.add.reduce(self.r * self.r, axis=1)
        off = errors.of_squares(n, total, self.r_length, self.dr)
        self.gap, self.error = total / 2, off / 2
        self.E = self.V * self.r[:, None, :]
        widest = np.sqrt(np.add.reduce(self.V * self.V, axis=1)).max(axis=1)
        self.dE = relu_radii.of_scaled(widest, np.abs(self.r).max(axis=1), self.dV, self.dr)
        self._radii = self.radii()
        self.radius = _hypot(*self._radii.values())
        self._ask(np.isfinite(self.gap + self.error + self.radius))

    @cached_property
    def _parts(self) -> Params:
        return self.parts()

    @cached_property
    def gradient(self) -> np.ndarray:
        rows = [self._parts[name].reshape(len(self.Z), -1) for name in self.theta]
        return np.concatenate(rows, axis=1)

    def _read_length(self) -> np.ndarray:
        """|r| over the samples that Z r has a term of."""
        found = self.r_length.copy()
        for i in np.flatnonzero(self.unheard).tolist():
            found[i] = errors.length(self.r[i, self.heard[i]])
        return found

    @property
    def unheard(self) -> np.ndarray:
        """Where some sample has no unit: its columns of Z and V are exactly 0."""
        return ~each(self.heard)

    def measure(self, name: str) -> Numbers:
        found = self.measures[name](self)
        self._ask(np.isfinite(found.value + found.error))
        return found

    def part_norm(self, name: str) -> Numbers:
        return frobenius(self._parts[name], self._radii[name])

    def parameter_norm(self, name: str) -> Numbers:
        array = self.theta[name]
        return frobenius(array, 0.0) if array.ndim == 2 else self.norm2(array)

    @property
    def gradient_norm(self) -> Numbers:
        parts = [self.part_norm(name) for name in self.theta]
        value = _hypot(*(p.value for p in parts))
        radius = _hypot(*(p.error for p in parts))
        return Numbers(value, radius + errors.rounding(1, value))

    @cached_property
    def sigma_min_Z(self) -> Numbers:
        m, n = self.Z.shape[1:]
        if m < n:
            return Numbers(*np.zeros((2, len(self.Z))))
        if n >= smallest.LARGE:
            found = _one_by_one(errors.nth_singular_value(Z, n) for Z in self.Z)
            return self._positive(found.value, found.error + self.dZ, self.unheard, found.how)
        s = np.linalg.svd(self.Z, compute_uv=False)
        off = self.dZ + errors.lapack((m, n), 1.0) * s[:, 0]
        return self._positive(np.maximum(s[:, n - 1], 0.0), off, self.unheard)

    def spectral(self, name: str) -> Spectral | None:
        kind, _, part = name.partition(".")
        m, n = self.Z.shape[1:]
        if kind in ("sigma_min_Z", "lambda_0") and m >= n:
            return Spectral(self.Z, False, kind == "lambda_0", self.dZ, self.unheard)
        if kind == "norm2" and part in self.theta and self.theta[part].ndim == 3:
            a = self.theta[part]
            tall = a if a.shape[1] >= a.shape[2] else a.transpose(0, 2, 1)
            return Spectral(tall, True, apart_from=1.0 if min(a.shape[1:]) <= LARGEST else None)
        return None

    def _positive(
        self, value: np.ndarray, off: np.ndarray, zero: np.ndarray | bool, how: str = WEYL
    ) -> Numbers:
        """What may be 0 may be exactly 0, here or for reasons that are looked for elsewhere."""
        self._ask((value > off) ^ zero)
        return Numbers(np.where(zero, 0.0, value), np.where(zero, 0.0, off), how)

    def smallest_eigenvalue(
        self, H: np.ndarray, radius: np.ndarray, zero: np.ndarray | bool = False
    ) -> Numbers:
        """Of symmetric matrices, some of which are certainly singular."""
        w = np.linalg.eigvalsh(H * self.fine[:, None, None])
        off = radius + errors.lapack(H.shape[1:], 1.0) * np.abs(w).max(axis=1)
        return self._positive(w[:, 0], off, zero)

    measures: ClassVar[Mapping[str, Callable[[Any], Numbers]]]


def _hypot(*columns: np.ndarray) -> np.ndarray:
    return np.asarray(reduce(np.hypot, columns))


def largest_singular_value(a: np.ndarray, radius: np.ndarray | float = 0.0) -> Numbers:
    if min(a.shape[1:]) >= largest.LARGE:
        found = _one_by_one(errors.nth_singular_value(each, 1) for each in a)
        return found._replace(error=found.error + radius)
    value = np.linalg.svd(a, compute_uv=False)[:, 0]
    return Numbers(value, radius + errors.lapack(a.shape[1:], 1.0) * value, WEYL)


def _one_by_one(found: Iterable[Measured]) -> Numbers:
    """Of matrices so large that nothing is gained by decomposing them together."""
    every = stack(list(found))
    return Numbers(every.value, every.error, every.how)


def frobenius(a: np.ndarray, radius: np.ndarray | float) -> Numbers:
    value = lengths(a)
    return Numbers(value, radius + errors.summed(a[0].size, value))


def common_measures(parts: Sequence[str]) -> dict[str, Callable[[Any], Numbers]]:
    """With these parameters."""
    return {
        "loss": lambda s: Numbers(s.gap, s.error),
        "residual": lambda s: frobenius(s.r, s.dr),
        "gradient": lambda s: s.gradient_norm,
        "sigma_min_Z": lambda s: s.sigma_min_Z,
        **{f"gradient.{name}": methodcaller("part_norm", name) for name in parts},
        **{f"norm2.{name}": methodcaller("parameter_norm", name) for name in parts},
    }
