"""What the papers compare with: dense ReLU networks, and stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.seeds import rng

Gradient = Callable[[Params, np.ndarray], Params]
Predict = Callable[[Params, np.ndarray], np.ndarray]


class Dense(NamedTuple):
    """q = W_H relu(... relu(W_1 x + b_1) ...), with biases or without; one layer is linear."""

    layers: int
    bias: bool

    def started(self, sizes: Sequence[int], seed: int) -> Params:
        """Entries N(0, 1)/sqrt(width of the input of the layer), biases 0."""
        theta: Params = {}
        for i in range(self.layers):
            shape = sizes[i + 1], sizes[i]
            drawn = rng(seed, f"figure.dense.{i}").standard_normal(shape)
            theta[f"W{i}"] = drawn / np.sqrt(sizes[i])
            if self.bias:
                theta[f"b{i}"] = np.zeros((sizes[i + 1], 1))
        return theta

    def states(self, theta: Params, X: np.ndarray) -> list[np.ndarray]:
        """The input, the state after each layer, and the prediction."""
        found = [X]
        for i in range(self.layers):
            made = theta[f"W{i}"] @ found[-1]
            if self.bias:
                made = made + theta[f"b{i}"]
            found.append(np.maximum(made, 0) if i < self.layers - 1 else made)
        return found

    def predict(self, theta: Params, X: np.ndarray) -> np.ndarray:
        return self.states(theta, X)[-1]

    def gradient(self, theta: Params, X: np.ndarray, Y: np.ndarray) -> Params:
        """Of the mean over samples of |q - y|^2."""
        states = self.states(theta, X)
        back = 2 * (states[-1] - Y) / X.shape[1]
        found: Params = {}
        for i in reversed(range(self.layers)):
            found[f"W{i}"] = back @ states[i].T
            if self.bias:
                found[f"b{i}"] = back.sum(axis=1, keepdims=True)
            back = (theta[f"W{i}"].T @ back) * (states[i] > 0)
        return found


class Descended(NamedTuple):
    """Mean losses at the epochs that were looked at, one row for train and one for test."""

    losses: np.ndarray
    theta: Params


def descended(
    theta: Params,
    gradient: Gradient,
    measured: Callable[[Params], tuple[float, float]],
    samples: int,
    batch: int,
    rate: float,
    momentum: float,
    epochs: int,
    looks: Sequence[int],
    seed: int,
) -> Descended:
    """v <- momentum v + g, theta <- theta - rate v on batches in random order; what overflows stays
    infinite."""
    stream = rng(seed, "figure.sgd")
    velocity = {name: np.zeros_like(a) for name, a in theta.items()}
    found = np.full((2, len(looks)), np.inf)
    with np.errstate(all="ignore"):
        for epoch in range(epochs + 1):
            if epoch in looks:
                at = list(looks).index(epoch)
                found[:, at] = measured(theta)
                if not np.isfinite(found[:, at]).all():
                    found[:, at:] = np.inf
                    break
            order = stream.permutation(samples)
            for first in range(0, samples, batch):
                g = gradient(theta, order[first : first + batch])
                velocity = {n: momentum * velocity[n] + g[n] for n in theta}
                theta = {n: theta[n] - rate * velocity[n] for n in theta}
    return Descended(found, theta)
