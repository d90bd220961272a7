"""Figure 4.4: loss around the minimisers of an equilibrium and of repeated layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Steps, Work
from deqcheck.figures.hieu2022.landscape import guessing, landscape, share_below
from deqcheck.figures.hieu2022.network import Shape
from deqcheck.figures.runs import mean
from deqcheck.models.monotone_deq.slice import REPEATS
from deqcheck.records.figure import Axes, Grid, Sentence, Table, sentence
from deqcheck.theorems.base import Check

DEQ = "DEQ"


class Figure44(Figure):
    """Contours of the loss on a random plane, filter by filter as long as the parameters, around
    the end of training: the equilibrium model and the same layer repeated 6, 11 and 18 times, each
    trained on its own by Adam with a cosine for its rate.

    Flatness is the share of the plane on which the loss is below half of that of guessing, over
    several planes. Not stated in the thesis: channels, groups.
    """

    id = "hieu2022/fig4.4"
    number = "Hieu 2022, Figure 4.4"
    title = "Loss around minimisers"
    images = ("cifar10",)
    columns = 2
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
        "n": 50000,
        "side": 32,
        "channels": 48,
        "groups": 8,
        "classes": 10,
        "epochs": 50,
        "batch": 100,
        "rate": 1e-3,
        "points": 51,
        "seen": 400,
        "cuts": 3,
    }

    wider = Check(
        "share of the plane with a small loss: more than with fewer repeats", "growth > 0"
    )

    def shapes(self, s: Setup) -> dict[str, Shape]:
        sizes = (3, s["channels"], s["groups"], s["classes"])
        each = {f"repeat-{k}": Shape(*sizes, k) for k in REPEATS}
        return {**each, DEQ: Shape(*sizes, None, 1e-2, 30)}

    def parts(self, s: Setup) -> Mapping[str, Work | Steps]:
        return {name: landscape(s, shape, "cifar10") for name, shape in self.shapes(s).items()}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        for name, each in made.items():
            share = share_below(each, guessing(s) / 2)[0][0]
            plane, half = np.minimum(each["cuts"][0], 2 * guessing(s)), guessing(s) / 2
            grid = Grid(each["axis"], each["axis"], plane, "loss", mark=half)
            yield Axes(f"{name}: {share:.0%} below", "b", "a", grid=grid)

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        rows = []
        for name, each in made.items():
            found, unsure = share_below(each, guessing(s) / 2)
            shares = mean(found).widened(unsure)
            centre = each["cuts"][0][s["points"] // 2, s["points"] // 2]
            rows.append((name, f"{shares.value:.3g} ± {shares.error:.1g}", f"{centre:.3g}"))
        yield Table(
            f"Share of the plane with a loss below {guessing(s) / 2:.3g}",
            ("model", f"share, {s['cuts']} planes", "loss at the centre"),
            tuple(rows),
        )

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        shares = {name: share_below(each, guessing(s) / 2) for name, each in made.items()}
        yield sentence(
            "the neighbourhood of small loss grows with the number of repeats",
            [
                self.wider(f"{b} and {a}", growth=mean(new - old).widened(more + less))
                for (a, (old, less)), (b, (new, more)) in pairwise(shares.items())
            ],
            "small is read as: below half of the loss of guessing, our threshold; "
            f"{s['cuts']} planes around one minimiser of each model, three standard errors",
        )
