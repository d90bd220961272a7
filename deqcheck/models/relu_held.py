"""A ReLU equilibrium model with every unit held on a side of its kink: linear in each sample.

On the pattern S the state is z_S = (I - W_SS)^-1 c_S and the pre-activations are h = W z + c. That
of unit i moves with its sample's drive by u = e_i + v, v_S = (I - W_SS)^-T W_iS: so its gradient is
made like that of the loss, with u in place of the adjoints E of that one sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg.patterns import Patterns
from deqcheck.linalg.relu_equilibrium import adjoint_on, state_on
from deqcheck.models.problem import Held, Params, norm
from deqcheck.records.measured import EPS

if TYPE_CHECKING:
    from deqcheck.models.relu_state import ReluState


class HeldRelu(Held):
    """The kinks are those of the canonical form, unit by unit."""

    def __init__(self, state: ReluState, above: np.ndarray):
        self.state, self.a = state, state.a
        self._moved: dict[int, np.ndarray] = {}
        W, C = state.system
        self.W, self.n = W, C.shape[1]
        with np.errstate(all="ignore"):
            self.patterns = Patterns(W, above[: C.size].reshape(C.shape), factorised=True)
            self.Z = state_on(self.patterns, C)
            H = W @ self.Z + C
            r = self.Z.T @ self.a - state.y
            self.r, self.E = r, adjoint_on(self.patterns, self.a) * r
            self.heights = H.ravel()
            self.gradient = state.assembled(self.Z, self.E, r)
            self.residual = norm(r)
            self.speed, self.gain = norm(self.Z), norm(self.a)
            self.rounding = 4 * EPS * len(r) * (norm(self.a) * norm(self.Z) + norm(state.y))

    def _moves(self, kink: int) -> tuple[int, np.ndarray]:
        """The sample of a kink, and how its height moves with that sample's drive."""
        unit, sample = divmod(kink, self.n)
        u = self._moved.get(kink)
        if u is None:
            u = self._moved[kink] = self.patterns.one_adjoint(sample, self.W[unit])
            u[unit] += 1.0
        return sample, u

    def row(self, kink: int) -> Params:
        sample, u = self._moves(kink)
        at = slice(sample, sample + 1)
        return self.state.assembled(self.Z[:, at], u[:, None], np.zeros(1), at)

    def pulls(self, kinks: Sequence[int]) -> np.ndarray:
        """r_j (a + W^T v_j) for each unit, over all samples that are alike."""
        incoming = (self.a[:, None] * self.r + self.W.T @ self.E).ravel()
        every = np.bincount(self.state.alike[: incoming.size], incoming, incoming.size)
        found: np.ndarray = every[list(kinks)]
        return found

    def couplings(self, kinks: Sequence[int]) -> np.ndarray:
        found = np.zeros((len(kinks), len(kinks)))
        units, samples = np.divmod(np.array(kinks, dtype=int), self.n)
        for i, kink in enumerate(kinks):
            sample, u = self._moves(kink)
            found[i] = np.where(samples == sample, (self.W.T @ u)[units], 0.0)
        return found
