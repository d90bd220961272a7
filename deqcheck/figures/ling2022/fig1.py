"""Figure 1: train loss for several widths on three data sets, and the norm of W."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.images import rows
from deqcheck.figures.ling2022.published import descent
from deqcheck.figures.runs import OnProgress, at, largest, losses, mean, problem, trained
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check

SYNTHETIC = "synthetic"
SETS = {SYNTHETIC: "Synthetic data", "mnist": "", "cifar10": ""}
INIT = {
    "kind": "each",
    "W": {"kind": "gaussian", "scale": 0.4, "fan": "in"},
    "U": {"kind": "gaussian", "scale": 2**0.5, "fan": "in"},
    "a": {"kind": "gaussian", "fan": "in"},
}
# Of the authors' solver, and of one that is as good as exact.
LOOSE, TIGHT = 1e-2, 1e-7
STEP_OVER_WIDTH = "step proportional to 1/m"


class Figure1(Figure):
    """Train loss against steps for several widths m: (a) synthetic data, (b) MNIST, (c) CIFAR10,
    classes 0 and 1; below each, the norm of W along the run (the paper's second experiment).

    Text: samples on the sphere of radius sqrt(d), normal labels for the synthetic data (1 and -1
    for the images here), the start of Assumption 1 with sigma_w^2 = 0.08. Code: the synthetic
    samples are orthonormal, images have norm 1, all labels are uniform on [0, 1], the map has
    biases and a factor 1/sqrt(m) outside of the ReLU, and Anderson acceleration stops at a relative
    residual of 1e-2. Not stated in the text: widths, step, number of steps, axes.
    """

    id = "ling2022/fig1"
    number = "Ling 2022, Figure 1"
    title = "Wider models train faster"
    variants = {
        "text": "as the paper tells it",
        "code": "as the authors' public code does it, beside the same with exact equilibria",
    }
    images = ("mnist", "cifar10")
    columns = 2
    quick = {
        "n": 30,
        "side": 6,
        "widths": (30, 60, 120),
        "steps": 90,
        "step": 2e-4,
        "rate": 0.03,
        "draws": 3,
    }
    full = {
        "n": 1000,
        "side": 0,
        "widths": (500, 1000, 2000, 4000),
        "steps": 300,
        "step": 4e-7,
        "rate": 1e-4,
        "draws": 1,
    }

    faster = Check("lower on the way", "wide < narrow")
    lower = Check("lower at the end", "wide < narrow")
    contracts = Check("the largest |W| of the run", "norm_W < 1")
    same = Check("1e-2 changes the loss by at most a hundredth", "difference <= loss/100")

    def data(self, s: Setup, name: str) -> dict[str, np.ndarray]:
        n = s["n"]
        if name == SYNTHETIC:
            d = n
            drawn = rng(0, "data.inputs").standard_normal((d, n))
            X = np.eye(n) if s.variant == "code" else drawn
            y = rng(0, "target.gaussian").standard_normal(n)
        else:
            images = s.shelf.take(name, "train", n, 0, (0, 1))
            X = rows(images, s["side"] or None, gray=True).T
            d, y = len(X), np.where(images.labels == 0, 1.0, -1.0)
        X = X / np.linalg.norm(X, axis=0)
        if s.variant == "code":
            return {"X": X, "y": rng(0, f"labels.{name}").random(n)}
        return {"X": np.sqrt(d) * X, "y": y}

    def parts(self, s: Setup) -> Mapping[str, Work]:
        work: dict[str, Work] = {}
        for name in SETS:
            for m in s["widths"]:
                if s.variant == "code":
                    work[f"{name} m = {m}"] = partial(self.draws, s, name, m)
                    work[f"{name} m = {m}, exact"] = partial(
                        self.draws, s, name, m, tolerance=TIGHT
                    )
                else:
                    work[f"{name} m = {m}"] = partial(self.run, s, name, m, s["step"])
        if s.variant == "text":
            for m in s["widths"]:
                step = s["step"] * s["widths"][-1] / m
                work[f"{STEP_OVER_WIDTH}, m = {m}"] = partial(self.run, s, SYNTHETIC, m, step)
        return work

    def cost(self, s: Setup, part: str) -> float:
        """Products of W with the features."""
        return float(part.partition("m = ")[2].partition(",")[0]) ** 2

    def run(self, s: Setup, name: str, m: int, step: float, progress: OnProgress) -> Made:
        model: Any = {"kind": "relu-deq", "width": m, "sigma_w2": 0.08}
        p = problem(model, self.data(s, name), INIT)
        train = {"kind": "gd", "step": step, "steps": s["steps"]}
        return losses(trained(p, train, progress, ("norm2.W",)), "norm2.W")

    def draws(
        self, s: Setup, name: str, m: int, progress: OnProgress, tolerance: float = LOOSE
    ) -> Made:
        """Of the authors' code, from several starts: one row for each."""
        data = self.data(s, name)
        fixed = data["X"], data["y"], m, s["rate"], s["steps"], tolerance
        runs = [descent(*fixed, seed, progress) for seed in range(s["draws"])]
        norms = np.max([run["norm2.W"] for run in runs], axis=0)
        # A bound on the rounding of a largest singular value.
        bars = {"norm2.W": norms, "norm2.W.error": 8 * m * EPS * norms}
        return {**runs[0], "losses": np.stack([run["loss"] for run in runs]), **bars}

    def widths(self, s: Setup, made: Mapping[str, Made], name: str) -> dict[int, Made]:
        return {m: made[f"{name} m = {m}"] for m in s["widths"]}

    def line(self, m: int, run: Made) -> Line:
        if "losses" not in run:
            return Line(f"m = {m}", run["k"], run["loss"])
        spread = run["losses"].std(axis=0)
        return Line(f"m = {m}", run["k"], run["losses"].mean(axis=0), band=spread)

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        for i, name in enumerate(SETS):
            title = SETS[name] or s.shelf.title(name)
            runs = self.widths(s, made, name)
            yield Axes(
                f"({'abc'[i]}) {title}",
                "steps",
                "train loss",
                tuple(self.line(m, run) for m, run in runs.items()),
                log_y=True,
            )
            norms = [Line("", run["norm2.W.k"], run["norm2.W"]) for run in runs.values()]
            one = Line("", np.array([0.0, s["steps"]]), np.ones(2), level=True)
            yield Axes("", "steps", "norm of W", (*norms, one))
        if s.variant == "text":
            lines = [
                Line(f"m = {m}", run["k"], run["loss"])
                for m in s["widths"]
                for run in [made[f"{STEP_OVER_WIDTH}, m = {m}"]]
            ]
            yield Axes(
                f"(a) with a {STEP_OVER_WIDTH}", "steps", "train loss", tuple(lines), log_y=True
            )

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        quicker, smaller, norms = [], [], []
        for name in SETS:
            runs = self.widths(s, made, name)
            for (narrow, first), (wide, second) in pairwise(runs.items()):
                told = f"{name}, m = {wide} and {narrow}"
                n, w = (self._losses(run) for run in (first, second))
                quicker.append(self.faster(told, wide=w[0], narrow=n[0]))
                smaller.append(self.lower(told, wide=w[1], narrow=n[1]))
            norms += [
                self.contracts(f"{name}, m = {m}", norm_W=largest(run, "norm2.W"))
                for m, run in runs.items()
            ]
        third = s["steps"] // 3
        yield sentence(
            "convergence is faster as m grows",
            quicker,
            f"faster is read as: lower at step {third}, at one step for all widths{self._of(s)}",
        )
        yield sentence("the final train loss is smaller as m grows", smaller, self._of(s)[2:])
        yield sentence("the norm of W stays below 1 throughout training", norms)
        if s.variant == "code":
            yield self._tolerance(s, made)

    def _of(self, s: Setup) -> str:
        if s.variant == "text":
            return "; for one draw of the start"
        return f"; the mean over {s['draws']} draws of the start, with three standard errors"

    def _tolerance(self, s: Setup, made: Mapping[str, Made]) -> Sentence:
        claims = []
        for name in SETS:
            for m in s["widths"]:
                loose, tight = made[f"{name} m = {m}"], made[f"{name} m = {m}, exact"]
                ends = [mean(each["losses"][:, -1]) for each in (loose, tight)]
                apart = mean(np.abs(loose["losses"] - tight["losses"])[:, -1])
                note = f"{name}, m = {m}"
                claims.append(self.same(note, difference=apart, loss=ends[1]))
        return sentence(
            "(ours) equilibria to 1e-2 are as good as exact ones for this figure",
            claims,
            "as good is read as the share of the loss that the claim names, our threshold",
        )

    def _losses(self, run: Made) -> list[Measured]:
        """After a third of the run, and at its end."""
        places = ((len(run["k"]) - 1) // 3, -1)
        if "losses" in run:
            return [mean(run["losses"][:, place]) for place in places]
        return [at(run, place) for place in places]

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        if s.variant == "text":
            ends = [made[f"{STEP_OVER_WIDTH}, m = {m}"] for m in s["widths"]]
            told = ", ".join(
                f"{run['loss'][-1] / run['loss'][0]:.3g} (m = {m})"
                for m, run in zip(s["widths"], ends, strict=True)
            )
            yield (
                "the kernel grows like m: with a step proportional to 1/m the loss over that of "
                f"the start ends at {told}, and what is faster is the step times m"
            )
