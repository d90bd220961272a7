"""Deep equilibrium linear models of one shape, descending side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deqcheck.linalg.stacked import Places, lengths, slices
from deqcheck.models.delm.radii import SAFE_EXPONENT, gradient_radii
from deqcheck.models.delm.side_by_side import SideBySide
from deqcheck.models.problem import Params
from deqcheck.models.stack import Measurements, Numbers, Stack, StackState

if TYPE_CHECKING:
    from deqcheck.models.delm.model import DelmModel
    from deqcheck.models.delm.state import DelmState


class StackedDelm(Stack):
    # Spectra need nothing of what a gradient needs but S, U and Z, which are had soon.
    later: ClassVar[bool] = True

    @property
    def names(self) -> Sequence[str]:
        return tuple(SideBySide.measures)

    def __init__(self, models: Sequence[DelmModel]):
        self.models, self.m, self.my = models, models[0].m, models[0].my
        self.gamma = np.array([model.gamma for model in models])
        self.z_error = np.array([model.z_error for model in models])
        self.inverse = np.sqrt(self.m) / (1 - self.gamma)
        self.identity = np.eye(self.m)
        self.most = slices(self.m, self.my)

    def at(self, theta: Params, near: Places) -> StackedDelmState:
        return StackedDelmState(self, theta)

    def first(self, starts: Sequence[DelmState]) -> tuple[np.ndarray, np.ndarray]:
        return no_patterns(len(starts)), np.ones(len(starts), dtype=bool)

    def kept(self, kept: np.ndarray) -> StackedDelm:
        return StackedDelm([self.models[i] for i in np.flatnonzero(kept).tolist()])

    def measured(self, theta: Params, slices: np.ndarray, names: Sequence[str]) -> Measurements:
        models = [self.models[i] for i in slices.tolist()]
        stack = SideBySide(models, theta["A"], theta["B"])
        columns = {name: SideBySide.measures[name](stack) for name in names}
        numbers = {name: Numbers(c.value, c.error) for name, c in columns.items()}
        return Measurements(numbers, stack.fine)


def no_patterns(count: int) -> np.ndarray:
    return np.zeros((count, 0, 0), dtype=bool)


class StackedDelmState(StackState):
    """The formulas of `DelmModel.objective`, which is the twin in the tests."""

    def __init__(self, stack: StackedDelm, theta: Params):
        self.stack = stack
        A, B = theta["A"], theta["B"]
        self.mask = no_patterns(len(A))
        self.fine = lengths(A) < SAFE_EXPONENT
        if not self.fine.all():
            # A state alone would shift such exponents, or know nothing of them.
            A = A * self.fine[:, None, None]
        E = np.exp(A)
        E *= (stack.gamma[:, None] / np.add.reduce(E, axis=1))[:, None, :]
        U = stack.identity - E
        Zt = np.linalg.solve(U.transpose(0, 2, 1), B.transpose(0, 2, 1))
        Z = Zt.transpose(0, 2, 1)
        self._evaluate(np.ascontiguousarray(Z))
        G = np.linalg.solve(U, self._Q.transpose(0, 2, 1)).transpose(0, 2, 1)
        mean = np.add.reduce((Z - B) * G, axis=1) / stack.gamma[:, None]
        P = Zt @ G
        P -= mean[:, None, :]
        P *= E
        parts = {"A": P, "B": G}
        self.gradient = np.concatenate([parts[n].reshape(len(A), -1) for n in theta], axis=1)
        sizes = lengths(B), self._z, lengths(np.ascontiguousarray(G))
        radii = gradient_radii(self.stack, *sizes, self._Q_error, stack.inverse)
        self.radius: np.ndarray = np.hypot(*radii)
        self.fine &= np.isfinite(self.gap + self.error + self.radius)

    def _evaluate(self, Z: np.ndarray) -> None:
        self._z = lengths(Z)
        radii = (self.stack.z_error * self._z).tolist()
        at = zip(self.stack.models, Z, self._z.tolist(), radii, strict=True)
        rows = [model.outer.evaluate(W, size, radius) for model, W, size, radius in at]
        self.gap = np.array([row.gap for row in rows])
        self.error = np.array([row.error for row in rows])
        self._Q = np.stack([row.gradient for row in rows])
        self._Q_error = np.array([row.gradient_error for row in rows])

    def measure(self, name: str) -> Numbers:
        raise NotImplementedError("quantities are measured later")
