"""Stochastic gradient descent with batches and momentum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.perturbed_run import PerturbedRun
from deqcheck.dynamics.recorder import OnProgress, silent
from deqcheck.dynamics.steps import Here, walk
from deqcheck.fields import integer, number
from deqcheck.kinds import Dynamics
from deqcheck.models.problem import AnyProblem, norm, pack
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng


@dataclass(frozen=True)
class StochasticDescent(Dynamics):
    """v <- momentum v + g, theta <- theta - step v (PyTorch's convention, v = 0 at first).

    g is n/|batch| times the gradient of the batch's part of the loss, whose mean is the whole
    gradient. An epoch goes through the n samples once in random order, its last batch may be
    smaller. Recorded is the loss of all samples, at every step. Statements about gradient descent
    or flow do not apply, unless each batch holds all samples and there is no momentum.
    """

    kind: ClassVar[str] = "sgd"
    step: float = number(above=0, doc="step size")
    steps: int = integer(at_least=1, at_most=100_000_000, doc="how many steps")
    batch: int = integer(at_least=1, doc="samples in each step")
    momentum: float = number(at_least=0, below=1, default=0.0, doc="share of v that is kept")

    def faults(self, problem: AnyProblem) -> Iterable[tuple[str, str]]:
        kind, samples = problem.model.kind, problem.model.samples
        if not samples:
            yield "kind", f"{kind!r} has no gradient of a batch; expected gd or flow"
        elif self.batch > samples:
            yield "batch", f"{self.batch} is out of range; expected at most the {samples} samples"

    def departures(self, problem: AnyProblem) -> dict[str, float]:
        return {
            "batch": self.batch,
            "samples": problem.model.samples,
            "momentum": self.momentum,
        }

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        return walk(problem, self, Batches(problem, self), tracks, report)


def batches(seed: int, samples: int, batch: int) -> Iterator[np.ndarray]:
    """The samples of each step: without replacement within an epoch."""
    stream = rng(seed, "sgd.batches")
    while True:
        order = stream.permutation(samples)
        for first in range(0, samples, batch):
            yield order[first : first + batch]


class Batches:
    """The steps of one run; the perturbed run sees the same batches."""

    def __init__(self, problem: AnyProblem, train: StochasticDescent):
        self.step, self.steps, self.momentum = train.step, train.steps, train.momentum
        self.samples = problem.model.samples
        self._batches = batches(problem.seed, self.samples, train.batch)
        self.x = pack(problem.theta0)
        self._velocity = np.zeros_like(self.x)
        self.perturbed: PerturbedRun | None = PerturbedRun(problem, self.step, self.momentum)

    def at(self, i: int) -> tuple[int, float]:
        return i, i * self.step

    def go_on(self, here: Here) -> None:
        batch = next(self._batches)
        weights = np.zeros(self.samples)
        weights[batch] = self.samples / len(batch)
        gradient, radius = here.state.gradient_of(weights)
        self._velocity = self.momentum * self._velocity + pack(gradient)
        self.x = self.x - self.step * self._velocity
        beside = self.perturbed
        if beside is not None and not beside.precision_lost:
            other = pack(here.other.gradient_of(weights)[0])
            beside.follow(here.k, self.x, norm(self._velocity), radius, other)
