"""Figure 4.2: the iterates of the solver in a plane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deqcheck.figures.base import Made, Setup
from deqcheck.figures.hieu2022.solving import NORMAL, SMALL, Solving
from deqcheck.figures.runs import mean
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.theorems.base import Check


class Figure42(Solving):
    """Iterates of Anderson acceleration, a path for each image, in the plane of their two main
    directions (PCA), for weights N(0, 1) and N(0, 0.01); as Figure 4.1 else."""

    id = "hieu2022/fig4.2"
    number = "Hieu 2022, Figure 4.2"
    title = "Paths of the solver from two initial scales"
    columns = 2

    straighter = Check("length of the paths over the distance of their ends", "small < normal")

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        for name, each in made.items():
            title = f"{name}, {each['share'][0]:.0%} seen"
            lines = [Line("", path[:, 0], path[:, 1]) for path in each["paths"]]
            yield Axes(title, "first component", "second component", tuple(lines))

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        small, normal = (mean(made[name]["bends"]) for name in (SMALL, NORMAL))
        yield sentence(
            "the paths are more chaotic for N(0, 1), and steady after the first step for small "
            "weights",
            [self.straighter("in all dimensions", small=small, normal=normal)],
            f"more chaotic and steady are read together as: longer against the way from start to "
            f"end; {s['draws']} draws of the weights, three standard errors",
        )
