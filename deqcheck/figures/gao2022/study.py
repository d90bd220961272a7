"""What the figures of Section 7 share: train loss, test loss and gamma |A(k)| along runs that
differ in one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Sizes, Work
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress, losses, problem, trained
from deqcheck.models.problem import AnyProblem
from deqcheck.models.truncated import SWEEPS, TruncatedModel
from deqcheck.records.figure import Axes, Line
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory

INIT = {"kind": "each", "W": {"kind": "gaussian", "fan": "in"}, "A": "identity", "b": "zero"}
# The paper's solver: sweeps from 0 until they move by less, and at most so many.
TOLERANCE, MOST = 1e-2, 100
FOUR = ("mnist", "fashion-mnist", "cifar10", "svhn")


def samples(s: Setup, name: str, split: str) -> dict[str, np.ndarray]:
    """Classes 0 and 1, grey, of unit norm; the labels are 1 and -1, which the paper leaves open."""
    images = s.shelf.take(name, split, s["n"], 0, (0, 1))
    X = rows(images, s["side"], gray=True)
    y = np.where(images.labels == 0, 1.0, -1.0)
    return {"X": X / np.linalg.norm(X, axis=1, keepdims=True), "y": y}


class Study(Figure):
    """Epochs of gradient descent from A = I, b = 0, W normal with variance 1/m, with the paper's
    solver; steps are given as multiples of 1/N."""

    quick: ClassVar[Sizes] = {
        "n": 40,
        "side": 7,
        "width": 60,
        "gamma": 0.1,
        "step": 1.0,
        "epochs": 120,
    }
    full: ClassVar[Sizes] = {
        "n": 1000,
        "side": 28,
        "width": 1000,
        "gamma": 0.1,
        "step": 1.0,
        "epochs": 500,
    }
    images: ClassVar[tuple[str, ...]] = ("mnist",)
    columns = 3
    # Which of the sizes is varied, how it is called, and the values of the quick size by name.
    varied: ClassVar[str]
    symbol: ClassVar[str]

    def values(self, s: Setup) -> tuple[Any, ...]:
        return tuple(s[f"{self.varied}s"])

    def parts(self, s: Setup) -> Mapping[str, Work]:
        return {
            f"{name} {self.symbol} = {value:g}": partial(self.run, s, name, value)
            for name in self.images
            for value in self.values(s)
        }

    def cost(self, s: Setup, part: str) -> float:
        """Products of A with the features."""
        return float(part.rpartition("= ")[2]) ** 2 if self.varied == "width" else 1.0

    def problem(self, s: Setup, name: str, split: str, value: Any) -> AnyProblem:
        chosen = {**s.sizes, self.varied: value}
        model = {"kind": "implicit-relu", "gamma": chosen["gamma"], "width": chosen["width"]}
        return problem(model, samples(s, name, split), INIT)

    def run(self, s: Setup, name: str, value: Any, progress: OnProgress) -> Made:
        chosen = {**s.sizes, self.varied: value}
        p = self.problem(s, name, "train", value)
        step = chosen["step"] / s["n"]
        train = {"kind": "truncated", "step": step, "steps": s["epochs"], "tolerance": TOLERANCE}
        run = trained(p, {**train, "sweeps": MOST}, progress, ("gamma0",), states=80)
        made = losses(run, "gamma0", SWEEPS)
        # At b = 0 only the read-out moves, and the curvature of the loss is |Z|^2.
        made["curvature"] = np.array([step * float(np.linalg.norm(p.start.Z, 2)) ** 2])
        return made | self.tested(self.problem(s, name, "test", value), run)

    def tested(self, p: AnyProblem, run: Trajectory) -> Made:
        """The loss on unseen samples at the states that were kept."""
        model = TruncatedModel(p.model, TOLERANCE, MOST)
        found = [model.at(dict(theta)).measure("loss") for theta in run.states.values()]
        return {
            "test.k": run.k[list(run.states)].astype(float),
            "test": np.array([float(each.value) for each in found]),
            # At the parameters that the run computed.
            "test.error": np.array([float(each.error) for each in found]),
        }

    def of(self, s: Setup, made: Mapping[str, Made], name: str) -> dict[Any, Made]:
        return {value: made[f"{name} {self.symbol} = {value:g}"] for value in self.values(s)}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        for name in self.images:
            runs = self.of(s, made, name)
            for what, label, log in (
                ("loss", "train loss", True),
                ("test", "test loss", True),
                ("gamma0", "operator norm", False),
            ):
                lines = [
                    Line(
                        f"{self.symbol} = {self.shown(s, value)}" if what == "loss" else "",
                        run.get(f"{what}.k", run["k"]),
                        run[what],
                    )
                    for value, run in runs.items()
                ]
                title = s.shelf.title(name) if what == "loss" else ""
                yield Axes(title, "epoch", label, tuple(lines), log_y=log)

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        told = ", ".join(f"{run['curvature'][0]:.2g} ({name})" for name, run in made.items())
        yield f"eta times the largest curvature at the start, above 2 nothing descends: {told}"

    def shown(self, s: Setup, value: Any) -> str:
        return f"{value:g}"

    def steps_up(self, s: Setup, made: Mapping[str, Made]) -> Iterable[tuple[str, Made, Made]]:
        """Neighbouring values, the smaller one first."""
        for name in self.images:
            for (low, first), (high, second) in pairwise(sorted(self.of(s, made, name).items())):
                yield f"{name}, {self.symbol} = {high:g} and {low:g}", first, second


def numbers(run: Made, name: str) -> Measured:
    return Measured(run[name], run[f"{name}.error"])
