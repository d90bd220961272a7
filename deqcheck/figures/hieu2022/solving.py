"""What Figures 4.1 and 4.2 share: Anderson acceleration of (4.1) from two starts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Figure, Made, Setup, Sizes, Work
from deqcheck.figures.hieu2022.network import Shape, injected, solved, started
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress

NORMAL, SMALL = "N(0, 1)", "N(0, 0.01)"
# Paths that are drawn: more of them hide each other.
SHOWN = 10


class Solving(Figure):
    """Of weights with standard deviation 1, and of small ones."""

    variants: ClassVar[Mapping[str, str]] = {
        "text": "N(0, 0.01) has the variance 0.01, as the notation says",
        "deviation": "N(0, 0.01) has the standard deviation 0.01, as DEQ code usually has",
    }
    images = ("mnist",)
    quick: ClassVar[Sizes] = {
        "n": 6,
        "side": 10,
        "channels": 8,
        "groups": 4,
        "steps": 30,
        "draws": 6,
    }
    full: ClassVar[Sizes] = {
        "n": 100,
        "side": 28,
        "channels": 48,
        "groups": 8,
        "steps": 50,
        "draws": 10,
    }

    def deviations(self, s: Setup) -> dict[str, float]:
        return {NORMAL: 1.0, SMALL: 0.01 if s.variant == "deviation" else 0.1}

    def parts(self, s: Setup) -> Mapping[str, Work]:
        return {name: partial(self.trace, s, name) for name in (NORMAL, SMALL)}

    def shape(self, s: Setup) -> Shape:
        return Shape(1, s["channels"], s["groups"], 10, None, 0.0, s["steps"])

    def pixels(self, s: Setup, split: str) -> tuple[np.ndarray, np.ndarray]:
        images = s.shelf.take("mnist", split, s["n"], 0)
        flat = rows(images, s["side"])
        return flat.reshape(s["n"], 1, s["side"], s["side"]), images.labels

    def trace(self, s: Setup, name: str, progress: OnProgress) -> Made:
        """The relative residual (4.2) of each step for each draw of the weights, the mean over the
        images; and the iterates of the first draw in their two main directions."""
        shape, (images, _) = self.shape(s), self.pixels(s, "test")
        residuals, bent, shown = [], [], []
        for seed in range(s["draws"]):
            theta = started(shape, seed, self.deviations(s)[name])
            x = injected(shape, theta, images)
            each = []
            for i in range(len(x)):
                done = (seed + i / len(x)) / s["draws"]
                progress(Progress("", seed, 0.0, done, float("nan")))
                one = solved(shape, theta, x[[i]], keep=True)
                path = np.stack([z.ravel() for z in one.visited])
                each.append((one.residuals, float(bends(path[None])[0])))
                if seed == 0 and i < SHOWN:
                    shown.append(path)
            residuals.append(np.mean([r for r, _ in each], axis=0))
            bent.append(np.mean([b for _, b in each]))
        paths, share = plane(np.stack(shown))
        return {
            "residuals": np.stack(residuals),
            "bends": np.array(bent),
            "paths": paths,
            "share": np.array([share]),
        }


def plane(paths: np.ndarray) -> tuple[np.ndarray, float]:
    """Principal components: paths x steps x 2, and the share of the variance that is seen."""
    flat = paths.reshape(-1, paths.shape[-1])
    centred = flat - flat.mean(axis=0)
    _, sizes, ways = np.linalg.svd(centred, full_matrices=False)
    total = float((sizes**2).sum())
    seen = float((sizes[:2] ** 2).sum()) / total if total else 1.0
    return (centred @ ways[:2].T).reshape(*paths.shape[:-1], 2), seen


def bends(paths: np.ndarray) -> np.ndarray:
    """Of each path: its length over the distance of its ends."""
    length = np.linalg.norm(np.diff(paths, axis=1), axis=2).sum(axis=1)
    found: np.ndarray = length / np.linalg.norm(paths[:, -1] - paths[:, 0], axis=1)
    return found
