"""Figure 4.5: the loss surface of a trained equilibrium model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Steps, Work
from deqcheck.figures.hieu2022.landscape import guessing, landscape, minima, share_below
from deqcheck.figures.hieu2022.network import Shape
from deqcheck.figures.runs import mean
from deqcheck.records.figure import Axes, Grid, Sentence, sentence
from deqcheck.theorems.base import Check

RUN = "training and cuts"
NEAR = 0.25


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
        "epochs": 12,
        "batch": 12,
        "rate": 1e-2,
        "points": 7,
        "seen": 4,
        "cuts": 4,
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
        "seen": 424,
        "cuts": 3,
    }

    one = Check("local minima of the grid", "minima <= 1")
    flat = Check("rise of the loss near the centre, over that to guessing", "rise <= 1/10")

    def parts(self, s: Setup) -> Mapping[str, Work | Steps]:
        shape = Shape(3, s["channels"], s["groups"], s["classes"], None, 1e-2, 30)
        return {RUN: landscape(s, shape, "imagenet")}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        run = made[RUN]
        grid = Grid(run["axis"], run["axis"], run["cuts"][0], "loss", surface=True)
        yield Axes("", "b", "a", grid=grid)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        run = made[RUN]
        yield sentence(
            "the surface has only one minimum",
            [
                self.one(f"plane {i + 1}", minima=minima(grid, error))
                for i, (grid, error) in enumerate(zip(run["cuts"], run["errors"], strict=True))
            ],
            "points inside of the grid that are below all of their neighbours: from those that "
            "certainly are to those that the solver's tolerance leaves open",
        )
        half = len(run["axis"]) // 2
        rises = [_rise(run["axis"], grid, guessing(s)) for grid in run["cuts"]]
        opened = [
            float(error[_ring(run["axis"])].mean() + error[half, half]) for error in run["errors"]
        ]
        rest = guessing(s) - float(run["cuts"][:, half, half].max())
        yield sentence(
            "this minimum is flat",
            [self.flat(rise=mean(rises).widened(max(opened) / rest))],
            f"flat is read as: at {NEAR:g} of the reach the loss has risen by at most a tenth of "
            f"the way to guessing, our threshold; {s['cuts']} planes, three standard errors",
        )

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        share, _ = share_below(made[RUN], guessing(s) / 2)
        yield f"below half of the loss of guessing on {share.mean():.0%} of the planes"
        yield (
            "one trained network on coarse grids: training amplifies rounding, and on another "
            "machine a plane may show a further minimum"
        )


def _ring(axis: np.ndarray) -> np.ndarray:
    """The points nearest to the circle of a quarter of the reach."""
    found: np.ndarray = np.abs(np.hypot(*np.meshgrid(axis, axis)) - NEAR) <= (axis[1] - axis[0]) / 2
    return found


def _rise(axis: np.ndarray, grid: np.ndarray, guess: float) -> float:
    """From the centre to the mean of the ring, over that to guessing."""
    centre = float(grid[len(axis) // 2, len(axis) // 2])
    return float(grid[_ring(axis)].mean() - centre) / max(guess - centre, 1e-12)
