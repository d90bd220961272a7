"""The ReLU deep equilibrium model of the paper: what its statements apply to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, TypeAlias

from deqcheck.models import problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.theorems import base, frequency

State: TypeAlias = ReluDeqState
Problem: TypeAlias = problem.Problem[ReluDeqModel, ReluDeqState]


class Statement(base.Statement[ReluDeqModel, ReluDeqState]):
    models = ("relu-deq",)


def without_sigma(p: Problem) -> Iterable[str]:
    """Why a statement about sigma_w cannot be looked at, where the case does not give it."""
    if p.model.sigma_w2 is None:
        yield "it speaks of sigma_w, which the case does not give: set model.sigma_w2"


class Draws(frequency.Frequency[ReluDeqModel, ReluDeqState]):
    """A statement that holds with some probability under Assumption 1."""

    models = Statement.models
    # The free constants with their defaults, and those that must be positive.
    defaults: ClassVar[Mapping[str, float]] = {}
    above_0: ClassVar[tuple[str, ...]] = ()

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return {name: self.fixed.get(name, value) for name, value in self.defaults.items()}

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        for name in self.above_0:
            if not self.fixed.get(name, 1.0) > 0:
                value = self.fixed[name]
                yield f"{self.id}: {name} = {value:g} is not positive; expected a number > 0"

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p) if self.counted else ()
