"""The radius around an input within which the predicted class cannot change."""

from __future__ import annotations

from functools import partial

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.models.equilibrium import lipschitz
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.measured import EPS

# How much of a local gain rounding may hide, relatively.
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Radius:
    """Of one sample: the class, the smallest margin, and the certified radius (Euclidean) with the
    class that is nearest."""

    predicted: int
    margin: float
    radius: float
    other: int


class Gains:
    """The Lipschitz constants of the differences of outputs, each computed once."""

    def __init__(self, state: EquilibriumState):
        self.state = state
        self._known: dict[tuple[int, int], float] = {}

    def of(self, k: int, j: int) -> float:
        """|d(y_k - y_j)| <= g |dx|; inf where no diagonal is known."""
        at = (min(k, j), max(k, j))
        if at not in self._known:
            self._known[at] = self._computed(*at)
        return self._known[at]

    def _computed(self, k: int, j: int) -> float:
        s = self.state
        if not s.weights.diagonal.feasible:
            return np.inf
        row, D = s.C[k] - s.C[j], s.model.D[k] - s.model.D[j]
        found = lipschitz.by_diagonal(s, row[None, :], s.weights.diagonal.weights)
        return float((found + errors.frobenius(D)).high) * (1 + SLACK)


def linear_ball(state: EquilibriumState, j: int, J: np.ndarray) -> float:
    """The radius within which a ReLU network is affine: min_i |v_i|/|(W J + U)_i|; 0 for others."""
    if not state.s.piecewise:
        return 0.0
    rows = state.W @ J + state.U
    speed = np.sqrt((rows * rows).sum(axis=1)) * (1 + SLACK)
    distance = np.abs(state.equilibrium.H[:, j]) - state.H_error[:, j]
    if not (distance > 0).all():
        return 0.0
    return float((distance / np.where(speed > 0, speed, 1e-300)).min()) * (1 - SLACK)


def radius(state: EquilibriumState, j: int, gains: Gains, local: bool = True) -> Radius:
    """For the class k with the largest output: over the others i, margin/G if that is reached where
    the network is affine (G = |(C_k - C_i) J + D_k - D_i|), else rho + (margin - rho G)/g."""
    y = state.outputs[:, j]
    k = int(np.argmax(y))
    J = lipschitz.jacobian(state, j)
    rho = linear_ball(state, j, J) if local else 0.0
    best = Radius(k, np.inf, np.inf, k)
    for i in (i for i in range(len(y)) if i != k):
        row, D = state.C[k] - state.C[i], state.model.D[k] - state.model.D[i]
        size = errors.length(state.C) * errors.length(state.Z[:, j]) + float(np.abs(y).max())
        off = errors.length(row) * float(state.equilibrium.errors[j])
        off += errors.rounding(state.n + len(D), size)
        margin = float(y[k] - y[i]) - off
        G = errors.length(row @ J + D) * (1 + SLACK) + SLACK * errors.length(row)
        if margin <= 0:
            return Radius(k, margin, 0.0, i)
        found = _reached(margin, rho, G, partial(gains.of, k, i))
        if found < best.radius:
            best = Radius(k, min(best.margin, margin), found, i)
        elif margin < best.margin:
            best = Radius(k, margin, best.radius, best.other)
    return best


def _reached(margin: float, rho: float, G: float, gain: partial[float]) -> float:
    if margin <= rho * G:
        return margin / G * (1 - 8 * EPS)
    g = gain()
    beyond = (margin - rho * G) / g if g > 0 else np.inf
    return float(rho + beyond) * (1 - 8 * EPS)
