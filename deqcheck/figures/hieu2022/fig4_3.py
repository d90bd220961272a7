"""Figure 4.3: the paths of the solver during training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Steps, Work
from deqcheck.figures.hieu2022.network import Shape, injected, solved, started
from deqcheck.figures.hieu2022.solving import bends, plane
from deqcheck.figures.hieu2022.training import AFTER_ONE, THETA, given, steps, unpacked
from deqcheck.figures.runs import OnProgress, mean
from deqcheck.models.problem import Params
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.theorems.base import Check

RUN = "training"


class Figure43(Figure):
    """Paths of Anderson acceleration from 0 for images of several classes, in the plane of their
    two main directions (PCA): at the start, after the first epoch, at the end of training by Adam
    with a cosine for its rate. A style of line is a class.

    The thesis' text has the tolerance 1e-2 and 50 steps, its caption 1e-3 and 100: both are
    offered. Not stated: channels, groups, batch.
    """

    id = "hieu2022/fig4.3"
    number = "Hieu 2022, Figure 4.3"
    title = "Paths of the solver during training"
    variants = {
        "text": "tolerance 1e-2, at most 50 steps, as the text says",
        "caption": "tolerance 1e-3, at most 100 steps, as the caption says",
    }
    images = ("mnist",)
    columns = 1
    quick = {
        "n": 90,
        "side": 8,
        "channels": 6,
        "groups": 3,
        "classes": 3,
        "epochs": 8,
        "batch": 15,
        "shown": 30,
        "rate": 1e-2,
    }
    full = {
        "n": 60000,
        "side": 28,
        "channels": 48,
        "groups": 8,
        "classes": 10,
        "epochs": 40,
        "batch": 100,
        "shown": 50,
        "rate": 1e-3,
    }

    leap = Check("share of a path that its first step is, at the start", "share >= 1/2")
    apart = Check("distance of an end to far ones over that to near ones", "first > start")
    bent = Check("length of the paths over the distance of their ends", "end > start")

    def shape(self, s: Setup) -> Shape:
        tolerance, most = (1e-2, 50) if s.variant == "text" else (1e-3, 100)
        return Shape(1, s["channels"], s["groups"], s["classes"], None, tolerance, most)

    def parts(self, s: Setup) -> Mapping[str, Work | Steps]:
        shape, data = self.shape(s), partial(given, s, "mnist")

        def paths(before: Made, progress: OnProgress) -> Made:
            images, labels = data()
            at = np.linspace(0, s["n"] - 1, s["shown"]).astype(int)
            made: Made = {"loss": before["loss"], "labels": labels[at]}
            after = {"first": unpacked(before, AFTER_ONE), "end": unpacked(before, THETA)}
            for name, theta in {"start": started(shape, 0), **after}.items():
                made |= _paths(shape, theta, images[at], name)
            return made

        return {RUN: Steps((*steps(s, shape, data), paths))}

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        run = made[RUN]
        titles = ("at the start", "after the first epoch", f"after {s['epochs']} epochs")
        for name, title in zip(("start", "first", "end"), titles, strict=True):
            lines = []
            for c in range(s["classes"]):
                mine = run[f"{name}.paths"][run["labels"] == c]
                # One line for a class; it is broken between its paths.
                broken = [np.vstack([path, np.full((1, 2), np.nan)]) for path in mine]
                joined = np.vstack(broken) if broken else np.full((1, 2), np.nan)
                label = f"class {c}" if name == "end" else ""
                lines.append(Line(label, joined[:, 0], joined[:, 1]))
            yield Axes(title, "first component", "second component", tuple(lines))

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        run = made[RUN]
        yield sentence(
            "at the start a path takes a single leap and is steady then",
            [self.leap(share=mean(run["start.leap"]))],
            "a leap is read as: half of the path or more, our threshold; over images",
        )
        yield sentence(
            "after the first epoch the states of different classes have moved to different regions",
            [self.apart(first=mean(run["first.apart"]), start=mean(run["start.apart"]))],
            "apart is read as: the farthest third of the other ends against the nearest, more so "
            "than at the start; over images",
        )
        yield sentence(
            "during training the paths become more complex",
            [self.bent(end=mean(run["end.bends"]), start=mean(run["start.bends"]))],
            "complex is read as: longer against the way from start to end; over images, in all "
            "dimensions",
        )

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        loss = made[RUN]["loss"]
        yield f"the cross-entropy goes from {loss[0]:.3g} to {loss[-1]:.3g}"


def _paths(shape: Shape, theta: Params, images: np.ndarray, name: str) -> Made:
    """Paths, padded by their ends to one length; what is read off them is of all dimensions."""
    x = injected(shape, theta, images)
    each = [solved(shape, theta, x[[i]], keep=True).visited for i in range(len(x))]
    longest = max(map(len, each))
    whole = np.stack(
        [np.stack([z.ravel() for z in (*one, *[one[-1]] * (longest - len(one)))]) for one in each]
    )
    steps = np.linalg.norm(np.diff(whole, axis=1), axis=2)
    ends = whole[:, -1]
    return {
        f"{name}.paths": plane(whole)[0],
        f"{name}.leap": steps[:, 0] / steps.sum(axis=1),
        f"{name}.bends": bends(whole),
        f"{name}.apart": _apart(ends),
    }


def _apart(ends: np.ndarray) -> np.ndarray:
    """For each end: its distance to the third of the others that is farthest, over that to the
    third that is nearest; large where ends form groups."""
    distance = np.sort(np.linalg.norm(ends[:, None] - ends[None], axis=2), axis=1)[:, 1:]
    third = max(distance.shape[1] // 3, 1)
    found: np.ndarray = distance[:, -third:].mean(axis=1) / distance[:, :third].mean(axis=1)
    return found
