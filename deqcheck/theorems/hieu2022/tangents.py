"""Derivatives along a direction by one linear system for each sample, with their radii.

On a fixed activation pattern dz_S = (I - W_SS)^-1 (dW z + dU x)_S in every sample, and
dW = -(dA^T A + A^T dA) + dB - dB^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.measured import EPS
from deqcheck.theorems.hieu2022.setting import State


@dataclass(frozen=True)
class Slope:
    """An array, its radius by rounding, and what the error of the computed state adds."""

    value: np.ndarray
    noise: float
    unsure: float


def size(a: np.ndarray) -> float:
    return errors.length(a)


def of_weight(state: State, way: dict[str, np.ndarray]) -> Slope:
    """dW. Every radius is a multiple of what was added, so that a structural zero has none."""
    symmetric = state.A.T @ way["A"]
    skew = way["B"] - way["B"].T
    noise = errors.rounding(state.n, size(state.A) * size(way["A"]))
    value = skew - symmetric - symmetric.T
    return Slope(value, 2 * noise + 4 * EPS * (size(skew) + 2 * size(symmetric)), 0.0)


def of_map(state: State, dW: Slope, dU: np.ndarray) -> Slope:
    """-dg = D (dW Z + dU X) at fixed Z, as a matrix."""
    value = state.equilibrium.mask * (dW.value @ state.Z + dU @ state.X)
    if not state.equilibrium.mask.any():
        return Slope(value, 0.0, 0.0)
    Z, turned = size(state.Z), size(dW.value)
    noise = dW.noise * Z + errors.rounding(state.n, turned * Z)
    noise += errors.rounding(len(state.X), size(dU) * size(state.X))
    return Slope(value, noise, turned * state.equilibrium.error)


def solved(state: State, forcing: Slope) -> Slope:
    """dZ = (I - D W)^-1 forcing. Backward error of the solve: n eps |I - W|; the inverse is at
    most 1/m on the active units."""
    value = state.patterns.solve(forcing.value)
    relative = conditioning(state) * errors.rounding(state.n, 1.0)
    noise = relative * size(value) + forcing.noise / state.m
    return Slope(value, noise, (forcing.unsure + state.W_radius * size(value)) / state.m)


def conditioning(state: State) -> float:
    """|Q| |Q^-1| <= (1 + |W|)(1 + |W|/m) for the Kronecker form, idle units included."""
    W = size(state.W)
    return (1 + W) * (1 + W / state.m)
