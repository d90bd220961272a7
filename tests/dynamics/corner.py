"""A loss with one kink whose flow is known: pull relu(p) - p q + k (q - c)^2/2 + lift.

Off the kink dp/dt = q, on it dp/dt = q - pull, and dq/dt = p - k (q - c) always: linear equations.
The flow slides at p = 0 while 0 <= q <= pull, where q tends to c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from deqcheck.models.memory import Memory
from deqcheck.models.problem import BuiltModel, Held, Kinks, Objective, Params, Problem, State
from deqcheck.records.measured import Measured

LIFT = 100.0


@dataclass
class Corner(BuiltModel["CornerState"]):
    pull: float = 2.0
    k: float = 1.0
    c: float = 3.0
    kind = "corner"
    loss_kind = "corner"

    @property
    def infimum(self) -> Measured:
        return Measured(0.0)

    def at(self, theta: Params, memory: Memory | None = None) -> CornerState:
        return CornerState(self, theta)

    def explicit_gradient(self, theta: Params) -> Params:
        return self.at(theta).gradient(theta["x"][0] > 0)

    def flow(self, x: np.ndarray, on: bool, t: float) -> np.ndarray:
        """On one side, in closed form."""
        A = np.array([[0.0, 1.0], [1.0, -self.k]])
        b = np.array([-self.pull * on, self.k * self.c])
        rest = np.linalg.solve(A, -b)
        found: np.ndarray = rest + scipy.linalg.expm(A * t) @ (x - rest)
        return found

    def met(self, x: np.ndarray, on: bool, end: float) -> float:
        """When p = 0, on one side."""
        return float(scipy.optimize.brentq(lambda t: self.flow(x, on, t)[0], 0, end, xtol=1e-15))

    def sliding(self, q: float, t: float) -> np.ndarray:
        return np.array([0.0, self.c + (q - self.c) * np.exp(-self.k * t)])


class CornerState(State):
    def __init__(self, model: Corner, theta: Params, slope: float | None = None):
        self.model, self.theta, self._slope = model, theta, slope
        self.p, self.q = theta["x"]

    def gradient(self, slope: float) -> Params:
        m = self.model
        return {"x": np.array([slope * m.pull - self.q, m.k * (self.q - m.c) - self.p])}

    @property
    def loss(self) -> float:
        m = self.model
        bend = m.k * (self.q - m.c) ** 2 / 2
        return float(m.pull * max(self.p, 0.0) - self.p * self.q + bend + LIFT)

    @property
    def objective(self) -> Objective:
        slope = float(self.p > 0) if self._slope is None else self._slope
        return Objective(self.loss, 1e-13 * LIFT, self.gradient(slope))

    @property
    def names(self) -> tuple[str, ...]:
        return ("loss",)

    def measure(self, name: str) -> Measured:
        return Measured(self.loss)

    @property
    def kinks(self) -> Kinks:
        height = np.array([self.p])
        return Kinks(height > 0, int(self.p == 0), np.zeros(1, dtype=int), height)

    def held(self, above: np.ndarray) -> Held:
        return HeldCorner(self, bool(above[0]))

    def with_slopes(self, slopes: np.ndarray) -> CornerState:
        return CornerState(self.model, self.theta, float(slopes[0]))


class HeldCorner(Held):
    def __init__(self, state: CornerState, on: bool):
        self.heights = np.array([state.p])
        self.gradient = state.gradient(on)
        self.residual, self.rounding = 1.0, 1e-15
        self.speed, self.gain = 1.0, abs(state.model.pull)
        self.pull = state.model.pull

    def row(self, kink: int) -> Params:
        return {"x": np.array([1.0, 0.0])}

    def pulls(self, kinks: Sequence[int]) -> np.ndarray:
        return np.full(len(kinks), self.pull)

    def couplings(self, kinks: Sequence[int]) -> np.ndarray:
        return np.zeros((len(kinks), len(kinks)))


def corner(p: float, q: float, **fields: float) -> Problem:
    return Problem(Corner(**fields), {"x": np.array([p, q])}, record_points=40)
