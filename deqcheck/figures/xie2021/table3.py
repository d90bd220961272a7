"""Table 3: R by SAM against R built in, as a trend in alpha."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.runs import OnProgress, counted, mean
from deqcheck.figures.xie2021.networks import SAM, K, features, network
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.theorems.base import Check

NONE, BY_SAM, BUILT_IN = "no R", "R by SAM", "R built in"


class Table3(Figure):
    """R(z) = |z|^2/2, the mean over samples, of five-layer OptEq networks at random weights without
    R, with R by SAM (20 iterations) and with prox_R as a last layer, against alpha, over draws.

    The accuracies of the paper are not made here; of its regularisers |.|^2 is here, the
    decorrelation of features is not.
    """

    id = "xie2021/table3"
    number = "Xie 2021, Table 3"
    title = "Regularisation by SAM and built in"
    images = ("cifar10",)
    columns = 1
    quick = {
        "n": 8,
        "side": 4,
        "m": 12,
        "depth": 5,
        "draws": 10,
        "alphas": (0.01, 0.1, 0.4, 0.8, 1.0),
    }
    full = {**quick, "n": 128, "side": 16, "m": 128, "draws": 10}

    lowers = Check("R(z), log2 of its ratio to that without R", "ratio < 0")
    direct = Check("R(z) built in over that by SAM, log2 of it", "ratio < 0")

    def parts(self, s: Setup) -> Mapping[str, Work]:
        return {f"alpha = {a:g}": partial(self.alpha, s, a) for a in s["alphas"]}

    def alpha(self, s: Setup, alpha: float, progress: OnProgress) -> Made:
        fields: dict[str, Mapping[str, object]] = {
            NONE: {},
            BY_SAM: {"iterations": K, "sam": dict(SAM)},
            BUILT_IN: {"prox": {"kind": "distance"}},
        }
        found: dict[str, list[float]] = {name: [] for name in fields}
        for seed in counted(s["draws"], progress):
            for name, more in fields.items():
                z = features(network(s, seed, alpha, **more))
                found[name].append(float((z**2).sum() / 2 / s["n"]))
        return {name: np.array(each) for name, each in found.items()}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        alphas = np.array(s["alphas"])
        lines = []
        for name in (NONE, BY_SAM, BUILT_IN):
            values = [made[f"alpha = {a:g}"][name] for a in s["alphas"]]
            middle, spread = (np.array([f(v) for v in values]) for f in (np.mean, np.std))
            lines.append(Line(name, alphas, middle, spread))
        yield Axes("", "alpha", "R(z)", tuple(lines), log_x=True, log_y=True)

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        rows = [
            (
                f"{a:g}",
                *(
                    f"{made[f'alpha = {a:g}'][name].mean():.3g}"
                    for name in (NONE, BY_SAM, BUILT_IN)
                ),
            )
            for a in s["alphas"]
        ]
        yield Table("Mean of R(z)", ("alpha", NONE, BY_SAM, BUILT_IN), tuple(rows))

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        draws = f"{s['draws']} draws of the weights, three standard errors"
        each = {a: made[f"alpha = {a:g}"] for a in s["alphas"]}
        yield sentence(
            "R by SAM and R built in both regularise the features",
            [
                self.lowers(f"alpha = {a:g}, {name}", ratio=mean(np.log2(m[name] / m[NONE])))
                for a, m in each.items()
                for name in (BY_SAM, BUILT_IN)
            ],
            f"the paper says so of the accuracy, here it is R(z) itself; {draws}",
        )
        yield sentence(
            "to change the underlying problem, so to build R in, has the more direct impact",
            [
                self.direct(f"alpha = {a:g}", ratio=mean(np.log2(m[BUILT_IN] / m[BY_SAM])))
                for a, m in each.items()
            ],
            f"the paper says so of the accuracy, here it is R(z) itself; {draws}",
        )
