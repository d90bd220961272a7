"""The table of kernel eigenvalues at random initialisation that the author's public code prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.runs import OnProgress, mean, problem
from deqcheck.records.figure import Axes, Line, Sentence, Table, sentence
from deqcheck.records.measured import Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.frequency import MISSED, upper_end

M = 0.1
# What the notebook prints of 1000 draws: mean and smallest.
REPORTED = {
    "K": (2.893, 1.042),
    "K_A + K_B": (1.665, 0.588),
    "K_A": (0.551, 0.210),
    "K_B": (1.112, 0.378),
    "K_U": (0.925, 0.335),
    "Z^T Z": (0.254, 0.075),
}
REPORTED_DRAWS = 1000
BATCH = 10
SIZES = {"units": 500, "inputs": 20, "samples": 5}


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
    quick = {**SIZES, "draws": 40}
    full = {**quick, "draws": 1000}

    same = Check("the two means, apart by three standard errors at most", "apart <= allowed")
    rare = Check("share of draws above the smallest reported", "upper_end >= claimed")

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
            found.append(self.draw(s, seed))
        return {"values": np.array(found)}

    def draw(self, s: Setup, seed: int) -> list[float]:
        n, d = s["units"], s["inputs"]

        def normal(name: str, *shape: int) -> np.ndarray:
            drawn: np.ndarray = rng(seed, f"init.{name}").standard_normal(shape) / np.sqrt(n)
            return drawn

        A = normal("A", n, n)
        B = A if s.variant == "code" else normal("B", n, n)
        X = rng(seed, "data.inputs").random((d, s["samples"]))
        data = {"X": X / np.linalg.norm(X, axis=1, keepdims=True), "y": np.zeros(s["samples"])}
        init = {"A": A, "B": B, "U": normal("U", n, d), "u": normal("u", n)}
        K = problem({"kind": "monotone-deq", "m": M}, data, init).start.kernel
        a, b, u, z = (K.parts[name] for name in ("A", "B", "U", "u"))
        return [float(np.linalg.eigvalsh(part)[0]) for part in (K.K, a + b, a, b, u, z)]

    def values(self, made: Mapping[str, Made]) -> dict[str, np.ndarray]:
        every = np.concatenate([each["values"] for each in made.values()])
        return dict(zip(REPORTED, every.T, strict=True))

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        values = self.values(made)
        place = np.arange(len(values), dtype=float)
        lines = [
            Line(
                "each draw",
                np.repeat(place, s["draws"]),
                np.concatenate(list(values.values())),
                dots=True,
            ),
            Line("mean reported", place, np.array([r[0] for r in REPORTED.values()]), dots=True),
            Line(
                "smallest reported", place, np.array([r[1] for r in REPORTED.values()]), dots=True
            ),
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
            ("mean reported", *(f"{r[0]:.3f}" for r in REPORTED.values())),
            ("smallest", *(f"{v.min():.3f}" for v in values.values())),
            ("smallest reported", *(f"{r[1]:.3f}" for r in REPORTED.values())),
        )
        yield Table(f"{s['draws']} draws here, {REPORTED_DRAWS} there", ("", *values), rows)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        values, n = self.values(made), s["draws"]
        if s.variant != "code" or any(s[name] != size for name, size in SIZES.items()):
            yield sentence("the numbers of the table", [], "they are of other draws than these")
            return
        means, least = [], []
        for name, found in values.items():
            here = mean(found)
            # The reported mean has the error of its own draws.
            there = 3 * float(found.std(ddof=1)) / np.sqrt(REPORTED_DRAWS)
            apart = abs(float(here.value) - REPORTED[name][0])
            means.append(
                self.same(name, apart=Measured(apart), allowed=Measured(here.error + there))
            )
            above = int((found >= REPORTED[name][1]).sum())
            # 1000 draws without exception allow for a probability down to this.
            claimed = (MISSED / 2) ** (1 / REPORTED_DRAWS)
            least.append(
                self.rare(
                    f"{name}: {above} of {n}",
                    upper_end=Measured(upper_end(above, n)),
                    claimed=Measured(claimed),
                )
            )
        yield sentence("the means of the table", means, "rounding of the table is not counted")
        yield sentence(
            "no draw is below the smallest of the table",
            least,
            "by exact intervals, that of 1000 draws without exception for the table",
        )
