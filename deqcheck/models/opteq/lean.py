"""The gradient of a network that is iterated and has no more than its layers: for descents,
integrators and second runs.

Arrays have their samples in rows, and those of all iterations below each other, so that each sum
over samples and iterations is one product. The formulas are those of `sweep` and `gradient`, which
carry the radii and are the twin in the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.records.lazy import cached_property

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel


class _Layer(NamedTuple):
    """W and C = U X + b 1^T. Of each iteration, on the left activations and adjoints P of the
    pre-activations, on the right adjoints of the output, times a, and inputs: the gradient by W is
    the product of both. The pre-activations."""

    W: np.ndarray
    drive: np.ndarray
    left: np.ndarray
    right: np.ndarray
    A: np.ndarray


class Seen(NamedTuple):
    """Residual and state, with samples in rows, and Frobenius norms: for each layer those on the
    left (activations, adjoints of pre-activations) and on the right (adjoints of the output times
    a, inputs), of every iteration."""

    r: np.ndarray
    Z: np.ndarray
    sizes: Any


# Sizes that nobody looks at.
UNSIZED = np.zeros(0)


class Lean:
    """Of one model, at any parameters."""

    def __init__(self, model: OpteqModel):
        self.alpha, self.s, self.depth = model.alpha, model.s, model.depth
        self.count = model.iterations
        self.X, self.Y, self.Z0 = model.X.T, model.Y.T, model.Z0.T

    @cached_property
    def _inputs(self) -> np.ndarray:
        """Those of all iterations, and ones for b."""
        X = np.hstack([self.X, np.ones((len(self.X), 1))])
        return np.tile(X, (self.count, 1))

    def gradient(self, theta: Params) -> Params:
        return self._at(theta)[0]

    def seen(self, theta: Params, sized: bool = True) -> tuple[Params, Seen]:
        """The gradient, and what it went through; without sizes where no radius will be asked."""
        parts, layers, r, Z = self._at(theta)
        if not sized:
            return parts, Seen(r, Z, UNSIZED)
        squares = [
            [np.einsum("skij,skij->sk", a, a) for a in (layer.left, layer.right)]
            for layer in layers
        ]
        return parts, Seen(r, Z, np.sqrt(squares))

    def _at(self, theta: Params) -> tuple[Params, list[_Layer], np.ndarray, np.ndarray]:
        """The gradient; all layers, residual and state."""
        Wo = theta["Wo"]
        layers, Z = self._forward(theta)
        r = Z @ Wo.T
        r -= self.Y
        self._backward(layers, r @ Wo)
        parts = {"Wo": r.T @ Z}
        for i, layer in enumerate(layers, 1):
            n, m = layer.W.shape
            driven = layer.left[1].reshape(-1, n).T @ self._inputs
            parts[f"W{i}"] = layer.left.reshape(-1, n).T @ layer.right.reshape(-1, m)
            parts[f"U{i}"], parts[f"b{i}"] = driven[:, :-1], driven[:, -1]
        return {name: parts[name] for name in theta}, layers, r, Z

    def _forward(self, theta: Params) -> tuple[list[_Layer], np.ndarray]:
        kept, shape, layers = 1 - self.alpha, (self.count, len(self.X)), []
        for i in range(1, self.depth + 1):
            W, drive = theta[f"W{i}"], self.X @ theta[f"U{i}"].T
            drive += theta[f"b{i}"]
            left, right = (np.empty((2, *shape, width)) for width in W.shape)
            layers.append(_Layer(W, drive, left, right, np.empty((*shape, len(W)))))
        state: np.ndarray = self.Z0
        for k in range(self.count):
            for W, drive, left, right, pre in layers:
                Z = right[1, k]
                Z[...] = state
                A = np.dot(Z, W.T, out=pre[k])
                A += drive
                G = left[0, k] = self.s.value(A)
                state = G.dot(W)
                if kept:
                    state *= self.alpha
                    state += kept * Z
        return layers, state

    def _backward(self, layers: list[_Layer], adjoint: np.ndarray) -> None:
        kept = 1 - self.alpha
        slopes = [self.s.slope_beside(layer.A, layer.left[0]) for layer in layers]
        each = list(zip(reversed(layers), reversed(slopes), strict=True))
        for k in reversed(range(self.count)):
            for (W, _, left, right, _), slope in each:
                Q = np.multiply(adjoint, self.alpha, out=right[0, k])
                P = np.dot(Q, W.T, out=left[1, k])
                P *= slope[k]
                below = P.dot(W)
                if kept:
                    below += kept * adjoint
                adjoint = below
