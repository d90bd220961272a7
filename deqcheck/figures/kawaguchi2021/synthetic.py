"""What Figures 2(a) and 2(b) share: several starts on one data set, beside a residual network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from deqcheck.data.drawn import GaussianData, UniformData
from deqcheck.figures.base import Figure, Made, Setup, Sizes, Work
from deqcheck.figures.runs import at, losses, problem, trained
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.records.measured import Measured
from deqcheck.targets import NegatedInput
from deqcheck.theorems.base import Check

# Unstated in the paper and chosen here: gamma (named only in appendix D), the steps, the network's
# depth and its fixed identity input and output maps.
GAMMA, DEPTH = 0.8, 5
ARRIVED = (
    "read off at the last step, which has arrived if at most a thousandth of the gap is left, our "
    "threshold"
)
UNSTATED = "the network's depth and step are not stated in the paper"
RESNET_STEP = 1e-4
RESNET = "linear ResNet (identity)"
STARTS = {
    "DELM (identity)": ("identity", 0),
    "DELM (random 1)": ({"kind": "gaussian", "fan": "in"}, 1),
    "DELM (random 2)": ({"kind": "gaussian", "fan": "in"}, 2),
    "DELM (random 3)": ({"kind": "gaussian", "fan": "in"}, 3),
}


class Starts(Figure):
    """DELM from four starts and a linear residual network from the identity, on one data set."""

    quick: ClassVar[Sizes] = {"n": 1000, "dim": 10, "steps": 2000, "step": 1e-5}
    full: ClassVar[Sizes] = quick
    columns = 1
    # Of the inputs.
    law: ClassVar[type[GaussianData] | type[UniformData]]
    # Whether the paper finds the residual network at the optimum.
    resnet_arrives: ClassVar[bool]

    arrives = Check("at most a thousandth of the gap is left", "gap_end <= gap_0/1000")
    stays = Check("more than a thousandth of the gap is left", "gap_end > gap_0/1000")

    def data(self, s: Setup) -> dict[str, np.ndarray]:
        target = NegatedInput(noise=0.1)
        inputs, targets = self.law(n=s["n"], dim=s["dim"], target=target).samples(0)
        return {"Phi": inputs, "Y": targets}

    def parts(self, s: Setup) -> Mapping[str, Work]:
        data = self.data(s)

        def delm(init: Any, seed: int) -> Work:
            p = problem({"kind": "delm", "gamma": GAMMA}, data, init, seed=seed)
            train = {"kind": "gd", "step": s["step"], "steps": s["steps"]}
            return lambda progress: losses(trained(p, train, progress))

        def resnet() -> Work:
            p = problem({"kind": "linear-resnet", "depth": DEPTH}, data, "zero")
            train = {"kind": "gd", "step": RESNET_STEP, "steps": s["steps"]}
            return lambda progress: losses(trained(p, train, progress))

        return {**{name: delm(*start) for name, start in STARTS.items()}, RESNET: resnet()}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        lines = [Line(name, each["k"], each["loss"]) for name, each in made.items()]
        optimum = next(iter(made.values()))["infimum"][0]
        ends = np.array([0.0, s["steps"]])
        lines.append(Line("global optimum", ends, np.full(2, optimum), level=True))
        # As the paper's axis, which cuts the first steps off.
        top = 1.3 * max(8 * optimum, *(float(each["loss"][-1]) for each in made.values()))
        yield Axes("", "iterations", "train loss", tuple(lines), y_range=(-0.03 * top, top))

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        text = "DELM goes to the global minimum from the identity and from every random start"
        yield sentence(text, [self.arrives(name, **gaps(made[name])) for name in STARTS], ARRIVED)
        if self.resnet_arrives:
            text = "the linear ResNet from the identity goes to the global minimum, too"
            yield sentence(text, [self.arrives(**gaps(made[RESNET]))], ARRIVED)
        else:
            text = "the linear ResNet from the identity ends at a suboptimal value"
            yield sentence(text, [self.stays(**gaps(made[RESNET]))], f"{ARRIVED}; {UNSTATED}")


def gaps(made: Made) -> dict[str, Measured]:
    """The loss above its infimum, at the ends of the run."""
    return {"gap_end": at(made, -1, "gap"), "gap_0": at(made, 0, "gap")}
