"""Table 2: an implicit network against an explicit one of as many parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.baselines import Dense, descended
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress, mean, problem
from deqcheck.models.problem import NoEquilibrium, Params, State
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.theorems.base import Check

OPTEQ, EXPLICIT = "OptEq, 3 layers", "explicit network"
WEIGHT = {"kind": "gaussian", "scale": 0.45, "fan": "in"}


class Table2(Figure):
    """Test error of a three-layer OptEq network and of an explicit ReLU network of about as many
    parameters, trained by gradient descent with the best of a few steps to tell whether a patch of
    an image is lighter than the mean of its surroundings: a small stand-in for the segmentation of
    Cityscapes, which is not made here. It can show a tendency, not the mIoU of the paper.
    """

    id = "xie2021/table2"
    number = "Xie 2021, Table 2"
    title = "An implicit and an explicit network"
    images = ("cifar10",)
    columns = 1
    quick = {"n": 24, "side": 4, "m": 8, "steps": 40, "draws": 5, "rates": (0.03, 0.01)}
    full = {"n": 500, "side": 16, "m": 64, "steps": 400, "draws": 10, "rates": (1e-3, 3e-4, 1e-4)}

    better = Check("test loss of the explicit network over that of OptEq, log2 of it", "ratio > 0")

    def parts(self, s: Setup) -> Mapping[str, Work]:
        return {f"draw {i + 1}": partial(self.draw, s, i) for i in range(s["draws"])}

    def data(self, s: Setup, draw: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found = {}
        for split in ("train", "test"):
            pixels = rows(s.shelf.take("cifar10", split, s["n"], draw), s["side"], gray=True)
            X = pixels / np.linalg.norm(pixels, axis=1, keepdims=True)
            corner = X.reshape(len(X), s["side"], s["side"])[:, :2, :2].mean(axis=(1, 2))
            found[split] = X.T, np.sign(corner - X.mean(axis=1))[None]
        return found

    def draw(self, s: Setup, draw: int, progress: OnProgress) -> Made:
        data, m = self.data(s, draw), s["m"]
        (X, Y), (X_test, Y_test) = data["train"], data["test"]
        d, n = X.shape
        model = {"kind": "opteq", "alpha": 0.8, "depth": 3, "activation": "relu", "m": m, "n": m}
        init = {"kind": "each", "Wo": WEIGHT}
        for i in (1, 2, 3):
            init |= {f"W{i}": WEIGHT, f"U{i}": {**WEIGHT, "scale": 2.0}, f"b{i}": "zero"}
        implicit = {**model, "solver": "implicit"}
        p = problem(implicit, {"X": X, "Y": Y}, init, seed=draw)
        unseen = problem(implicit, {"X": X_test, "Y": Y_test}, init, seed=draw).model

        def implicit_losses(theta: Params) -> tuple[float, float]:
            return _mean_loss(p.model.at(theta), n), _mean_loss(unseen.at(theta), n)

        def implicit_gradient(theta: Params, _: np.ndarray) -> Params:
            try:
                return dict(p.model.at(theta).objective.gradient)
            except NoEquilibrium:
                # The step was too long; the losses tell.
                return {name: np.full_like(a, np.nan) for name, a in theta.items()}

        looks = list(range(0, s["steps"] + 1, max(s["steps"] // 10, 1)))
        fixed = n, n
        own = [
            descended(
                dict(p.theta0),
                implicit_gradient,
                implicit_losses,
                *fixed,
                rate,
                0.0,
                s["steps"],
                looks,
                draw,
            ).losses[1]
            for rate in s["rates"]
        ]
        count = sum(a.size for a in p.theta0.values())
        # Two hidden layers of this width have about as many parameters.
        width = int((-(d + 3) + np.sqrt((d + 3) ** 2 + 4 * count)) / 2)
        net = Dense(3, True)
        start = net.started([d, width, width, 1], draw)

        def losses(theta: Params) -> tuple[float, float]:
            errors = [net.predict(theta, x) - y for x, y in data.values()]
            return float(np.mean(errors[0] ** 2)), float(np.mean(errors[1] ** 2))

        # The loss of OptEq is half a sum, that of the network a mean.
        other = [
            descended(
                start,
                lambda theta, batch: net.gradient(theta, X[:, batch], Y[:, batch]),
                losses,
                *fixed,
                rate * n / 2,
                0.0,
                s["steps"],
                looks,
                draw,
            ).losses[1]
            for rate in s["rates"]
        ]
        sizes = [count, sum(a.size for a in start.values())]
        return {
            OPTEQ: min(own, key=lambda c: c[-1]),
            EXPLICIT: min(other, key=lambda c: c[-1]),
            "sizes": np.array(sizes, dtype=float),
        }

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        lines = []
        for name in (OPTEQ, EXPLICIT):
            ends = np.array([each[name][-1] for each in made.values()])
            lines.append(Line(name, np.arange(1.0, len(ends) + 1), ends, dots=True))
        yield Axes("", "draw", "test loss at the end", tuple(lines))

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        sizes = next(iter(made.values()))["sizes"]
        rows_ = [
            (name, f"{size:g}", f"{np.mean([each[name][-1] for each in made.values()]):.3g}")
            for name, size in zip((OPTEQ, EXPLICIT), sizes, strict=True)
        ]
        yield Table("Mean test loss", ("network", "parameters", "test loss"), tuple(rows_))

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        ratio = [np.log2(each[EXPLICIT][-1] / each[OPTEQ][-1]) for each in made.values()]
        yield sentence(
            "deep OptEq outperforms an explicit network of a similar number of parameters",
            [self.better(ratio=mean(np.array(ratio)))],
            f"{s['draws']} draws of data and weights, three standard errors; another task than the "
            "paper's",
        )


def _mean_loss(state: State, n: int) -> float:
    try:
        return 2 * float(state.measure("loss").value) / n
    except NoEquilibrium:
        return float("inf")
