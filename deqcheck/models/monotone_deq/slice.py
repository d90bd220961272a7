"""The loss on a plane through given parameters, for the equilibrium and for unrolled models.

Section 4.2 of Hieu 2022: two random directions, each row rescaled to the norm of the same row of
the parameters, so that planes of different models can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.seeds import rng

# Sweeps of (3.1) in the weight-tied models that the thesis compares with.
REPEATS = (6, 11, 18)


@dataclass(frozen=True)
class Slice:
    """Losses at theta + alpha d1 + beta d2: one row for each alpha, one column for each beta."""

    alpha: np.ndarray
    beta: np.ndarray
    losses: dict[str, np.ndarray]


def filter_normalised(theta: Params, seed: int, name: str) -> Params:
    """A normal direction whose rows have the norms of theta's rows; a vector is one row."""
    stream = rng(seed, name)
    drawn = {n: stream.standard_normal(a.shape) for n, a in theta.items()}
    return {n: drawn[n] * _row_norms(a) / _row_norms(drawn[n]) for n, a in theta.items()}


def _row_norms(a: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(a, axis=-1, keepdims=True))


def unrolled_losses(model: MonotoneDeqModel, theta: Params) -> Iterator[tuple[int, float]]:
    """Half the squared residual after each number of sweeps Z <- relu(W Z + U X) from 0."""
    state = model.at(theta)
    Z = np.zeros_like(state.C)
    for sweep in range(1, max(REPEATS) + 1):
        Z = relu(state.W @ Z + state.C)
        if sweep in REPEATS:
            residual = Z.T @ state.u - model.y
            yield sweep, float(residual @ residual) / 2


def cut(
    model: MonotoneDeqModel, theta: Params, seed: int, points: int, reach: float = 1.0
) -> Slice:
    """The losses on a grid of points x points over [-reach, reach]^2."""
    first, second = (filter_normalised(theta, seed, f"slice.{i}") for i in (1, 2))
    axis = np.linspace(-reach, reach, points)
    names = ["deq", *(f"unrolled_{k}" for k in REPEATS)]
    losses = {name: np.full((points, points), np.nan) for name in names}
    for i, alpha in enumerate(axis):
        for j, beta in enumerate(axis):
            here = {n: theta[n] + alpha * first[n] + beta * second[n] for n in theta}
            losses["deq"][i, j] = _loss(model, here)
            with suppress(OutOfRange), in_range():
                for sweep, loss in unrolled_losses(model, here):
                    losses[f"unrolled_{sweep}"][i, j] = loss
    return Slice(axis, axis, losses)


def _loss(model: MonotoneDeqModel, theta: Params) -> float:
    try:
        with in_range():
            return float(model.at(theta).loss.value)
    except (NoEquilibrium, OutOfRange):
        return float("nan")
