"""From the adjoints of a reverse pass to the gradient, and to the rows of the Jacobian."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import rounding
from deqcheck.models.opteq.network import Network, Radius, size
from deqcheck.models.opteq.sweep import Piece, Pull
from deqcheck.models.problem import Params, norm


class Gradient(NamedTuple):
    """Each part with its Frobenius radius."""

    parts: Params
    radii: dict[str, Radius]


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
    pulls, sizes, driven = 0.0, [], empty(network)
    for each in sweep:
        if isinstance(each, Pull):
            both = each.Z @ each.Q.T
            parts["Wo"] -= each.share * (Wo @ (both + both.T))
            pulls += each.share * _pull_error(each, Wo)
            continue
        seen = each.seen
        parts[f"W{each.layer + 1}"] += each.Pd @ seen.Zin.T + network.alpha * (seen.G @ each.Q.T)
        driven[each.layer] += each.Pd
        sizes.append(_sizes(each))
    found, errors = radii(network, sizes, [size(P) for P in driven])
    found = {**dict.fromkeys(shapes, 0.0), **found, "Wo": pulls}
    if network.extractor is not None:
        pulled, pulled_error = by_input(network, driven, errors)
        parts["W0"], found["W0"] = network.extractor.gradient(pulled, pulled_error)
    for i, P in enumerate(driven, 1):
        parts[f"U{i}"] = P @ network.X.T
        parts[f"b{i}"] = P.sum(axis=1)
    return Gradient(parts, found)


class Sizes(NamedTuple):
    """Of a Piece: Frobenius norms and radii."""

    layer: int
    Pd: Radius
    Q: Radius
    Zin: Radius
    G: Radius
    Pd_error: Radius
    Q_error: Radius
    Zin_error: Radius
    A_error: Radius


def _sizes(each: Piece) -> Sizes:
    Pd, Q, Zin, G = (size(a) for a in (each.Pd, each.Q, each.seen.Zin, each.seen.G))
    before = each.seen.Zin_error, each.seen.A_error
    return Sizes(each.layer, Pd, Q, Zin, G, each.Pd_error, each.Q_error, *before)


def radii(
    network: Network, pieces: Sequence[Sizes], driven: Sequence[Radius]
) -> tuple[dict[str, Radius], list[Radius]]:
    """Of the gradient by the layers' parameters, where all that each layer was driven by has these
    sizes; and the radii of that."""
    found: dict[str, Radius] = {f"W{i}": 0.0 for i in range(1, len(driven) + 1)}
    errors: list[Radius] = [0.0] * len(driven)
    columns, x = network.X.shape[1], norm(network.X)
    # Sums over samples and iterations, in whatever order, lose at most half an eps for each term.
    terms = columns * len(pieces) / len(driven) / 8
    for each in pieces:
        name = f"W{each.layer + 1}"
        found[name] = found[name] + _outer_error(each, network.alpha, columns + 2 + terms)
        errors[each.layer] = errors[each.layer] + each.Pd_error + rounding(1 + terms, each.Pd)
    for i, (whole, error) in enumerate(zip(driven, errors, strict=True), 1):
        found[f"U{i}"] = x * (error + rounding(columns, whole)) + whole * network.X_error
        found[f"b{i}"] = math.sqrt(columns) * (error + rounding(columns, whole))
    return found, errors


def _outer_error(each: Sizes, a: float, length: float) -> Radius:
    """Of Pd Zin^T + a G Q^T."""
    left = each.Pd_error * (each.Zin + each.Zin_error) + each.Pd * each.Zin_error
    right = each.Q_error * (each.G + each.A_error) + each.Q * each.A_error
    return left + a * right + rounding(length, each.Pd * each.Zin + a * each.G * each.Q)


def empty(network: Network) -> list[np.ndarray]:
    """For what each layer is driven by."""
    return [np.zeros((len(layer.W), network.X.shape[1])) for layer in network.layers]


def residual_radius(
    Wo: np.ndarray, Wo_norm: Radius, Z: np.ndarray, Z_radius: Radius, Y: np.ndarray
) -> Radius:
    """Of r = Wo Z - Y."""
    whole = size(Wo) * size(Z) + size(Y)
    return Wo_norm * Z_radius + rounding(Wo.shape[-1], whole)


def seed_radius(Wo: np.ndarray, Wo_norm: Radius, r: np.ndarray, r_radius: Radius) -> Radius:
    """Of Wo^T r, from which the reverse pass begins."""
    return Wo_norm * r_radius + rounding(r.shape[-2], size(Wo) * size(r))


def read_out_radius(r: np.ndarray, r_radius: Radius, Z: np.ndarray, Z_radius: Radius) -> Radius:
    """Of r Z^T."""
    z, whole = size(Z), size(r)
    moved = r_radius * (z + Z_radius) + whole * Z_radius
    return moved + rounding(r.shape[-1], whole * z)


def input_rows(network: Network, sweep: Iterable[Piece | Pull]) -> tuple[np.ndarray, float]:
    """The adjoint of X after a whole reverse pass, and its radius."""
    driven = empty(network)
    radii: list[Radius] = [0.0] * len(driven)
    for each in sweep:
        if isinstance(each, Piece):
            driven[each.layer] += each.Pd
            radii[each.layer] += each.Pd_error + rounding(1, size(each.Pd))
    return by_input(network, driven, radii)


def by_input(
    network: Network, driven: list[np.ndarray], driven_error: list[Radius]
) -> tuple[np.ndarray, Radius]:
    """The adjoint of X: sum_l U_l^T of what layer l was driven by, and its radius."""
    out, radius = np.zeros(network.X.shape), 0.0
    for layer, P, error in zip(network.layers, driven, driven_error, strict=True):
        out += layer.U.T @ P
        radius += size(layer.U) * (error + rounding(len(P) + 1, size(P)))
    return out, radius


def _pull_error(each: Pull, Wo: np.ndarray) -> Radius:
    """Of Wo (Z Q^T + Q Z^T)."""
    Z, Q, W = (size(a) for a in (each.Z, each.Q, Wo))
    moved = each.Z_error * (Q + each.Q_error) + Z * each.Q_error
    return 2 * W * (moved + rounding(sum(Wo.shape) + each.Z.shape[1], Z * Q))


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
