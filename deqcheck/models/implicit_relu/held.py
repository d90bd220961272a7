"""The ReLU implicit network with every unit of both layers held on a side of its kink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.models.relu_held import HeldRelu

if TYPE_CHECKING:
    from deqcheck.models.implicit_relu.state import ImplicitReluState


class HeldImplicit(HeldRelu):
    """The kinks of the outer layer, then those of relu(X W), each unit by unit."""

    def __init__(self, state: ImplicitReluState, above: np.ndarray):
        m, N = state.m, state.N
        self.implicit, self.outer = state, m * N
        state.on = above[self.outer :].reshape(m, N).T
        super().__init__(state, above)
        self.heights = np.concatenate([self.heights, state.XW.T.ravel()])

    def row(self, kink: int) -> Params:
        """X W moves with W alone."""
        if kink < self.outer:
            return super().row(kink)
        unit, sample = divmod(kink - self.outer, self.n)
        found = {name: np.zeros_like(a) for name, a in self.state.theta.items()}
        found["W"][:, unit] = self.implicit.X[sample]
        return found

    def pulls(self, kinks: Sequence[int]) -> np.ndarray:
        """What an inner unit passes on is the drive of an outer one."""
        found = np.zeros(len(kinks))
        outer = [i for i, kink in enumerate(kinks) if kink < self.outer]
        found[outer] = super().pulls([kinks[i] for i in outer])
        E = np.bincount(self.state.alike[: self.outer], self.E.ravel(), self.outer)
        for i in set(range(len(kinks))) - set(outer):
            found[i] = E[kinks[i] - self.outer]
        return found

    def couplings(self, kinks: Sequence[int]) -> np.ndarray:
        found = np.zeros((len(kinks), len(kinks)))
        units, samples = np.divmod(np.array(kinks, dtype=int) % self.outer, self.n)
        inner = np.array(kinks) >= self.outer
        for i in np.flatnonzero(~inner).tolist():
            sample, u = self._moves(kinks[i])
            moved = np.where(inner, u[units], (self.W.T @ u)[units])
            found[i] = np.where(samples == sample, moved, 0.0)
        return found
