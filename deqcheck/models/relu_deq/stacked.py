"""ReLU equilibrium models of one shape side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from operator import methodcaller
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.near_one import LARGEST
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.linalg.stacked import Places, each, follow, lengths, norms, slices
from deqcheck.models import relu_radii
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.models.relu_state import CERTIFIED
from deqcheck.models.stack import Numbers, Stack, StackState
from deqcheck.records.measured import EPS, Measured

if TYPE_CHECKING:
    from deqcheck.models.relu_deq.model import ReluDeqModel
    from deqcheck.models.relu_deq.state import ReluDeqState

PARTS = ("W", "U", "a")


class StackedReluDeq(Stack):
    @property
    def names(self) -> Sequence[str]:
        return tuple(_MEASURES)

    def __init__(self, models: Sequence[ReluDeqModel], m: int):
        self.models = models
        self.X = np.stack([model.X for model in models])
        self.y = np.stack([model.y for model in models])
        self.m = m
        self.most = slices(m, self.y.shape[1])

    def at(self, theta: Params, near: Places) -> StackedReluDeqState:
        return StackedReluDeqState(self, theta, near)

    def first(self, starts: Sequence[ReluDeqState]) -> tuple[np.ndarray, np.ndarray]:
        shape = len(starts), self.m, self.y.shape[1]
        masks, known = np.zeros(shape, dtype=bool), np.zeros(len(starts), dtype=bool)
        for i, start in enumerate(starts):
            with suppress(NoEquilibrium):
                found = start.equilibrium
                masks[i], known[i] = found.mask, found.factored is not None
        return masks, known

    def kept(self, kept: np.ndarray) -> StackedReluDeq:
        return StackedReluDeq([self.models[i] for i in np.flatnonzero(kept).tolist()], self.m)

    @cached_property
    def X_length(self) -> np.ndarray:
        return lengths(self.X)

    @cached_property
    def X_norm(self) -> np.ndarray:
        return norms(self.X)

    @cached_property
    def y_length(self) -> np.ndarray:
        return lengths(self.y)


class StackedReluDeqState(StackState):
    def __init__(self, stack: StackedReluDeq, theta: Params, near: Places):
        self.stack, self.theta = stack, theta
        self.fine = np.ones(len(near.mask), dtype=bool)
        for array in theta.values():
            self._ask(each(np.isfinite(array)))
        # What LAPACK refuses is out already.
        self.W = theta["W"] * self.fine[:, None, None] if not self.fine.all() else theta["W"]
        self._solve(near)
        self._adjoint()
        self._objective()

    def _ask(self, holds: np.ndarray) -> None:
        """Of the slices that are fine."""
        self.fine &= holds

    @cached_property
    def q(self) -> Measured:
        """||W||_2."""
        return Measured(*self._norm2(self.W))

    def _norm2(self, a: np.ndarray) -> Numbers:
        values = np.linalg.svd(a, compute_uv=False)[:, 0]
        off = errors.lapack(a.shape[1:], 1.0) * values
        if min(a.shape[1:]) <= LARGEST:
            # There rational numbers tell the side of 1.
            known = Measured(values, off)
            self._ask((known.high < 1) | (known.low >= 1))
        return Numbers(values, off)

    def _solve(self, near: Places) -> None:
        W, U = self.W, self.theta["U"]
        m, d = U.shape[1:]
        self.C = U @ self.stack.X
        C_radius = relu_radii.of_C(d, lengths(U), self.stack.X_length)
        found = follow(W, self.C, near)
        self.Z, self.H, self._systems = found.Z, found.H, found.systems
        self.mask = self.H > 0
        W_size, self.Z_length, C_length = norms(W), lengths(self.Z), lengths(self.C)
        noise = errors.product(m, W_size * self.Z_length + C_length)
        q = self.q.high
        self._away = 1 / (1 - q)
        self.W_size = W_size
        defect = lengths(self.Z - relu(self.H))
        self.dZ = (defect + noise + C_radius) / (1 - q)
        self._ask(found.fits & (q < 1))
        size = np.maximum(np.maximum(self.Z_length, C_length), C_radius / EPS)
        self._ask((self.dZ <= CERTIFIED * size) & np.isfinite(size))
        # No kink is within reach, and every sample has a unit.
        nearest = np.abs(self.H).reshape(len(W), -1).min(axis=1)
        self._ask(nearest > W_size * self.dZ + noise + C_radius)
        self._ask(each(np.asarray(self.mask.any(axis=1))))

    def _adjoint(self) -> None:
        W, a, m = self.W, self.theta["a"], self.W.shape[1]
        self.V = self._systems.adjoint(a)
        incoming = W.transpose(0, 2, 1) @ self.V + a[:, :, None]
        defect = lengths(self.V - self.mask * incoming)
        counts = np.count_nonzero(self.mask, axis=2).astype(float)
        read_out = np.sqrt(np.matmul(counts[:, None, :], (a * a)[:, :, None])[:, 0, 0])
        total = errors.product(m, (1 + self.W_size) * lengths(self.V)) + EPS * read_out
        self.dV = (defect + total) * self._away

    def _objective(self) -> None:
        Z, a, y = self.Z, self.theta["a"], self.stack.y
        m, n = Z.shape[1:]
        self.r: np.ndarray = np.matmul(Z.transpose(0, 2, 1), a[:, :, None])[:, :, 0] - y
        a_length, self.r_length = lengths(a), lengths(self.r)
        known = relu_radii.of_residual(m, a_length, self.Z_length, self.stack.y_length, self.dZ)
        self.dr: np.ndarray = np.where(a_length > 0, known, a_length * self.dZ)
        total = np.add.reduce(self.r * self.r, axis=1)
        off = errors.of_squares(n, total, self.r_length, self.dr)
        self.gap, self.error = total / 2, off / 2
        self.E = self.V * self.r[:, None, :]
        widest = np.sqrt(np.add.reduce(self.V * self.V, axis=1)).max(axis=1)
        dE = relu_radii.of_scaled(widest, np.abs(self.r).max(axis=1), self.dV, self.dr)
        self._Z_norm = norms(Z)
        off_each = self.dZ, dE, self.dr
        sizes = relu_radii.Sizes(
            self._Z_norm, self.stack.X_norm, norms(self.E), self.r_length, *off_each
        )
        self._radii = relu_radii.of_gradient(n, sizes)
        self._parts = {
            "W": self.E @ Z.transpose(0, 2, 1),
            "U": self.E @ self.stack.X.transpose(0, 2, 1),
            "a": np.matmul(Z, self.r[:, :, None])[:, :, 0],
        }
        rows = [self._parts[name].reshape(len(Z), -1) for name in self.theta]
        self.gradient = np.concatenate(rows, axis=1)
        self.radius = _hypot(*self._radii.values())
        self._ask(np.isfinite(self.gap + self.error + self.radius))

    def measure(self, name: str) -> Numbers:
        found = _MEASURES[name](self)
        self._ask(np.isfinite(found.value + found.error))
        return found

    def part_norm(self, name: str) -> Numbers:
        return _frobenius(self._parts[name], self._radii[name])

    def parameter_norm(self, name: str) -> Numbers:
        if name == "W":
            return Numbers(self.q.value, self.q.error)
        array = self.theta[name]
        return _frobenius(array, 0.0) if array.ndim == 2 else self._norm2(array)

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
        s = np.linalg.svd(self.Z, compute_uv=False)
        off = self.dZ + errors.lapack((m, n), 1.0) * s[:, 0]
        return self._positive(np.maximum(s[:, n - 1], 0.0), off)

    def _positive(self, value: np.ndarray, off: np.ndarray) -> Numbers:
        """What may be 0 may be exactly 0, for reasons that are looked for elsewhere."""
        self._ask(Measured(value, off).low > 0)
        return Numbers(value, off)

    @property
    def lambda_0(self) -> Numbers:
        squares = Measured(*self.sigma_min_Z) ** 2
        return Numbers(squares.value, squares.error)

    @property
    def lambda_min_H(self) -> Numbers:
        Z, V, X = self.Z, self.V, self.stack.X
        G, SS, XX = (np.matmul(a.transpose(0, 2, 1), a) for a in (Z, V, X))
        H = G + G * SS + XX * SS
        longest = [np.add.reduce(a * a, axis=1).max(axis=1) for a in (Z, V, X)]
        sizes, off_each = (self._Z_norm, norms(V), self.stack.X_norm), (self.dZ, self.dV)
        shape = Z.shape[1], X.shape[1]
        radius = relu_radii.of_H(*shape, sizes, longest, off_each, norms(H))
        half = (H + H.transpose(0, 2, 1)) / 2
        half *= self.fine[:, None, None]
        w = np.linalg.eigvalsh(half)
        largest = np.abs(w).max(axis=1)
        off = radius + EPS * lengths(half) + errors.lapack(half.shape[1:], 1.0) * largest
        return self._positive(w[:, 0], off)


def _hypot(*columns: np.ndarray) -> np.ndarray:
    """The very function that single numbers go through."""
    return np.array([math.hypot(*row) for row in zip(*(c.tolist() for c in columns), strict=True)])


def _frobenius(a: np.ndarray, radius: np.ndarray | float) -> Numbers:
    value = lengths(a)
    return Numbers(value, radius + errors.summed(a[0].size, value))


Measure = Callable[[StackedReluDeqState], Numbers]
_MEASURES: dict[str, Measure] = {
    "loss": lambda s: Numbers(s.gap, s.error),
    "residual": lambda s: _frobenius(s.r, s.dr),
    "gradient": lambda s: s.gradient_norm,
    "sigma_min_Z": lambda s: s.sigma_min_Z,
    "lambda_0": lambda s: s.lambda_0,
    "lambda_min_H": lambda s: s.lambda_min_H,
    **{f"gradient.{name}": methodcaller("part_norm", name) for name in PARTS},
    **{f"norm2.{name}": methodcaller("parameter_norm", name) for name in PARTS},
}
