"""Forward and reverse passes of an OptEq network, never forming an mN x mN matrix.

Each number of a pass carries a Frobenius radius: rounding and the errors that came before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.errors import rounding
from deqcheck.models.opteq.convex import Smooth
from deqcheck.models.opteq.network import Layer, Network, Pass, Radius, size
from deqcheck.models.problem import norm
from deqcheck.records.measured import EPS


class Weights(NamedTuple):
    """beta_k and lambda_k of one SAM iteration."""

    beta: float
    lambda_: float


@dataclass(frozen=True)
class Sam:
    """S_k(Z) = (1 - g lambda_k) Z - g grad R(Z), mixed in with the share beta_k (eq 10)."""

    gamma: float
    R: Smooth
    weights: Sequence[Weights]
    uses_output: bool = False

    @property
    def lambda_(self) -> float:
        """Of the first iteration."""
        return self.weights[0].lambda_

    def S(self, Z: np.ndarray, w: Weights) -> np.ndarray:
        out: np.ndarray = (1 - self.gamma * w.lambda_) * Z - self.gamma * self.R.gradient(Z)
        return out

    def adjoint(self, Z: np.ndarray, Q: np.ndarray, w: Weights) -> np.ndarray:
        """At the state Z that the iteration started from."""
        out: np.ndarray = (1 - self.gamma * w.lambda_) * Q - self.gamma * self.R.pull(Z, Q)
        return out

    def jacobians(self, Z: np.ndarray, w: Weights) -> np.ndarray:
        """V = (1 - g lambda) I - g H for each column (N x m x m)."""
        out: np.ndarray = (1 - self.gamma * w.lambda_) * np.eye(len(Z))
        return out - self.gamma * self.R.hessians(Z)

    def stretch(self, w: Weights) -> float:
        top = 1 - self.gamma * w.lambda_
        return max(abs(top), abs(top - self.gamma * self.R.smoothness)) * (1 + 8 * EPS)

    def noise(self, whole: float, columns: int) -> float:
        """Rounding of S, or of its adjoint, at a state of this Frobenius norm."""
        return rounding(4, whole) + self.gamma * self.R.rounding(whole, columns)


@dataclass(frozen=True)
class Step:
    """One iteration of the forward pass."""

    network: Network
    Z: np.ndarray
    passes: list[Pass]
    weights: Weights


NO_SAM = Weights(0.0, 0.0)


def iterate(
    networks: Iterable[Network], Z0: np.ndarray, sam: Sam | None
) -> tuple[list[Step], np.ndarray, Radius]:
    """An iteration of each from Z0: what every layer saw, the last state and its radius."""
    steps, Z = [], Z0
    radius: Radius = 0.0
    for k, network in enumerate(networks):
        w = NO_SAM if sam is None else sam.weights[k]
        passes, moved, moved_radius = network.visit(Z, radius)
        steps.append(Step(network, Z, passes, w))
        if sam is not None:
            noise = sam.noise(size(Z), Z.shape[1])
            pulled, S = sam.stretch(w) * radius + noise, sam.S(Z, w)
            whole = size(S) + size(moved)
            moved = w.beta * S + (1 - w.beta) * moved
            moved_radius = w.beta * pulled + (1 - w.beta) * moved_radius + rounding(1, whole)
        Z, radius = moved, moved_radius
    return steps, Z, radius


class Piece(NamedTuple):
    """Adjoints around layer l (from 0): Pd belongs to its pre-activation, Q to its output."""

    layer: int
    Pd: np.ndarray
    Q: np.ndarray
    seen: Pass
    Pd_error: Radius
    Q_error: Radius


class Pull(NamedTuple):
    """Adjoint around S_k, for a regulariser that depends on the output weights."""

    Z: np.ndarray
    Q: np.ndarray
    share: float
    Z_error: Radius
    Q_error: Radius


def through_layers(
    network: Network, passes: Sequence[Pass], Q: np.ndarray, error: Radius
) -> Iterator[Piece]:
    """Reverse mode through the layers of one iteration; the last Piece is the first layer."""
    for i in reversed(range(len(network.layers))):
        layer, seen = network.layers[i], passes[i]
        P = layer.alpha * (layer.W @ Q)
        P_size, Q_size = size(P), size(Q)
        bent = _bent(layer, seen, P, P_size)
        Pd = layer.s.slope_beside(seen.A, seen.G) * P
        Pd_error = pulled_error(layer, P_size, Q_size, bent, error)
        yield Piece(i, Pd, Q, seen, Pd_error, error)
        if i:
            error = error_below(layer, size(Pd), Pd_error, Q_size, error)
            Q = layer.W.T @ Pd + (1 - layer.alpha) * Q


def _bent(layer: Layer, seen: Pass, P: np.ndarray, P_size: float) -> float:
    """What the radius of the pre-activations does to s'(A) o P. On a linear piece nothing, but
    which piece may be open."""
    if layer.s.smooth:
        return float(layer.s.curvature * seen.A_error * P_size)
    low, high = layer.s.slopes
    return (high - low) * norm(P[layer.s.doubtful(seen.A, seen.A_error)])


def pulled_error(
    layer: Layer, P_size: Radius, Q_size: Radius, bent: Radius, error: Radius
) -> Radius:
    """Of the adjoint s'(A) o P of the pre-activation, P = a W Q."""
    noise = rounding(layer.W.shape[-1], layer.frobenius * Q_size)
    P_error = layer.alpha * (layer.norm * error + noise)
    return layer.s.slopes[1] * P_error + bent + rounding(2, P_size)


def error_below(
    layer: Layer, Pd_size: Radius, Pd_error: Radius, Q_size: Radius, error: Radius
) -> Radius:
    """Of the adjoint of the layer's input."""
    whole = layer.frobenius * Pd_size
    inner = layer.norm * Pd_error + rounding(layer.W.shape[-2], whole)
    return inner + (1 - layer.alpha) * error + rounding(1, Q_size)


def before_layers(network: Network, first: Piece) -> tuple[np.ndarray, float]:
    """The adjoint of the input of the first layer, from that layer's piece."""
    layer = network.layers[first.layer]
    Q = layer.W.T @ first.Pd + (1 - layer.alpha) * first.Q
    sizes = size(first.Pd), first.Pd_error, size(first.Q), first.Q_error
    return Q, error_below(layer, *sizes)


def backwards_within(
    network: Network,
    steps: Sequence[Step],
    sam: Sam | None,
    at: tuple[int, int],
    Q: np.ndarray,
) -> Iterator[Piece | Pull]:
    """Reverse mode from the adjoint Q of Z^(k,l), at = (k, l): what the first l layers make of the
    state that iteration k starts from, k and l from 1."""
    k, depth = at
    last = None
    for last in through_layers(network.head(depth), steps[k - 1].passes[:depth], Q, 0.0):
        yield last
    assert last is not None
    yield from backwards(steps[: k - 1], sam, *before_layers(network, last))


def backwards(
    steps: Sequence[Step], sam: Sam | None, Q: np.ndarray, error: Radius
) -> Iterator[Piece | Pull]:
    """Reverse mode through all iterations, from the adjoint Q of Z^K."""
    for step in reversed(steps):
        network, beta = step.network, step.weights.beta
        last = None
        for last in through_layers(network, step.passes, (1 - beta) * Q, (1 - beta) * error):
            yield last
        assert last is not None
        below, below_error = before_layers(network, last)
        if sam is not None and beta:
            if sam.uses_output:
                yield Pull(step.Z, Q, beta * sam.gamma, step.passes[0].Zin_error, error)
            back = sam.adjoint(step.Z, Q, step.weights)
            whole = size(below) + size(back)
            below = below + beta * back
            noise = sam.noise(size(Q), Q.shape[1])
            turned = sam.gamma * sam.R.hessian_bend * step.passes[0].Zin_error
            pulled = sam.stretch(step.weights) * error + noise + turned * size(Q)
            below_error += beta * pulled + rounding(1, whole)
        Q, error = below, below_error
