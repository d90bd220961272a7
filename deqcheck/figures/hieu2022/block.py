"""The layer (4.1): f(z, x) = norm(relu(z + norm(x + W2 * norm(relu(W1 * z))))), with 3 x 3
convolutions and group norms without weights of their own, and its derivatives."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

SIDE, EPSILON = 3, 1e-5


@cache
def _places(channels: int, height: int, width: int) -> np.ndarray:
    """Where the neighbours of each pixel stand in a flattened image with a border."""
    c, i, j = np.ogrid[:channels, :SIDE, :SIDE]
    inside = (c * (height + 2) + i) * (width + 2) + j
    y, x = np.ogrid[:height, :width]
    found: np.ndarray = ((y * (width + 2) + x)[:, :, None] + inside.ravel()).ravel()
    return found


def patches(x: np.ndarray) -> np.ndarray:
    """The 3 x 3 neighbourhood of each pixel, zero beyond the border: images x H x W x 9 C."""
    n, c, h, w = x.shape
    padded = np.zeros((n, c, h + 2, w + 2))
    padded[:, :, 1:-1, 1:-1] = x
    found: np.ndarray = padded.reshape(n, -1).take(_places(c, h, w), axis=1)
    return found.reshape(n, h, w, c * SIDE * SIDE)


def conv(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    """weight: out x in x 3 x 3."""
    made = patches(x) @ weight.reshape(len(weight), -1).T
    found: np.ndarray = made.transpose(0, 3, 1, 2)
    return found


def conv_input(weight: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The adjoint in the input: the convolution with the turned weights."""
    return conv(weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1], g)


def conv_weight(x: np.ndarray, g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The adjoint in the weights."""
    seen = patches(x).reshape(-1, x.shape[1] * SIDE * SIDE)
    found: np.ndarray = g.transpose(1, 0, 2, 3).reshape(g.shape[1], -1) @ seen
    return found.reshape(shape)


class Normed(NamedTuple):
    value: np.ndarray
    # 1/standard deviation of each group.
    scale: np.ndarray
    groups: int


def norm(x: np.ndarray, groups: int) -> Normed:
    """Each group of channels of each image to mean 0 and variance 1."""
    flat = x.reshape(len(x), groups, -1)
    centred = flat - flat.mean(axis=2, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=2, keepdims=True) + EPSILON)
    return Normed((centred * scale).reshape(x.shape), scale, groups)


def norm_input(made: Normed, g: np.ndarray) -> np.ndarray:
    flat, y = (a.reshape(len(a), made.groups, -1) for a in (g, made.value))
    along = flat - flat.mean(axis=2, keepdims=True) - y * (flat * y).mean(axis=2, keepdims=True)
    found: np.ndarray = (made.scale * along).reshape(g.shape)
    return found


class Evaluated(NamedTuple):
    """f(z, x), and what its derivatives need."""

    value: np.ndarray
    z: np.ndarray
    inner: np.ndarray
    first: Normed
    second: Normed
    outer: np.ndarray
    third: Normed


class Pulled(NamedTuple):
    """A gradient with respect to f, pulled back to z, x and the weights."""

    z: np.ndarray
    x: np.ndarray
    W1: np.ndarray
    W2: np.ndarray


class Block(NamedTuple):
    W1: np.ndarray
    W2: np.ndarray
    groups: int

    def evaluated(self, z: np.ndarray, x: np.ndarray) -> Evaluated:
        inner = conv(self.W1, z)
        first = norm(np.maximum(inner, 0), self.groups)
        second = norm(x + conv(self.W2, first.value), self.groups)
        outer = z + second.value
        third = norm(np.maximum(outer, 0), self.groups)
        return Evaluated(third.value, z, inner, first, second, outer, third)

    def __call__(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.evaluated(z, x).value

    def pulled(self, at: Evaluated, g: np.ndarray) -> Pulled:
        outer = norm_input(at.third, g) * (at.outer > 0)
        x = norm_input(at.second, outer)
        inner = norm_input(at.first, conv_input(self.W2, x)) * (at.inner > 0)
        return Pulled(
            outer + conv_input(self.W1, inner),
            x,
            conv_weight(at.z, inner, self.W1.shape),
            conv_weight(at.first.value, x, self.W2.shape),
        )
