"""Figure 4.1: the relative residual along the solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from deqcheck.figures.base import Made, Setup
from deqcheck.figures.hieu2022.solving import NORMAL, SMALL, Solving
from deqcheck.figures.runs import mean
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.theorems.base import Check


class Figure41(Solving):
    """The relative residual (4.2), the mean over images, against the steps of Anderson
    acceleration, for weights N(0, 1) and N(0, 0.01) of the convolutions in (4.1).

    Not stated in the thesis: channels, groups, and how the image enters; here a random convolution
    and a norm. Each thin line is a draw of the weights, the heavy one their mean.
    """

    id = "hieu2022/fig4.1"
    number = "Hieu 2022, Figure 4.1"
    title = "Convergence of the solver from two initial scales"
    columns = 2

    steady = Check("small weights: the residual after the first step", "residual <= 1/3")
    lower = Check("after so many steps the small weights are nearer", "small < normal")

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        for name, each in made.items():
            k = np.arange(each["residuals"].shape[1], dtype=float)
            draws = [Line("", k, row, level=True) for row in each["residuals"]]
            heavy = Line("mean over draws", k, each["residuals"].mean(axis=0))
            yield Axes(name, "step", "relative residual", (heavy, *draws), log_y=True)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        small, normal = made[SMALL]["residuals"], made[NORMAL]["residuals"]
        places = [p for p in (1, 5, 10, 20) if p < small.shape[1]]
        yield sentence(
            "with small weights the iterates are quite steady after the first step",
            [self.steady(residual=mean(small[:, 1]))],
            f"steady is read as: a residual of at most a third, our threshold; {s['draws']} draws "
            "of the weights",
        )
        yield sentence(
            "with weights N(0, 1) they are more chaotic",
            [
                self.lower(f"step {p}", small=mean(small[:, p]), normal=mean(normal[:, p]))
                for p in places
            ],
            f"{s['draws']} draws of the weights, three standard errors",
        )
