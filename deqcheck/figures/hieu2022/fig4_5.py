"""Figure 4.5: the loss surface of a trained equilibrium model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.hieu2022.landscape import guessing, landscape, minima, share_below
from deqcheck.figures.hieu2022.network import Shape
from deqcheck.figures.runs import mean
from deqcheck.records.figure import Axes, Grid, Sentence, sentence
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check

RUN = "training and cuts"
NEAR, DEEP = 0.25, 0.01


class Figure45(Figure):
    """The loss on a random plane around the end of training of an equilibrium model, in
    perspective. The thesis has a multi-scale DEQ on 1024 images of ImageNet; here it is the layer
    (4.1), trained on as many classes of another set.

    Flatness is the mean rise of the loss at a quarter of the reach, over that to the loss of
    guessing.
    """

    id = "hieu2022/fig4.5"
    number = "Hieu 2022, Figure 4.5"
    title = "Loss surface of a trained equilibrium model"
    images = ("imagenet",)
    columns = 1
    quick = {
        "n": 36,
        "side": 6,
        "channels": 4,
        "groups": 2,
        "classes": 4,
        "epochs": 15,
        "batch": 12,
        "rate": 1e-2,
        "points": 11,
        "seen": 12,
        "cuts": 3,
    }
    full = {
        "n": 1024,
        "side": 32,
        "channels": 48,
        "groups": 8,
        "classes": 20,
        "epochs": 50,
        "batch": 64,
        "rate": 1e-3,
        "points": 51,
        "seen": 1024,
        "cuts": 3,
    }

    one = Check("local minima of the grid", "minima <= 1")
    flat = Check("rise of the loss near the centre, over that to guessing", "rise <= 1/10")

    def parts(self, s: Setup) -> Mapping[str, Work]:
        shape = Shape(3, s["channels"], s["groups"], s["classes"], None, 1e-2, 30)
        return {RUN: partial(landscape, s, shape, "imagenet")}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        run = made[RUN]
        grid = Grid(run["axis"], run["axis"], run["cuts"][0], "loss", surface=True)
        yield Axes("", "b", "a", grid=grid)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        run = made[RUN]
        counts = [minima(grid, DEEP * guessing(s)) for grid in run["cuts"]]
        yield sentence(
            "the surface has only one minimum",
            [self.one(f"plane {i + 1}", minima=Measured(float(c))) for i, c in enumerate(counts)],
            "points inside of the grid, below all of their neighbours by more than a hundredth of "
            "the loss of guessing: the solver leaves less than that open",
        )
        rises = [_rise(run["axis"], grid, guessing(s)) for grid in run["cuts"]]
        yield sentence(
            "this minimum is flat",
            [self.flat(rise=mean(rises))],
            f"flat is read as: at {NEAR:g} of the reach the loss has risen by at most a tenth of "
            f"the way to guessing; {s['cuts']} planes, three standard errors",
        )

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        share = share_below(made[RUN]["cuts"], guessing(s) / 2)
        yield f"below half of the loss of guessing on {share.mean():.0%} of the planes"


def _rise(axis: np.ndarray, grid: np.ndarray, guess: float) -> float:
    """Mean over the points nearest to the circle of a quarter of the reach."""
    radius = np.hypot(*np.meshgrid(axis, axis))
    ring = np.abs(radius - NEAR) <= (axis[1] - axis[0]) / 2
    centre = float(grid[len(axis) // 2, len(axis) // 2])
    return float(grid[ring].mean() - centre) / max(guess - centre, 1e-12)
