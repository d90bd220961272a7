"""One instance to be checked: a model with its data, where it starts and how it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from deqcheck.records.measured import Measured
from deqcheck.records.report import Origin
from deqcheck.records.verdict import Status
from deqcheck.records.words import dynamics

Params = dict[str, np.ndarray]


class Objective(NamedTuple):
    """The loss above its infimum, the radius of that number, and the gradient; on demand also the
    gradient's Frobenius radius, for models that know it at little cost."""

    gap: float
    error: float
    gradient: Params
    radius: Callable[[], float] | None = None


class State(Protocol):
    """A model at given parameters; whatever is asked for is computed then, and once."""

    names: tuple[str, ...]
    theta: Params

    @property
    def objective(self) -> Objective: ...

    @property
    def kinks(self) -> Kinks | None:
        """None for a smooth model."""
        ...

    def measure(self, name: str) -> Measured: ...


class Model(Protocol):
    """A model with its data and loss."""

    kind: str
    loss_kind: str
    # The infimum of the loss that the theorems compare with (0 where they compare with none).
    infimum: Measured

    def at(self, theta: Params) -> State: ...

    def objective(self, theta: Params) -> Objective:
        """at(theta).objective"""
        ...

    def explicit_gradient(self, theta: Params) -> Params: ...


class Kinks(NamedTuple):
    """Of a piecewise smooth model: the piece that the parameters lie on, and exact zeros."""

    pattern: np.ndarray
    zeros: int


class NoEquilibrium(Exception):
    """The equilibrium equation could not be solved to a certified accuracy."""

    status: ClassVar[Status] = Status.NO_EQUILIBRIUM


class NotCertified(NoEquilibrium):
    """Equilibria may exist, but none is known to be the only one; the text tells what is known."""

    status = Status.NOT_CERTIFIED


@dataclass(frozen=True, repr=False, eq=False)
class Problem:
    """A model with its data, where it starts and how it is trained, if at all."""

    model: Any
    theta0: Params
    train: Any = None
    seed: int = 0
    record_points: int = 200
    # Another model on the same data, trained for comparison only.
    companion: Problem | None = None
    # Where it comes from, for reports.
    origin: Origin | None = None

    def trained_by(self, train: Any) -> Problem:
        """The same problem with other dynamics."""
        if train is self.train:
            return self
        origin = None if self.origin is None else self.origin.with_train(train)
        return replace(self, train=train, origin=origin)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {'x'.join(map(str, s))}" for n, s in self.shapes.items())
        return f"<Problem {self.model.kind}, {self.dynamics}: {sizes}>"

    @cached_property
    def start(self) -> Any:
        """The model at its initial parameters."""
        return self.model.at(self.theta0)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the parameters: the width of a model may be known from them alone."""
        return {name: a.shape for name, a in self.theta0.items()}

    @property
    def loss(self) -> str:
        return str(self.model.loss_kind)

    @property
    def dynamics(self) -> str:
        """flow, gd or static."""
        return dynamics(self.train)

    @property
    def step(self) -> float:
        """Step size of the dynamics; a flow is the limit 0."""
        return float(getattr(self.train, "step", 0.0))


def gradient_radius(state: State) -> float:
    radius = state.objective.radius
    return float(state.measure("gradient").error) if radius is None else radius()


def pack(theta: Params) -> np.ndarray:
    return np.concatenate([a.ravel() for a in theta.values()])


def unpack(x: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> Params:
    theta, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        theta[name] = x[at : at + size].reshape(shape)
        at += size
    return theta


def norm(x: np.ndarray) -> float:
    return math.sqrt(np.vdot(x, x))


def gradient_norm(gradient: Params) -> float:
    return math.sqrt(sum(np.vdot(g, g) for g in gradient.values()))


def quantities(state: State, names: Iterable[str] | None = None) -> dict[str, Measured]:
    return {name: state.measure(name) for name in (names or state.names)}
