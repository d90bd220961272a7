"""An OptEq network at many parameters at once: smooth, iterated, with an input that is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.linalg import errors, largest, smallest
from deqcheck.linalg.stacked import norms, ordinary
from deqcheck.models.many import Looked, Many, one_by_one
from deqcheck.models.opteq.lean import Lean, Seen
from deqcheck.models.opteq.network import Network
from deqcheck.models.opteq.passed import Passed
from deqcheck.models.problem import Params
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel
    from deqcheck.models.opteq.state import OpteqState

# By so much, as a share, a bound of a norm may be too large; where radii go through it often, by so
# much in all.
LOOSE, IN_ALL = 0.2, 0.5
# From this width on singular values take longer than a proof that none is larger.
WIDE = 48


class NormBounds:
    """Upper bounds of ||W||_2 along a run: ||W|| <= ||W_0|| + |W - W_0|_F, W_0 a matrix nearby that
    has a bound of its own."""

    def __init__(self, passes: int) -> None:
        self._loose = min(LOOSE, IN_ALL / passes)
        self._near, self._norm = np.zeros(0), -1.0

    def of(self, W: np.ndarray) -> np.ndarray:
        if min(W.shape[1:]) == 1:
            return np.asarray(norms(W) * (1 + W[0].size * EPS))
        found, first = np.empty(len(W)), 0
        while first < len(W):
            away = norms(W[first:] - self._near) if self._norm >= 0 else np.full(1, np.inf)
            # The norm of a difference has its own rounding.
            away *= 1 + W[0].size * EPS
            far = np.flatnonzero(~(away <= self._loose * self._norm))
            until = int(far[0]) if len(far) else len(away)
            if until == 0:
                self._near, self._norm = W[first], _bound(W[first])
                found[first] = self._norm
            found[first : first + until] = self._norm + away[:until]
            first += max(until, 1)
        return found


def _bound(W: np.ndarray) -> float:
    """Of one matrix; of a wide one without its singular values."""
    found = largest.bound(W) if min(W.shape) >= WIDE else None
    return float(errors.norm2(W).high) if found is None else found


class ManyOpteq(Many):
    def __init__(self, model: OpteqModel, lean: Lean):
        self.model, self.lean = model, lean
        self._bounds: dict[str, NormBounds] = {}

    def gradient(self, theta: Params, beside: Any = None) -> tuple[Params, Seen]:
        # Of the perturbed run, which is beside another, values alone are looked at.
        return self.lean.seen(theta, sized=beside is None)

    def at(self, theta: Params, seen: Sequence[Seen]) -> LookedOpteq:
        r, Z, sizes = (np.array(each) for each in zip(*seen, strict=True))
        # Of each network in its last axis.
        stacked = Seen(r.mT, Z.mT, np.ascontiguousarray(np.moveaxis(sizes, 0, -1)))
        return LookedOpteq(self, theta, stacked)

    def norm2(self, theta: Params, name: str) -> np.ndarray:
        bounds = self._bounds.setdefault(name, NormBounds(self.model.passes))
        return bounds.of(theta[name])


def quantities(
    many: ManyOpteq, states: Sequence[OpteqState], names: Sequence[str]
) -> list[dict[str, Measured]]:
    """Of states along a run."""
    theta = {name: np.array([state.theta[name] for state in states]) for name in states[0].theta}
    looked = many.at(theta, [state.passed[1] for state in states])
    found = {name: looked.measure(name) for name in names}
    return [{name: of[i] for name, of in found.items()} for i in range(len(states))]


class LookedOpteq(Looked):
    def __init__(self, many: ManyOpteq, theta: Params, seen: Seen):
        self.many, self.model, self.theta, self.seen = many, many.model, theta, seen
        self.Wo, self.r, self.Z = theta["Wo"], seen.r, seen.Z

    @cached_property
    def _network(self) -> Network:
        model = self.model
        found = Network(model.alpha, model.s, model.X, self.theta, model.depth)
        found.layers = [
            replace(layer, bound=self.many.norm2(self.theta, f"W{i}"))
            for i, layer in enumerate(found.layers, 1)
        ]
        return found

    @cached_property
    def _passed(self) -> Passed:
        Wo_norm = self.many.norm2(self.theta, "Wo")
        return Passed(self.model, self._network, self.seen, self.Wo, Wo_norm)

    @cached_property
    def Z_radius(self) -> np.ndarray:
        return np.broadcast_to(self._passed.Z_radius, len(self.Wo))

    @cached_property
    def _squares(self) -> np.ndarray:
        rows = self.r.reshape(len(self.r), -1)
        return np.asarray(np.add.reduce(rows * rows, axis=1))

    @property
    def gap(self) -> np.ndarray:
        return self._squares / 2

    @cached_property
    def error(self) -> np.ndarray:
        count, value = self.r[0].size, self._squares
        return np.asarray(
            errors.of_squares(count, value, np.sqrt(value), self._passed.r_radius) / 2
        )

    @property
    def radius(self) -> np.ndarray:
        return np.asarray(self._passed.radius)

    @property
    def fine(self) -> np.ndarray:
        known = np.isfinite(self.gap)
        for array in (*self.theta.values(), self.Z, self.r):
            known &= ordinary(array)
        return np.asarray(known)

    def some(self, rows: np.ndarray) -> LookedOpteq:
        r, Z, sizes = self.seen
        theta = {name: a[rows] for name, a in self.theta.items()}
        found = LookedOpteq(self.many, theta, Seen(r[rows], Z[rows], sizes[..., rows]))
        if "Z_radius" in self.__dict__:
            found.Z_radius = self.Z_radius[rows]
        return found

    def measure(self, name: str) -> Measured:
        if name != "sigma_min_Z" or self.model.N >= smallest.LARGE:
            return one_by_one((self._alone(i) for i in range(len(self.Wo))), name)
        s = self._singular
        if s is None:
            return Measured(np.zeros(len(self.Wo)), np.zeros(len(self.Wo)))
        error = self.Z_radius + errors.lapack(self.Z.shape[1:], 1.0) * s[:, 0]
        return Measured(s[:, self.model.N - 1], error, "Weyl")

    def values(self, name: str, near: Looked, rows: np.ndarray) -> np.ndarray:
        if name != "sigma_min_Z" or self.model.N >= smallest.LARGE:
            return super().values(name, near, rows)
        s = self._singular
        return np.zeros(len(self.Wo)) if s is None else s[:, self.model.N - 1]

    @cached_property
    def _singular(self) -> np.ndarray | None:
        """Of Z; None where its columns are dependent, whatever the numbers are."""
        if self._alone(0).dependent or self.model.m < self.model.N:
            return None
        return np.linalg.svd(self.Z, compute_uv=False)

    def _alone(self, i: int) -> OpteqState:
        return self.model.at({name: a[i] for name, a in self.theta.items()})
