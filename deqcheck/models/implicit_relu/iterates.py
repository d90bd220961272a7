"""The forward iteration (1) of Gao and Gao 2022, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.measured import Measured

if TYPE_CHECKING:
    from deqcheck.models.implicit_relu.state import ImplicitReluState

# Sweeps whose states are looked at.
SWEEPS = 20
# Section 7 stops the forward iteration here.
TOLERANCE, CAP = 1e-2, 100


class Iterates:
    """The forward iteration from 0, with the rounding of each sweep carried along."""

    def __init__(self, state: ImplicitReluState):
        self.state = state
        self.q = float(state.gamma0.high)

    def _sweeps(self) -> Iterable[tuple[int, np.ndarray, float]]:
        s = self.state
        scale, Z = s.gamma * s.A, s.Phi
        # One sweep multiplies the error by at most q and adds its own rounding. That goes by the
        # iterate at hand: where q is 1 or more, nothing bounds all of them.
        size, stretch = euclidean(s.Phi), euclidean(scale)
        radius = s.Phi_radius
        for sweep in range(1, CAP + 1):
            yield sweep, Z, radius
            noise = errors.product(s.m, stretch * euclidean(Z) + size)
            Z = relu(Z @ scale + s.Phi)
            radius = self.q * radius + s.Phi_radius + noise

    def norms(self) -> Iterable[tuple[int, Measured, Measured]]:
        """l, |Z^l|_F and |Z - Z^l|_F, as long as the latter can be told from rounding."""
        s = self.state
        limit, node = exact.transpose(s.again.Z), s.computed.Phi
        for sweep, Z, radius in self._sweeps():
            if sweep > 1:
                node = s.computed.swept(node)
            apart = exact.minus(limit, node)
            away = errors.frobenius(s.Z.T - Z, radius + s.equilibrium.error, apart)
            if sweep > SWEEPS or (sweep > 1 and away.error > 1e-6 * away.value):
                return
            yield sweep, errors.frobenius(Z, radius, node), away

    def count(self, norm: Callable[[np.ndarray, float], Measured] = errors.frobenius) -> int | None:
        """Sweeps until |Z^(l+1) - Z^l| <= 1e-2, where Z^0 = 0; None if it is not certain."""
        last, radius_last = np.zeros_like(self.state.Phi), 0.0
        for sweep, Z, radius in self._sweeps():
            moved = norm(Z - last, radius + radius_last)
            if moved.low <= TOLERANCE:
                return sweep if moved.high <= TOLERANCE else None
            last, radius_last = Z, radius
        return None

    @property
    def measured_count(self) -> Measured:
        """The count in the operator norm; anything up to CAP where it is not certain."""
        found = self.count(errors.norm2)
        return Measured((1 + CAP) / 2, (CAP - 1) / 2) if found is None else Measured(float(found))
