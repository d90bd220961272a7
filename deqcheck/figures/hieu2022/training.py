"""Training by Adam, some epochs at a time, so that what is done is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Made, Setup, Step
from deqcheck.figures.hieu2022.network import Shape, gradient, started
from deqcheck.figures.images import rows
from deqcheck.figures.runs import OnProgress
from deqcheck.models.problem import Params
from deqcheck.seeds import rng

# Of the training that Section 4.1.2 tells: Adam with a cosine for the rate.
BETA1, BETA2, TINY = 0.9, 0.999, 1e-8
# The steps that a training is cut into, at most.
STEPS = 10
THETA, FIRST, SECOND, AFTER_ONE = "theta", "first", "second", "after one epoch"

Given = tuple[np.ndarray, np.ndarray]


def given(s: Setup, name: str) -> Given:
    """The images and labels that are trained on."""
    images = s.shelf.take(name, "train", s["n"], 0, tuple(range(s["classes"])))
    side: int = s["side"]
    return rows(images, side).reshape(s["n"], -1, side, side), images.labels


def steps(s: Setup, shape: Shape, data: Callable[[], Given]) -> Sequence[Step]:
    """A few epochs each; the state is that of Adam."""
    ends = np.unique(np.linspace(0, s["epochs"], min(s["epochs"], STEPS) + 1).astype(int))
    return [partial(_epochs, s, shape, data, range(a, b)) for a, b in pairwise(ends.tolist())]


def unpacked(made: Made, part: str) -> Params:
    head = f"{part}."
    return {key.removeprefix(head): a for key, a in made.items() if key.startswith(head)}


def packed(part: str, arrays: Params) -> Made:
    return {f"{part}.{name}": a for name, a in arrays.items()}


def _epochs(
    s: Setup,
    shape: Shape,
    data: Callable[[], Given],
    epochs: range,
    before: Made,
    progress: OnProgress,
) -> Made:
    """The rate falls from its first value to 0 along a half cosine."""
    images, labels = data()
    theta = unpacked(before, THETA) or started(shape, 0)
    first, second = (
        unpacked(before, part) or {name: np.zeros_like(a) for name, a in theta.items()}
        for part in (FIRST, SECOND)
    )
    losses, kept = before.get("loss", np.zeros(0)).tolist(), unpacked(before, AFTER_ONE)
    stream = rng(0, "figure.batches")
    for _ in range(epochs.start):
        stream.permutation(len(images))
    count = -(-len(images) // s["batch"])
    for epoch in epochs:
        order = stream.permutation(len(images))
        rate = s["rate"] * (1 + np.cos(np.pi * epoch / s["epochs"])) / 2
        for i in range(count):
            chosen = order[i * s["batch"] : (i + 1) * s["batch"]]
            value, g = gradient(shape, theta, images[chosen], labels[chosen])
            losses.append(value)
            k = len(losses)
            for name in theta:
                first[name] = BETA1 * first[name] + (1 - BETA1) * g[name]
                second[name] = BETA2 * second[name] + (1 - BETA2) * g[name] ** 2
            theta = {
                name: a
                - rate
                * (first[name] / (1 - BETA1**k))
                / (np.sqrt(second[name] / (1 - BETA2**k)) + TINY)
                for name, a in theta.items()
            }
            done = (epoch - epochs.start + (i + 1) / count) / len(epochs)
            progress(Progress("", k, float(epoch), done, value))
        if epoch == 0:
            kept = theta
    states = {THETA: theta, FIRST: first, SECOND: second, AFTER_ONE: kept}
    made = {key: a for part, arrays in states.items() for key, a in packed(part, arrays).items()}
    return {**made, "loss": np.array(losses)}
