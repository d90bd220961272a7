"""From the adjoints of a reverse pass to the gradient, and to the rows of the Jacobian."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import rounding
from deqcheck.models.opteq.network import Network
from deqcheck.models.opteq.sweep import Piece, Pull
from deqcheck.models.problem import Params, norm


class Gradient(NamedTuple):
    """Each part with its Frobenius radius."""

    parts: Params
    radii: dict[str, float]


def summed(
    network: Network,
    shapes: Mapping[str, tuple[int, ...]],
    sweep: Iterable[Piece | Pull],
    Wo: np.ndarray,
) -> Gradient:
    """Contributions of every layer and iteration; Wo gets only what a regulariser adds to it.

    gW += Pd Zin^T + a G Q^T, gU = (sum Pd) X^T, gb = (sum Pd) 1.
    """
    parts = {name: np.zeros(shape) for name, shape in shapes.items()}
    radii = dict.fromkeys(shapes, 0.0)
    depth = len(network.layers)
    driven = [np.zeros((len(layer.W), network.X.shape[1])) for layer in network.layers]
    driven_error = [0.0] * depth
    for each in sweep:
        if isinstance(each, Pull):
            both = each.Z @ each.Q.T
            parts["Wo"] -= each.share * (Wo @ (both + both.T))
            radii["Wo"] += each.share * _pull_error(each, Wo)
            continue
        a, name = network.alpha, f"W{each.layer + 1}"
        seen = each.seen
        parts[name] += each.Pd @ seen.Zin.T + a * (seen.G @ each.Q.T)
        radii[name] += _outer_error(each, a)
        driven[each.layer] += each.Pd
        driven_error[each.layer] += each.Pd_error + rounding(1, norm(each.Pd))
    columns = network.X.shape[1]
    x = norm(network.X)
    if network.extractor is not None:
        pulled, pulled_error = by_input(network, driven, driven_error)
        parts["W0"], radii["W0"] = network.extractor.gradient(pulled, pulled_error)
    for i in range(depth):
        size, error = norm(driven[i]), driven_error[i]
        parts[f"U{i + 1}"] = driven[i] @ network.X.T
        radii[f"U{i + 1}"] = x * (error + rounding(columns, size)) + size * network.X_error
        parts[f"b{i + 1}"] = driven[i].sum(axis=1)
        radii[f"b{i + 1}"] = float(np.sqrt(columns)) * (error + rounding(columns, size))
    return Gradient(parts, radii)


def input_rows(network: Network, sweep: Iterable[Piece | Pull]) -> tuple[np.ndarray, float]:
    """The adjoint of X after a whole reverse pass, and its radius."""
    driven = [np.zeros((len(layer.W), network.X.shape[1])) for layer in network.layers]
    radii = [0.0] * len(driven)
    for each in sweep:
        if isinstance(each, Piece):
            driven[each.layer] += each.Pd
            radii[each.layer] += each.Pd_error + rounding(1, norm(each.Pd))
    return by_input(network, driven, radii)


def by_input(
    network: Network, driven: list[np.ndarray], driven_error: list[float]
) -> tuple[np.ndarray, float]:
    """The adjoint of X: sum_l U_l^T of what layer l was driven by, and its radius."""
    out, radius = np.zeros(network.X.shape), 0.0
    for layer, P, error in zip(network.layers, driven, driven_error, strict=True):
        out += layer.U.T @ P
        size = norm(layer.U)
        radius += size * (error + rounding(len(P) + 1, norm(P)))
    return out, radius


def _pull_error(each: Pull, Wo: np.ndarray) -> float:
    """Of Wo (Z Q^T + Q Z^T)."""
    Z, Q, W = (norm(a) for a in (each.Z, each.Q, Wo))
    moved = each.Z_error * (Q + each.Q_error) + Z * each.Q_error
    return 2 * W * (moved + rounding(sum(Wo.shape) + each.Z.shape[1], Z * Q))


def _outer_error(each: Piece, a: float) -> float:
    seen = each.seen
    Pd, Q = norm(each.Pd), norm(each.Q)
    Zin, G = norm(seen.Zin), norm(seen.G)
    left = each.Pd_error * (Zin + seen.Zin_error) + Pd * seen.Zin_error
    right = each.Q_error * (G + seen.A_error) + Q * seen.A_error
    return left + a * right + rounding(seen.Zin.shape[1] + 2, Pd * Zin + a * G * Q)


def per_sample(
    network: Network,
    shapes: Mapping[str, tuple[int, ...]],
    sweep: Iterable[Piece | Pull],
    Wo: np.ndarray,
) -> np.ndarray:
    """The same with the samples kept apart (N x number of parameters)."""
    N = network.X.shape[1]
    parts = {name: np.zeros((N, *shape)) for name, shape in shapes.items()}
    for each in sweep:
        if isinstance(each, Pull):
            both = np.einsum("ij,kj->jik", each.Z, each.Q)
            parts["Wo"] -= each.share * (Wo @ (both + both.transpose(0, 2, 1)))
            continue
        seen, tag = each.seen, each.layer + 1
        parts[f"W{tag}"] += np.einsum("nj,mj->jnm", each.Pd, seen.Zin)
        parts[f"W{tag}"] += network.alpha * np.einsum("nj,mj->jnm", seen.G, each.Q)
        parts[f"U{tag}"] += np.einsum("nj,dj->jnd", each.Pd, network.X)
        parts[f"b{tag}"] += each.Pd.T
        if network.extractor is not None:
            pulled = network.layers[each.layer].U.T @ each.Pd
            parts["W0"] += network.extractor.per_sample(pulled)
    return np.concatenate([part.reshape(N, -1) for part in parts.values()], axis=1)
