"""A classifier around the layer (4.1): equilibrium, or so many repeats of the layer from 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.anderson import Solved, anderson
from deqcheck.figures.hieu2022.block import Block, Evaluated, conv, conv_weight, norm, norm_input
from deqcheck.figures.runs import OnProgress
from deqcheck.models.problem import Params
from deqcheck.seeds import rng

# Of the training that Section 4.1.2 tells: Adam with a cosine for the rate.
RATE, BETA1, BETA2, TINY = 1e-3, 0.9, 0.999, 1e-8
POOLS = 2


class Shape(NamedTuple):
    """Sizes of the network; no repeats: the equilibrium."""

    inputs: int
    channels: int
    groups: int
    classes: int
    repeats: int | None = None
    tolerance: float = 1e-2
    most: int = 50


def started(shape: Shape, seed: int, scale: float = 0.1) -> Params:
    """Normal entries; `scale` is the standard deviation of those of the layer."""

    def drawn(name: str, size: tuple[int, ...], deviation: float) -> np.ndarray:
        return deviation * rng(seed, f"figure.init.{name}").standard_normal(size)

    c, features = shape.channels, shape.channels * POOLS**2
    return {
        "E": drawn("E", (c, shape.inputs, 3, 3), (9 * shape.inputs) ** -0.5),
        "W1": drawn("W1", (c, c, 3, 3), scale),
        "W2": drawn("W2", (c, c, 3, 3), scale),
        "H": drawn("H", (shape.classes, features), features**-0.5),
    }


def injected(shape: Shape, theta: Params, images: np.ndarray) -> np.ndarray:
    """What the layer is given of the images."""
    return norm(conv(theta["E"], images), shape.groups).value


def solved(shape: Shape, theta: Params, x: np.ndarray, keep: bool = False) -> Solved:
    f = Block(theta["W1"], theta["W2"], shape.groups)
    return anderson(lambda z: f(z, x), np.zeros_like(x), shape.tolerance, shape.most, keep=keep)


def loss(shape: Shape, theta: Params, images: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy."""
    x = injected(shape, theta, images)
    if shape.repeats is None:
        z = solved(shape, theta, x).z
    else:
        f, z = Block(theta["W1"], theta["W2"], shape.groups), np.zeros_like(x)
        for _ in range(shape.repeats):
            z = f(z, x)
    return _entropy(theta["H"] @ _pooled(z).T, labels)[0]


def gradient(
    shape: Shape, theta: Params, images: np.ndarray, labels: np.ndarray
) -> tuple[float, Params]:
    """The loss and its gradient: through the repeats, or by implicit differentiation."""
    f = Block(theta["W1"], theta["W2"], shape.groups)
    embedded = norm(conv(theta["E"], images), shape.groups)
    x = embedded.value
    steps: list[Evaluated] = []
    z = solved(shape, theta, x).z if shape.repeats is None else np.zeros_like(x)
    for _ in range(shape.repeats or 1):
        steps.append(f.evaluated(z, x))
        z = steps[-1].value
    value, slope = _entropy(theta["H"] @ _pooled(z).T, labels)
    g = _spread((theta["H"].T @ slope).T, z.shape)
    found = {name: np.zeros_like(array) for name, array in theta.items()}
    found["H"] = slope @ _pooled(z)
    if shape.repeats is None:
        # v = g + (df/dz)^T v at the equilibrium.
        start = g
        g = anderson(lambda v: start + f.pulled(steps[0], v).z, g, shape.tolerance, shape.most).z
    into_x = np.zeros_like(x)
    for step in reversed(steps):
        back = f.pulled(step, g)
        into_x, g = into_x + back.x, back.z
        found["W1"], found["W2"] = found["W1"] + back.W1, found["W2"] + back.W2
    found["E"] = conv_weight(images, norm_input(embedded, into_x), theta["E"].shape)
    return value, found


class Trained(NamedTuple):
    theta: Params
    losses: np.ndarray
    # The parameters before each epoch, and at the end.
    epochs: list[Params]


def train(
    shape: Shape,
    theta: Params,
    images: np.ndarray,
    labels: np.ndarray,
    epochs: int,
    batch: int,
    progress: OnProgress,
    rate: float = RATE,
) -> Trained:
    """Adam, the rate falling from its first value to 0 along a half cosine."""
    stream = rng(0, "figure.batches")
    first = {name: np.zeros_like(a) for name, a in theta.items()}
    second = {name: np.zeros_like(a) for name, a in theta.items()}
    kept, losses, k = [theta], [], 0
    for epoch in range(epochs):
        order = stream.permutation(len(images))
        now = rate * (1 + np.cos(np.pi * epoch / epochs)) / 2
        for at in range(0, len(images), batch):
            chosen = order[at : at + batch]
            value, g = gradient(shape, theta, images[chosen], labels[chosen])
            losses.append(value)
            k += 1
            for name in theta:
                first[name] = BETA1 * first[name] + (1 - BETA1) * g[name]
                second[name] = BETA2 * second[name] + (1 - BETA2) * g[name] ** 2
            theta = {
                name: a
                - now
                * (first[name] / (1 - BETA1**k))
                / (np.sqrt(second[name] / (1 - BETA2**k)) + TINY)
                for name, a in theta.items()
            }
            progress(Progress("", k, float(epoch), k * batch / len(images) / epochs, value))
        kept.append(theta)
    return Trained(theta, np.array(losses), kept)


def _pooled(z: np.ndarray) -> np.ndarray:
    """Means over the quarters of the images, in rows."""
    n, c, h, w = z.shape
    cut = z[:, :, : h // POOLS * POOLS, : w // POOLS * POOLS]
    blocks = cut.reshape(n, c, POOLS, h // POOLS, POOLS, w // POOLS)
    found: np.ndarray = blocks.mean(axis=(3, 5)).reshape(n, -1)
    return found


def _spread(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The adjoint of the means."""
    n, c, h, w = shape
    rows, columns = h // POOLS, w // POOLS
    blocks = g.reshape(n, c, POOLS, 1, POOLS, 1) / (rows * columns)
    whole = np.zeros(shape)
    whole[:, :, : rows * POOLS, : columns * POOLS] = np.broadcast_to(
        blocks, (n, c, POOLS, rows, POOLS, columns)
    ).reshape(n, c, rows * POOLS, columns * POOLS)
    return whole


def _entropy(logits: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean cross-entropy of logits in columns, and its slope."""
    shifted = logits - logits.max(axis=0)
    total = np.exp(shifted)
    chance = total / total.sum(axis=0)
    at = np.arange(len(labels))
    value = float(-np.mean(shifted[labels, at] - np.log(total.sum(axis=0))))
    chance[labels, at] -= 1
    return value, chance / len(labels)
