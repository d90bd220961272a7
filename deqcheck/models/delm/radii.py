"""Radii of the gradient of deep equilibrium linear models, by eqs (21), (22)."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from deqcheck.records.measured import EPS

# exp stays far from overflow and from denormal sums for exponents below this.
SAFE_EXPONENT = 300.0
# A number, or one for each of several models.
F = TypeVar("F", float, np.ndarray)


class Sized(Protocol):
    """Of a model, or of several: numbers, or arrays with one for each."""

    m: int
    my: int
    gamma: Any
    # Relative error of Z.
    z_error: Any


def gradient_radii(model: Sized, b: F, z: F, g: F, Q_error: F, inverse: float) -> tuple[F, F]:
    """Of grad_A and grad_B = G, from |B|, |Z|, |G| and |U^-1| <= inverse: G = Q U^-T, and
    grad_A[:, k] = gamma J_k (Z^T G)[:, k] with ||J_k|| <= 1/2."""
    dZ = model.z_error * z
    dG = inverse * (Q_error + 4 * EPS * model.m * g)
    # Z S is formed as (Z - B)/gamma, which costs 1/gamma in digits.
    size = (z + b / model.gamma) * g
    product = dZ * g + z * dG + 4 * EPS * (model.my + 1) * size
    return model.gamma * product, dG
