"""The loss on a plane around trained parameters, and numbers that tell how flat it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Made, Setup, Steps
from deqcheck.figures.hieu2022.network import Shape, loss
from deqcheck.figures.hieu2022.training import THETA, Given, given, steps, unpacked
from deqcheck.figures.runs import OnProgress
from deqcheck.models.monotone_deq.slice import filter_normalised
from deqcheck.models.problem import Params
from deqcheck.records.measured import Measured

# Of the solver, where the loss is drawn.
FINE, MOST = 1e-4, 100


def filters(theta: Params) -> Params:
    """Each filter in one row, as `filter_normalised` has them."""
    return {name: a.reshape(len(a), -1) for name, a in theta.items()}


def cut(
    shape: Shape,
    theta: Params,
    images: np.ndarray,
    labels: np.ndarray,
    seed: int,
    points: int,
    tell: Callable[[float], None],
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
            tell((i * points + j + 1) / points**2)
    return found


def resolved(
    shape: Shape,
    theta: Params,
    images: np.ndarray,
    labels: np.ndarray,
    seed: int,
    points: int,
    progress: OnProgress,
) -> tuple[np.ndarray, np.ndarray]:
    """The cut by a finer solver than that of the training, and what it leaves open: the difference
    to a tolerance that is ten times as large. Repeats have no tolerance."""
    fixed = theta, images, labels, seed, points

    def tell(share: float) -> None:
        progress(Progress("", seed, 0.0, share, float("nan")))

    if shape.repeats is not None:
        exact = cut(shape, *fixed, tell)
        return exact, np.zeros_like(exact)
    coarse, fine = (
        cut(
            shape._replace(tolerance=tolerance, most=MOST),
            *fixed,
            lambda share, half=half: tell((half + share) / 2),  # type: ignore[misc]
        )
        for half, tolerance in enumerate((10 * FINE, FINE))
    )
    return fine, np.abs(fine - coarse)


def landscape(s: Setup, shape: Shape, name: str) -> Steps:
    """Training, and a cut for each pair of directions."""
    data = partial(given, s, name)
    cuts = [partial(_cut, s, shape, data, seed) for seed in range(s["cuts"])]
    return Steps((*steps(s, shape, data), *cuts))


def _cut(
    s: Setup,
    shape: Shape,
    data: Callable[[], Given],
    seed: int,
    before: Made,
    progress: OnProgress,
) -> Made:
    """After those that are there already."""
    images, labels = data()
    chosen = slice(0, s["n"], max(s["n"] // s["seen"], 1))
    fixed = images[chosen], labels[chosen], seed, s["points"]
    found, error = resolved(shape, unpacked(before, THETA), *fixed, progress)
    none = np.zeros((0, *found.shape))
    return {
        **before,
        "cuts": np.concatenate([before.get("cuts", none), found[None]]),
        "errors": np.concatenate([before.get("errors", none), error[None]]),
        "axis": np.linspace(-1, 1, s["points"]),
    }


def guessing(s: Setup) -> float:
    """The cross-entropy of equal chances."""
    return float(np.log(s["classes"]))


def share_below(made: Made, level: float) -> tuple[np.ndarray, float]:
    """Of each plane, the share on which the loss is below a level, and by how much a share may be
    off: a point of the grid, and the points at which the solver leaves it open."""
    cuts, errors = made["cuts"], made["errors"]
    low, high = ((cuts + sign * errors < level).mean(axis=(1, 2)) for sign in (1, -1))
    cell = len(made["axis"]) ** -2.0
    return (low + high) / 2, float((high - low).max()) / 2 + cell


def minima(grid: np.ndarray, error: np.ndarray) -> Measured:
    """How many points inside of a grid are below all of their neighbours: those that certainly are,
    to those that may be."""
    low, high = (_below_all(grid + sign * error, grid - sign * error) for sign in (1, -1))
    return Measured((low + high) / 2, (high - low) / 2)


def _below_all(inner: np.ndarray, outer: np.ndarray) -> int:
    rows, columns = inner.shape
    around = [
        outer[1 + i : rows - 1 + i, 1 + j : columns - 1 + j]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    return int((inner[1:-1, 1:-1] < np.stack(around)).all(axis=0).sum())
