"""What Figures 1 and 4-8 share: train and test loss on images, DELM beside other models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Figure, Made, Setup, Sizes, Work
from deqcheck.figures.baselines import Dense, descended
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress, mean, problem
from deqcheck.models.problem import AnyProblem, Params
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check

GAMMA, MOMENTUM, NOISE = 0.8, 0.8, 1.0
LINEAR, DELM = "linear model", "DELM"
SEVEN = ("kmnist", "cifar10", "cifar100", "fashion-mnist", "mnist", "semeion", "svhn")
RATES = (0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00005)


class Data:
    """Train and test samples of one trial: images under a random map R, targets of a DELM with
    standard normal A*, B* plus noise."""

    def __init__(self, s: Setup, name: str, trial: int):
        sizes = s["n"], s["n_test"]
        both = [
            rows(s.shelf.take(name, split, n, trial)).T
            for split, n in zip(("train", "test"), sizes, strict=True)
        ]
        m = s["m"]
        R = rng(trial, "figure.R").standard_normal((m, len(both[0]))) / np.sqrt(m)
        A, B = (
            rng(trial, f"figure.teacher.{n}").standard_normal(shape)
            for n, shape in (("A", (m, m)), ("B", (1, m)))
        )
        self.X = [R @ each for each in both]
        self.Y = []
        for split, X in zip(("train", "test"), self.X, strict=True):
            noise = rng(trial, f"figure.noise.{split}").standard_normal((1, X.shape[1]))
            self.Y.append(delm(X, np.zeros_like(noise), A, B).start.predictions + NOISE * noise)


def delm(X: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> AnyProblem:
    return problem({"kind": "delm", "gamma": GAMMA}, {"Phi": X, "Y": Y}, {"A": A, "B": B})


class Started(NamedTuple):
    theta: Params
    # Of the mean loss of a batch.
    gradient: Callable[[Params, np.ndarray], Params]
    # Mean losses, train and test.
    losses: Callable[[Params], tuple[float, float]]


class OnImages(Figure):
    """SGD with batches and momentum, for each rate and trial; lines are means over trials, shades
    one standard deviation. Not stated in the paper: whether the loss of a batch is its mean (here)
    or its sum, the scale of the pixels (here [0, 1]), the start of the biases (here 0)."""

    quick: ClassVar[Sizes] = {
        "sets": 3,
        "n": 20,
        "n_test": 20,
        "m": 16,
        "batch": 13,
        "epochs": 120,
        "trials": 6,
        "rates": (0.01, 0.001, 0.0001),
    }
    full: ClassVar[Sizes] = {
        "sets": 7,
        "n": 100,
        "n_test": 100,
        "m": 150,
        "batch": 64,
        "epochs": 5000,
        "trials": 5,
        "rates": RATES,
    }
    images: ClassVar[tuple[str, ...]] = SEVEN
    columns = 2
    depths: ClassVar[tuple[int, ...]] = (2, 3, 4)
    bias: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    # Trials differ in size by their teachers, so that ratios count.
    # Whether the paper says something of the initial points.
    alike_at_first: ClassVar[bool] = False
    alike = Check("initial test loss over that of DELM, log2 of it: a factor of 2", "ratio <= 1")
    better = Check("final test loss over that of DELM, log2 of it, best rates", "ratio > 0")
    faster = Check("final train loss over that of DELM, log2 of it, best rates", "ratio < 0")

    def used(self, s: Setup) -> tuple[str, ...]:
        return self.images[: s["sets"]]

    def models(self) -> list[str]:
        deep = [f"DNN{'' if self.bias else '-NB'} H = {H}" for H in self.depths]
        return [*([LINEAR] if self.linear else []), DELM, *deep]

    def looks(self, s: Setup) -> np.ndarray:
        return np.unique(np.linspace(0, s["epochs"], 41).astype(int))

    def parts(self, s: Setup) -> Mapping[str, Work]:
        return {
            f"{name}, trial {trial + 1}": partial(self.trial, s, name, trial)
            for name in self.used(s)
            for trial in range(s["trials"])
        }

    def trial(self, s: Setup, name: str, trial: int, progress: OnProgress) -> Made:
        """For each model a table of rates x (train, test) x epochs."""
        data, looks, made = Data(s, name, trial), self.looks(s).tolist(), {}
        for i, model in enumerate(self.models()):
            theta, gradient, loss = self.started(s, model, data, trial)
            fixed = s["n"], s["batch"]
            tables = []
            for j, rate in enumerate(s["rates"]):
                done = (i + j / len(s["rates"])) / len(self.models())
                progress(Progress("", i, 0.0, done, float("nan")))
                run = descended(
                    theta, gradient, loss, *fixed, rate, MOMENTUM, s["epochs"], looks, trial
                )
                tables.append(run.losses)
            made[model] = np.stack(tables)
        return made

    def started(self, s: Setup, model: str, data: Data, trial: int) -> Started:
        m = s["m"]
        A, B = (
            rng(trial, f"init.{name}").standard_normal(shape) / np.sqrt(m)
            for name, shape in (("A", (m, m)), ("B", (1, m)))
        )
        start = delm(data.X[0], data.Y[0], A, B)
        if model == DELM:
            return _started_delm(start, data)
        if model == LINEAR:
            # The same function at the start: W_0 = B_0 U_0^-1.
            net, theta = Dense(1, False), {"W0": start.start.Z}
        else:
            H = int(model.rpartition(" ")[2])
            net = Dense(H, self.bias)
            theta = net.started([m] * H + [1], trial)
        X, Y = data.X[0], data.Y[0]

        def loss(at: Params) -> tuple[float, float]:
            errors = [net.predict(at, x) - y for x, y in zip(data.X, data.Y, strict=True)]
            return float(np.mean(errors[0] ** 2)), float(np.mean(errors[1] ** 2))

        return Started(theta, lambda at, batch: net.gradient(at, X[:, batch], Y[:, batch]), loss)

    def best(self, s: Setup, made: Mapping[str, Made], name: str, model: str) -> tuple[int, int]:
        """The rates with the least and the largest mean of the final test losses."""
        ends = self.every(s, made, name, model)[:, :, 1, -1].mean(axis=0)
        return int(np.argmin(ends)), int(np.argmax(ends))

    def every(self, s: Setup, made: Mapping[str, Made], name: str, model: str) -> np.ndarray:
        """trials x rates x (train, test) x epochs."""
        trials = range(s["trials"])
        return np.stack([made[f"{name}, trial {trial + 1}"][model] for trial in trials])

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        looks = self.looks(s).astype(float)
        for name in self.used(s):
            for row, label in ((1, "test loss"), (0, "train loss")):
                lines = []
                for model in self.models():
                    best, worst = self.best(s, made, name, model)
                    both = model in (LINEAR, DELM) and worst != best
                    for which, rate in (("best", best), *([("worst", worst)] if both else [])):
                        curves = self.every(s, made, name, model)[:, rate, row]
                        ends = "" if np.isfinite(curves[:, -1]).all() else " (diverges)"
                        told = f"{model}, {which} rate{ends}" if row else ""
                        lines.append(_band(told, looks, curves))
                title = s.shelf.title(name) if row else ""
                yield Axes(title, "epoch", label, tuple(lines), log_y=True)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        others = [model for model in self.models() if model != DELM]
        first, after = [], []
        for name in self.used(s):
            mine = self.every(s, made, name, DELM)
            ends = mine[:, self.best(s, made, name, DELM)[0], 1, -1]
            for model in others:
                theirs = self.every(s, made, name, model)
                start = mean(np.log2(theirs[:, 0, 1, 0] / mine[:, 0, 1, 0]))
                first.append(self.alike(f"{name}, {model}", ratio=abs(start)))
                best = theirs[:, self.best(s, made, name, model)[0], 1, -1]
                after.append(self.better(f"{name}, {model}", ratio=mean(np.log2(best / ends))))
        trials = f"{s['trials']} trials, three standard errors"
        if self.alike_at_first:
            yield sentence(
                "all models are about the same at the initial points",
                first,
                f"about the same is read as: within a factor of 2, our threshold; {trials}",
            )
        yield sentence("DELM outperforms the others in test errors after training", after, trials)
        if self.depths[0] >= 10:
            yield self._faster(s, made)

    def _faster(self, s: Setup, made: Mapping[str, Made]) -> Sentence:
        claims = []
        for name in self.used(s):
            ends = [
                self.every(s, made, name, model)[:, self.best(s, made, name, model)[0], 0, -1]
                for model in (DELM, self.models()[-len(self.depths)])
            ]
            claims.append(self.faster(name, ratio=mean(np.log2(ends[1] / ends[0]))))
        text = f"DNNs (H = {self.depths[0]}) can reduce train errors faster than DELM"
        return sentence(
            text,
            claims,
            "faster is read as: a lower train loss at the end; of deeper ones the paper tells that "
            f"gradients vanish or explode; {s['trials']} trials, three standard errors",
        )

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        rows = []
        for name in self.used(s):
            for model in self.models():
                every = self.every(s, made, name, model)
                best, worst = self.best(s, made, name, model)
                ends = [mean(every[:, rate, 1, -1]).value for rate in (best, worst)]
                rates = [f"{s['rates'][rate]:g}" for rate in (best, worst)]
                rows.append((name, model, rates[0], f"{ends[0]:.4g}", rates[1], f"{ends[1]:.4g}"))
        columns = ("set", "model", "best rate", "test loss", "worst rate", "test loss")
        yield Table(f"Mean test loss after {s['epochs']} epochs", columns, tuple(rows))


def _band(label: str, x: np.ndarray, curves: np.ndarray) -> Line:
    with np.errstate(all="ignore"):
        return Line(label, x, curves.mean(axis=0), band=curves.std(axis=0))


def _started_delm(start: AnyProblem, data: Data) -> Started:
    model, samples = start.model, start.model.samples

    def gradient(theta: Params, batch: np.ndarray) -> Params:
        if not all(np.isfinite(a).all() for a in theta.values()):
            return theta
        weights = np.zeros(samples)
        weights[batch] = 1 / len(batch)
        found: Params = model.at(theta).gradient_of(weights)[0]
        return found

    def losses(theta: Params) -> tuple[float, float]:
        if not all(np.isfinite(a).all() for a in theta.values()):
            return np.inf, np.inf
        Z = model.at(theta).Z
        errors = [Z @ X - Y for X, Y in zip(data.X, data.Y, strict=True)]
        return float(np.mean(errors[0] ** 2)), float(np.mean(errors[1] ** 2))

    return Started(dict(start.theta0), gradient, losses)
