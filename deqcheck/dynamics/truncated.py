"""Gradient descent with equilibria that a few sweeps only approach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.recorder import OnProgress, silent
from deqcheck.dynamics.steps import Descent, walk
from deqcheck.fields import integer, number
from deqcheck.kinds import Dynamics
from deqcheck.models.problem import AnyProblem
from deqcheck.models.relu_model import ReluModel
from deqcheck.models.truncated import SWEEPS, TruncatedModel
from deqcheck.records.trajectory import Trajectory


@dataclass(frozen=True)
class TruncatedDescent(Dynamics):
    """theta <- theta - step * gradient, with Z^l in place of the equilibrium, where
    Z^l = relu(W Z^(l-1) + U X), Z^0 = 0, and l is the first with |Z^l - Z^(l-1)|_F <= tolerance, or
    `sweeps` (Gao and Gao 2022, Table 1).

    The gradient is the formula of the equilibrium model at Z^l. Recorded are the loss of Z^l and
    l itself (`forward.sweeps`). It goes on where there is no equilibrium. Statements about gradient
    descent or flow do not apply. For the ReLU models.
    """

    kind: ClassVar[str] = "truncated"
    step: float = number(above=0, doc="step size")
    steps: int = integer(at_least=1, at_most=100_000_000, doc="how many steps")
    tolerance: float = number(above=0, default=1e-2, doc="the sweeps end when they move by less")
    sweeps: int = integer(at_least=1, at_most=1_000_000, default=100, doc="at most so many sweeps")

    def faults(self, problem: AnyProblem) -> Iterable[tuple[str, str]]:
        if not isinstance(problem.model, ReluModel):
            kind = problem.model.kind
            yield "kind", f"{kind!r} has no sweeps Z <- relu(W Z + C); expected gd, sgd or flow"

    def departures(self, problem: AnyProblem) -> dict[str, float]:
        return {"tolerance": self.tolerance}

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        model = TruncatedModel(problem.model, self.tolerance, self.sweeps)
        problem = replace(problem, model=model)
        steps = Descent(problem, self.step, self.steps)
        run = walk(problem, self, steps, (*tracks, SWEEPS), report)
        counts = run.series[SWEEPS].value.value if SWEEPS in run.series else np.zeros(0)
        if not counts.size:
            return run
        told = f"sweeps: {counts.mean():.4g} in the mean, {counts.min():g} to {counts.max():g}"
        return replace(run, notes=(*run.notes, told))
