"""Splittings that find the equilibrium of a ReLU network, and their factors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, identity
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.measured import Measured, stack


def forward_norm(F: Matrix, a: Measured) -> Measured:
    """|I - a F|, the factor of a forward-backward step."""
    return (identity(F.shape[0]) - F * a).norm2()


def reflected_norm(F: Matrix, a: Measured) -> Measured:
    """|(I - a F)(I + a F)^-1|, the factor of a Peaceman-Rachford step."""
    eye = identity(F.shape[0])
    return (eye + F * a).T.solve((eye - F * a).T).norm2()


def _forward(state: EquilibriumState, a: Measured) -> Iterator[tuple[np.ndarray, float]]:
    """Z <- s(Z - a (F Z - C)) from 0, and how far rounding may have taken it. A step does not
    expand where |I - a F| <= 1, so that the rounding of the steps adds up."""
    F, C, step = np.eye(state.n) - state.W, state.inputs, float(a.value)
    size, off = errors.length(F), errors.length(state.inputs_error)
    Z, noise = np.zeros_like(C), 0.0
    while True:
        yield Z, noise
        scale = (1 + step * size) * errors.length(Z) + step * errors.length(C)
        H = Z - step * (F @ Z - C)
        lost = state.s.radius(H, np.zeros_like(H))
        noise += errors.rounding(state.n, scale) + step * off + errors.length(lost)
        Z = state.s.value(H)


def forward_path(state: EquilibriumState, a: Measured, steps: int) -> tuple[np.ndarray, Measured]:
    """|Z_k - Z| of forward-backward splitting from 0."""
    error = state.equilibrium.error
    if state.silent:
        return np.arange(steps + 1), Measured(np.zeros(steps + 1))
    path = islice(_forward(state, a), steps + 1)
    found = [errors.frobenius(Z - state.Z, error + noise) for Z, noise in path]
    return np.arange(steps + 1), stack(found)


def forward_sizes(state: EquilibriumState, a: Measured, steps: int) -> tuple[np.ndarray, Measured]:
    """|Z_k| of the same."""
    found = [errors.frobenius(Z, noise) for Z, noise in islice(_forward(state, a), steps + 1)]
    return np.arange(steps + 1), stack(found)


def reflected_path(
    state: EquilibriumState, a: Measured, steps: int
) -> tuple[np.ndarray, Measured, Measured]:
    """|p_k - p*| of p <- 2 (I + a F)^-1 (|p| + a C) - |p| from 0, with z = relu(p) and the fixed
    point p* = Z + a (C - F Z); and |Z_k - Z|."""
    n, C, step = state.n, state.inputs, float(a.value)
    F = np.eye(n) - state.W
    lu = scipy.linalg.lu_factor(np.eye(n) + step * F)
    steep, off = 1 + step * errors.length(F), step * errors.length(state.inputs_error)
    target = state.Z + step * (C - F @ state.Z)
    scale = steep * errors.length(state.Z) + step * errors.length(C)
    still = steep * state.equilibrium.error + errors.rounding(n, scale) + off
    p, noise, far, near = np.zeros_like(C), 0.0, [], []
    for _ in range(steps + 1):
        far.append(errors.frobenius(p - target, still + noise))
        near.append(errors.frobenius(np.maximum(p, 0.0) - state.Z, state.equilibrium.error + noise))
        q = np.abs(p)
        size = errors.length(q) + step * errors.length(C)
        noise += 2 * errors.rounding(n, steep * size, 16.0) + 2 * off
        p = 2 * scipy.linalg.lu_solve(lu, q + step * C) - q
    return np.arange(steps + 1), stack(far), stack(near)


def damped_path(
    state: EquilibriumState, eta: np.ndarray, a: float, steps: int
) -> tuple[np.ndarray, Measured]:
    """max_i |z_i - z*_i|/eta_i of z <- (1 - a) z + a s(W z + c) from 0, over all samples."""
    if state.silent:
        return np.arange(steps + 1), Measured(np.zeros(steps + 1))
    Z, noise, found, s = np.zeros_like(state.inputs), 0.0, [], state.s
    least = float(eta.min())
    for _ in range(steps + 1):
        value = float((np.abs(Z - state.Z) / eta[:, None]).max())
        found.append(Measured(value, (state.equilibrium.error + noise) / least * (1 + 1e-15)))
        H, error = state.pre_activations(Z)
        new = (1 - a) * Z + a * s.value(H)
        lost = float((s.radius(H, error) + 4e-16 * (np.abs(Z) + np.abs(new))).max())
        # In the weighted norm a step does not expand.
        noise += lost * float(eta.max()) / least * np.sqrt(state.n)
        Z = new
    return np.arange(steps + 1), stack(found)
