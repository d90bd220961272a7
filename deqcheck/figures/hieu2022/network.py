"""A classifier around the layer (4.1): equilibrium, or so many repeats of the layer from 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.figures.anderson import Solved, anderson
from deqcheck.figures.hieu2022.block import Block, Evaluated, conv, conv_weight, norm, norm_input
from deqcheck.models.problem import Params
from deqcheck.seeds import rng

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
