"""The equilibrium of a ReLU network on its active units, in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.minors import block
from deqcheck.linalg.rational import rows_of
from deqcheck.linalg.spectra import eliminated
from deqcheck.models.equilibrium.state import EquilibriumState

MOST = 40


@dataclass(frozen=True, eq=False)
class OnPattern:
    """z with (I - W_AA) z_A = c_A and 0 elsewhere, and W z + c."""

    z: list[Fraction]
    h: list[Fraction]
    active: list[int]

    @property
    def least_active(self) -> Fraction:
        return min((self.z[i] for i in self.active), default=Fraction(0))

    @property
    def largest_inactive(self) -> Fraction:
        on = set(self.active)
        return max((x for i, x in enumerate(self.h) if i not in on), default=Fraction(0))

    @property
    def residual(self) -> Fraction:
        """max_i |z_i - relu(W z + c)_i|."""
        return max(abs(z - max(h, Fraction(0))) for z, h in zip(self.z, self.h, strict=True))

    @property
    def kink(self) -> Fraction:
        """min |W z + c|."""
        return min(abs(x) for x in self.h)


def on_pattern(state: EquilibriumState, j: int) -> OnPattern | None:
    """On the units that are active in doubles; None where the system is singular."""
    W, n = rows_of(state.W), state.n
    x = [Fraction(float(a)) for a in state.model.X[:, j]]
    c = [
        sum((u * a for u, a in zip(row, x, strict=True)), Fraction(float(b)))
        for row, b in zip(rows_of(state.U), state.model.b, strict=True)
    ]
    active = np.flatnonzero(state.equilibrium.H[:, j] > 0)
    z = [Fraction(0)] * n
    if len(active):
        both = [[*row, c[i]] for row, i in zip(block(state.W, active), active, strict=True)]
        found = eliminated(both)
        if found.pivots != list(range(len(active))):
            return None
        for row, i in zip(found.R, active, strict=True):
            z[i] = row[-1]
    used = [k for k in range(n) if z[k]]
    h = [sum((row[k] * z[k] for k in used), a) for row, a in zip(W, c, strict=True)]
    return OnPattern(z, h, active.tolist())
