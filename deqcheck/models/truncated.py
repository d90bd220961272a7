"""A ReLU equilibrium model whose equilibria are replaced by what a few sweeps make of 0.

The outputs and the loss are those of Z^l, the gradient is the formula of the equilibrium model with
Z^l in place of the equilibrium: that of implicit differentiation, and no derivative of the loss.
"""

from __future__ import annotations

import numpy as np

from deqcheck.linalg.certificates import Swept
from deqcheck.linalg.relu_equilibrium import Equilibrium
from deqcheck.linalg.sweeps import swept
from deqcheck.models.memory import Memory
from deqcheck.models.problem import BuiltModel, NoEquilibrium, Objective, Params, State
from deqcheck.models.relu_model import ReluModel
from deqcheck.models.relu_state import ReluState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured

SWEEPS = "forward.sweeps"


class TruncatedModel(BuiltModel["TruncatedState"]):
    def __init__(self, model: ReluModel[ReluState], tolerance: float, sweeps: int):
        self.kind, self.loss_kind, self.model = model.kind, model.loss_kind, model
        self.tolerance, self.sweeps = tolerance, sweeps

    @property
    def samples(self) -> int:
        return self.model.samples

    @property
    def infimum(self) -> Measured:
        return self.model.infimum

    def at(self, theta: Params, memory: Memory | None = None) -> TruncatedState:
        return TruncatedState(self, theta, memory)

    def explicit_gradient(self, theta: Params) -> Params:
        return self.at(theta).objective.gradient


class TruncatedState(State):
    """What is measured is measured at the equilibrium, where there is one; the loss, its gradient
    and the number of sweeps are those of the sweeps."""

    def __init__(self, model: TruncatedModel, theta: Params, memory: Memory | None = None):
        self.model, self.theta = model, theta
        self._exact: ReluState = model.model.at(theta, memory)

    @cached_property
    def inner(self) -> ReluState:
        """The state of the equilibrium model with Z^l in it."""
        found: ReluState = self.model.model.at(self.theta)
        W, C, W_radius, C_radius, support = found.canonical
        about = Equilibrium(
            W, C, C, Swept(np.inf), W_radius=W_radius, C_radius=C_radius, support=support
        )
        with np.errstate(all="ignore"):
            found.equilibrium = swept(about, self.model.tolerance, self.model.sweeps)
        return found

    @property
    def objective(self) -> Objective:
        with np.errstate(all="ignore"):
            return self.inner.objective

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        return self.inner.gradient_of(weights)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._exact.names, SWEEPS)

    def measure(self, name: str) -> Measured:
        if name == SWEEPS:
            return Measured(float(self.inner.equilibrium.sweeps))
        if name == "loss":
            return self.inner.loss
        try:
            return self._exact.measure(name)
        except NoEquilibrium:
            return Measured(np.nan, np.inf, "no equilibrium")
