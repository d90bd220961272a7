"""Derivatives along a direction by one linear system for each sample, with their radii.

On a fixed activation pattern dz_S = (I - W_SS)^-1 (dW z + dU x)_S in every sample, and
dW = -(dA^T A + A^T dA) + dB - dB^T.
"""

from __future__ import annotations

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import Matrix
from deqcheck.records.measured import EPS
from deqcheck.records.tower import Again
from deqcheck.theorems.hieu2022.setting import State


@dataclass(frozen=True)
class Slope:
    """An array, its radius by rounding, what the error of the computed state adds, and the array
    computed again."""

    value: np.ndarray
    noise: float
    unsure: float
    exact: Again

    def matrix(self) -> Matrix:
        return Matrix(self.value, self.noise, self.exact)


def size(a: np.ndarray) -> float:
    return errors.length(a)


def of_weight(state: State, way: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """dW, and entry by entry what rounding may have done to it: nothing to a structural zero."""
    symmetric, skew = state.A.T @ way["A"], way["B"] - way["B"].T
    sizes = np.abs(state.A).T @ np.abs(way["A"])
    noise = errors.rounding(state.n, 1.0) * (sizes + sizes.T) + 4 * EPS * np.abs(skew)
    return skew - symmetric - symmetric.T, noise


def exact_weight(state: State, way: dict[str, Again]) -> Again:
    """dW, computed again."""
    symmetric = exact.product(exact.transpose(exact.array(state.A)), way["A"])
    skew = exact.minus(way["B"], exact.transpose(way["B"]))
    return exact.minus(skew, exact.plus(symmetric, exact.transpose(symmetric)))


def exact_map(state: State, dW: Again, dU: Again) -> Again:
    """D (dW Z + dU X), computed again."""
    pushed = exact.product(dU, exact.array(state.X))
    moved = exact.plus(exact.product(dW, state.again.Z), pushed)
    return exact.where_positive(state.again.relu.H, moved)


def of_map(state: State, dW: tuple[np.ndarray, np.ndarray], dU: np.ndarray, again: Again) -> Slope:
    """-dg = D (dW Z + dU X) at fixed Z, as a matrix; `again` makes it."""
    turned, noise = dW
    mask, Z = state.equilibrium.mask, np.abs(state.Z)
    value = mask * (turned @ state.Z + dU @ state.X)
    own = errors.rounding(state.n, 1.0) * np.abs(turned) @ Z
    own += errors.rounding(len(state.X), 1.0) * np.abs(dU) @ np.abs(state.X)
    off = size(mask * (noise @ Z + own))
    return Slope(value, off, size(turned) * state.equilibrium.error, again)


def solved(state: State, forcing: Slope) -> Slope:
    """dZ = (I - D W)^-1 forcing. Backward error of the solve: n eps |I - W|; the inverse is at
    most 1/m on the active units."""
    value = state.patterns.solve(forcing.value)
    relative = conditioning(state) * errors.rounding(state.n, 1.0)
    noise = relative * size(value) + forcing.noise / state.m
    unsure = (forcing.unsure + state.W_radius * size(value)) / state.m
    return Slope(value, noise, unsure, state.again.relu.tangents(forcing.exact))


def conditioning(state: State) -> float:
    """|Q| |Q^-1| <= (1 + |W|)(1 + |W|/m) for the Kronecker form, idle units included."""
    W = size(state.W)
    return (1 + W) * (1 + W / state.m)
