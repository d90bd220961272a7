"""Loss and gradient of a network that is iterated, without radii: for integrators and second runs.

The formulas are those of `sweep` and `gradient`, which carry the radii and are the twin in the
tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deqcheck.models.opteq.network import Network
from deqcheck.models.opteq.sweep import NO_SAM, Sam, Weights
from deqcheck.models.problem import Params, Plain

if TYPE_CHECKING:
    from deqcheck.models.opteq.state import OpteqState


class Seen(NamedTuple):
    """Input, pre-activation and activation of a layer."""

    Z: np.ndarray
    A: np.ndarray
    G: np.ndarray


class Iteration(NamedTuple):
    Z: np.ndarray
    layers: list[Seen]
    weights: Weights


def plain(state: OpteqState) -> Plain:
    model, network, Wo, sam = state.model, state.network, state.Wo, state.sam
    steps, Z = [], model.Z0
    for k in range(model.iterations):
        step, Z = _forward(network, Z, sam, NO_SAM if sam is None else sam.weights[k])
        steps.append(step)
    r = Wo @ Z - model.Y
    Q = Wo.T @ r
    parts = {name: np.zeros(shape) for name, shape in state.shapes.items()}
    driven = [np.zeros((len(layer.W), network.X.shape[1])) for layer in network.layers]
    for step in reversed(steps):
        Q = _backward(network, step, sam, Q, parts, driven, Wo)
    if network.extractor is not None:
        pulled = sum(layer.U.T @ P for layer, P in zip(network.layers, driven, strict=True))
        parts["W0"] = (network.extractor.slopes * pulled) @ network.extractor.X0.T
    for i, P in enumerate(driven, 1):
        parts[f"U{i}"] = P @ network.X.T
        parts[f"b{i}"] = P.sum(axis=1)
    parts["Wo"] = parts["Wo"] + r @ Z.T
    flat = r.ravel(order="K")
    return Plain(float(np.add.reduce(flat * flat)) / 2, parts)


def _forward(
    network: Network, start: np.ndarray, sam: Sam | None, w: Weights
) -> tuple[Iteration, np.ndarray]:
    Z, layers = start, []
    for layer in network.layers:
        A = layer.W @ Z + layer.drive
        G = layer.s.value(A)
        layers.append(Seen(Z, A, G))
        Z = layer.alpha * (layer.W.T @ G) + (1 - layer.alpha) * Z
    if sam is not None:
        Z = w.beta * sam.S(start, w) + (1 - w.beta) * Z
    return Iteration(start, layers, w), Z


def _backward(
    network: Network,
    step: Iteration,
    sam: Sam | None,
    Q: np.ndarray,
    parts: Params,
    driven: list[np.ndarray],
    Wo: np.ndarray,
) -> np.ndarray:
    """The adjoint of the state that the iteration started from; adds to the parts by the way."""
    w = step.weights
    below = (1 - w.beta) * Q
    for i in reversed(range(len(network.layers))):
        layer, seen = network.layers[i], step.layers[i]
        Pd = layer.s.slope_beside(seen.A, seen.G) * (layer.alpha * (layer.W @ below))
        parts[f"W{i + 1}"] += Pd @ seen.Z.T + layer.alpha * (seen.G @ below.T)
        driven[i] += Pd
        below = layer.W.T @ Pd + (1 - layer.alpha) * below
    if sam is None or not w.beta:
        return below
    if sam.uses_output:
        both = step.Z @ Q.T
        parts["Wo"] -= w.beta * sam.gamma * (Wo @ (both + both.T))
    found: np.ndarray = below + w.beta * sam.adjoint(step.Z, Q, w)
    return found
