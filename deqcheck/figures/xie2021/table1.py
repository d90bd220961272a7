"""Table 1: feature regularisation, as trends in alpha and lambda."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.runs import OnProgress, counted, mean
from deqcheck.figures.xie2021.networks import SAM, K, features, network
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.theorems.base import Check

L1, SQUARE = "lambda |.|_1", "lambda |.|^2"
# What the paper reports as means over the features.
REPORTED = {
    L1: {0.01: "> 5", 0.15: "0.81", 0.5: "0.34"},
    SQUARE: {0.01: "> 10", 1.0: "1.56", 10.0: "0.82"},
}
ALPHA = 0.8


class Table1(Figure):
    """Of five-layer OptEq networks at random weights, over draws: how near z^20 is to the
    equilibrium and what the operator S of SAM changes, against alpha; and the mean of |z| and z^2
    over the features against the weight lambda of a built-in regulariser.

    The accuracies of the paper (200 epochs on CIFAR-10) are not made here: these are the trends
    that its text explains them by.
    """

    id = "xie2021/table1"
    number = "Xie 2021, Table 1"
    title = "Feature regularisation: trends in alpha and lambda"
    images = ("cifar10",)
    columns = 2
    quick = {
        "n": 8,
        "side": 4,
        "m": 12,
        "depth": 5,
        "draws": 10,
        "alphas": (0.01, 0.1, 0.4, 0.8, 1.0),
    }
    full = {**quick, "n": 128, "side": 16, "m": 128, "draws": 10}

    nearer = Check(
        "distance of z^20 from rest: at alpha = 1 less that at the smallest", "change < 0"
    )
    weaker = Check("what S changes: at alpha = 1 less than at the smallest", "change < 0")
    smaller = Check("mean over features, log2 of its ratio to a smaller lambda", "ratio < 0")

    def parts(self, s: Setup) -> Mapping[str, Work]:
        work: dict[str, Work] = {f"alpha = {a:g}": partial(self.alpha, s, a) for a in s["alphas"]}
        for name, weights in REPORTED.items():
            for weight in weights:
                work[f"{name}, lambda = {weight:g}"] = partial(self.weight, s, name, weight)
        return work

    def alpha(self, s: Setup, alpha: float, progress: OnProgress) -> Made:
        """For each draw: |z^20 - T(z^20)|/|z^20|, and how far S moves z^20, relative."""
        rest, moved = [], []
        for seed in counted(s["draws"], progress):
            plain = network(s, seed, alpha, iterations=K)
            z = features(plain)
            size = float(np.linalg.norm(z))
            rest.append(float(plain.start.measure("equilibrium.residual").value) / size)
            other = features(network(s, seed, alpha, iterations=K, sam=dict(SAM)))
            moved.append(float(np.linalg.norm(other - z)) / size)
        return {"rest": np.array(rest), "moved": np.array(moved)}

    def weight(self, s: Setup, name: str, weight: float, progress: OnProgress) -> Made:
        """For each draw the mean of |z| or z^2 at the equilibrium with prox_R as its last layer."""
        # weight |z|^2/2 is the distance to the origin.
        R = {"kind": "l1", "weight": weight}
        if name == SQUARE:
            R = {"kind": "distance", "weight": 2 * weight}
        every = [
            features(network(s, seed, ALPHA, prox=R)) for seed in counted(s["draws"], progress)
        ]
        sizes = [np.abs(z).mean() if name == L1 else (z**2).mean() for z in every]
        return {"mean": np.array(sizes)}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        alphas = np.array(s["alphas"])
        for what, label in (("rest", "|z - T z|/|z|, z = z^20"), ("moved", "what S changes")):
            values = [made[f"alpha = {a:g}"][what] for a in s["alphas"]]
            line = Line(
                "",
                alphas,
                np.array([v.mean() for v in values]),
                np.array([v.std() for v in values]),
            )
            yield Axes(label, "alpha", "relative", (line,), log_x=True)
        for name, label in ((L1, "mean of |z|"), (SQUARE, "mean of z^2")):
            values = [made[f"{name}, lambda = {w:g}"]["mean"] for w in REPORTED[name]]
            line = Line(
                "",
                np.array(list(REPORTED[name])),
                np.array([v.mean() for v in values]),
                np.array([v.std() for v in values]),
            )
            yield Axes(f"R = {name}", "lambda", label, (line,), log_x=True, log_y=True)

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        for name, reported in REPORTED.items():
            here = [mean(made[f"{name}, lambda = {w:g}"]["mean"]) for w in reported]
            rows = (
                ("mean here", *(f"{m.value:.3g} ± {m.error:.1g}" for m in here)),
                ("mean in the paper, trained", *reported.values()),
            )
            yield Table(f"R = {name}", ("lambda", *(f"{w:g}" for w in reported)), rows)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        draws = f"{s['draws']} draws of the weights, three standard errors"
        by_alpha = {a: made[f"alpha = {a:g}"] for a in s["alphas"]}
        first, last = min(by_alpha), max(by_alpha)
        yield sentence(
            "when alpha approaches 1 the iterations quickly converge to the fixed point",
            [self.nearer(change=mean(by_alpha[last]["rest"] - by_alpha[first]["rest"]))],
            f"quickly is read as: nearer at alpha = {last:g} than at {first:g}; {draws}",
        )
        yield sentence(
            "S has a limited impact when alpha approaches 1, and dominates when it approaches 0",
            [self.weaker(change=mean(by_alpha[last]["moved"] - by_alpha[first]["moved"]))],
            f"both are read as: less at alpha = {last:g} than at {first:g}; {draws}",
        )
        for name, weights in REPORTED.items():
            yield sentence(
                f"with R = {name} the features decrease in the norm of R",
                [
                    self.smaller(
                        f"{b:g} and {a:g}",
                        ratio=mean(
                            np.log2(
                                made[f"{name}, lambda = {b:g}"]["mean"]
                                / made[f"{name}, lambda = {a:g}"]["mean"]
                            )
                        ),
                    )
                    for a, b in pairwise(weights)
                ],
                draws,
            )
