"""The loss on a plane around trained parameters, and numbers that tell how flat it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Made, Setup
from deqcheck.figures.hieu2022.network import Shape, loss, started, train
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress
from deqcheck.models.monotone_deq.slice import filter_normalised
from deqcheck.models.problem import Params


def filters(theta: Params) -> Params:
    """Each filter in one row, as `filter_normalised` has them."""
    return {name: a.reshape(len(a), -1) for name, a in theta.items()}


def cut(
    shape: Shape, theta: Params, images: np.ndarray, labels: np.ndarray, seed: int, points: int
) -> np.ndarray:
    """loss(theta + a d1 + b d2) for a, b in [-1, 1], d1 and d2 random, each filter of the length of
    the same filter of theta: a row for each a."""
    ways = [filter_normalised(filters(theta), seed, f"slice.{i}") for i in (1, 2)]
    first, second = ({n: w[n].reshape(theta[n].shape) for n in theta} for w in ways)
    axis = np.linspace(-1, 1, points)
    found = np.zeros((points, points))
    for i, a in enumerate(axis):
        for j, b in enumerate(axis):
            here = {n: theta[n] + a * first[n] + b * second[n] for n in theta}
            found[i, j] = loss(shape, here, images, labels)
    return found


def landscape(s: Setup, shape: Shape, name: str, progress: OnProgress) -> Made:
    """Training, and a cut for each pair of directions."""
    given = s.shelf.take(name, "train", s["n"], 0, tuple(range(s["classes"])))
    side: Any = s["side"]
    images = rows(given, side).reshape(s["n"], -1, side, side)
    start = started(shape, 0)
    fixed = (s["epochs"], s["batch"], progress, s["rate"])
    done = train(shape, start, images, given.labels, *fixed)
    cuts = []
    for seed in range(s["cuts"]):
        progress(Progress("", seed, 0.0, seed / s["cuts"], done.losses[-1]))
        chosen = slice(0, s["n"], max(s["n"] // s["seen"], 1))
        cuts.append(cut(shape, done.theta, images[chosen], given.labels[chosen], seed, s["points"]))
    return {"loss": done.losses, "cuts": np.stack(cuts), "axis": np.linspace(-1, 1, s["points"])}


def guessing(s: Setup) -> float:
    """The cross-entropy of equal chances."""
    return float(np.log(s["classes"]))


def share_below(cuts: np.ndarray, level: float) -> np.ndarray:
    """Of each plane, the share on which the loss is below a level."""
    found: np.ndarray = (cuts < level).mean(axis=(1, 2))
    return found


def minima(grid: np.ndarray, depth: float) -> int:
    """Points inside of a grid that are below all of their neighbours by more than this."""
    rows, columns = grid.shape
    around = [
        grid[1 + i : rows - 1 + i, 1 + j : columns - 1 + j]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    return int((grid[1:-1, 1:-1] < np.stack(around) - depth).all(axis=0).sum())
