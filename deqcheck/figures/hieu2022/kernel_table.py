"""The table of kernel eigenvalues at random initialisation that the author's public code prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.runs import OnProgress, mean
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.theorems.base import CORRECTED
from deqcheck.theorems.hieu2022 import kernel_table as statement
from deqcheck.theorems.hieu2022.kernel_table import REPORTED, REPORTED_DRAWS, RISK

BATCH = 10


class KernelTable(Figure):
    """lambda_min of the tangent kernel and of its parts at random initialisation: 20 inputs, 500
    units, 5 samples, m = 0.1, entries of A, B, U and u normal with variance 1/500, X uniform on
    [0, 1] with every feature scaled to norm 1 over the samples.

    The code draws A and B from one key, so that A = B; with independent A and B as a variant.
    """

    id = "hieu2022/kernel-table"
    number = "Hieu 2022, public table"
    title = "Smallest eigenvalues of the kernel over draws"
    variants = {"code": "A = B, as the author's code draws them", "text": "A and B independent"}
    columns = 1
    quick = {"draws": 40}
    full = {"draws": REPORTED_DRAWS}

    def parts(self, s: Setup) -> Mapping[str, Work]:
        starts = range(0, s["draws"], BATCH)
        return {
            f"draws {i + 1} to {min(i + BATCH, s['draws'])}": partial(self.batch, s, i)
            for i in starts
        }

    def batch(self, s: Setup, first: int, progress: OnProgress) -> Made:
        seeds = range(first, min(first + BATCH, s["draws"]))
        found = []
        for seed in seeds:
            progress(Progress("", seed, 0.0, (seed - first) / BATCH, float("nan")))
            drawn = statement.drawn(0, f"{self.id}.{seed}", s.variant == "code")
            found.append([(m.value, m.error) for m in statement.eigenvalues(*drawn)])
        table = np.array(found)
        return {"values": table[:, :, 0], "errors": table[:, :, 1]}

    def all(self, name: str, made: Mapping[str, Made]) -> np.ndarray:
        return np.concatenate([each[name] for each in made.values()])

    def values(self, made: Mapping[str, Made]) -> dict[str, np.ndarray]:
        return dict(zip(REPORTED, self.all("values", made).T, strict=True))

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        values, told = self.values(made), REPORTED.values()
        place = np.arange(len(values), dtype=float)
        lines = [
            Line(
                "each draw",
                np.repeat(place, s["draws"]),
                np.concatenate(list(values.values())),
                dots=True,
            ),
            Line("mean reported", place, np.array([r.mean for r in told]), dots=True),
            Line("smallest reported", place, np.array([r.least for r in told]), dots=True),
        ]
        yield Axes(
            "",
            "part of the kernel",
            "smallest eigenvalue",
            tuple(lines),
            log_y=True,
            x_names=tuple(values),
        )

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        values = self.values(made)
        rows = (
            ("mean", *(f"{v.mean():.3f} ± {mean(v).error:.3f}" for v in values.values())),
            ("mean reported", *(f"{r.mean:.3f}" for r in REPORTED.values())),
            ("smallest", *(f"{v.min():.3f}" for v in values.values())),
            ("smallest reported", *(f"{r.least:.3f}" for r in REPORTED.values())),
        )
        yield Table(f"{s['draws']} draws here, {REPORTED_DRAWS} there", ("", *values), rows)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        if s.variant != "code":
            yield sentence("the numbers of the table", [], "they are of other draws than these")
            return
        compared = statement.KernelTable(CORRECTED).compared
        claims = list(compared(self.all("values", made), self.all("errors", made)))
        means, least = claims[: len(REPORTED)], claims[len(REPORTED) :]
        yield sentence(
            "the means of the table",
            means,
            f"{statement.KernelTable.id}: by Student's law at a level of {RISK:.1g} for each, our "
            "choice, and half a unit of the last digit",
        )
        yield sentence(
            "no draw is below the smallest of the table",
            least,
            f"the chance of so many below the smallest of {REPORTED_DRAWS} draws of one law; below "
            f"{RISK:.1g}, which is our choice, it contradicts",
        )
