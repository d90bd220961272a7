"""A few sweeps Z <- relu(W Z + C) from 0, stopped as a network in practice stops them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from deqcheck.linalg.certificates import Swept
from deqcheck.linalg.entries import finite
from deqcheck.linalg.errors import length, norm2, product
from deqcheck.linalg.patterns import distinct
from deqcheck.linalg.relu_equilibrium import Equilibrium, relu
from deqcheck.records.measured import EPS


def swept(found: Equilibrium, tolerance: float, most: int) -> Equilibrium:
    """The equation of `found` with Z^l, where l is the first with |Z^l - Z^(l-1)|_F <= tolerance,
    or `most`. Its error is the rounding of the sweeps; infinite where rounding decides l."""
    W, C = found.W, found.C
    Z, error = np.zeros_like(C), 0.0
    norm, size = float(norm2(W, found.W_radius).high), length(W)
    count, sure = 0, True
    for count in range(1, most + 1):
        new = relu(W @ Z + C)
        noise = product(len(Z), size * length(Z) + length(C))
        noise += found.C_radius + found.W_radius * length(Z)
        before, error = error, norm * error + noise
        moved, unsure = length(new - Z), before + error + 4 * EPS * length(new)
        Z = new
        sure &= count == most or abs(moved - tolerance) > unsure
        if moved <= tolerance:
            break
    done = replace(found, Z=Z, sweeps=count, proven=error if sure else math.inf)
    return replace(done, certificate=_inverse(done, norm))


def _inverse(found: Equilibrium, norm: float) -> Swept:
    """Bounds ||(I - J W)^-1 J|| for every J where W contracts, else for the slopes J of Z alone,
    if they are known."""
    if norm < 1:
        return Swept(1 / (1 - norm))
    if not finite(found.Z) or found.doubtful.any():
        return Swept(math.inf)
    eye, bound = np.eye(len(found.W)), 0.0
    for mask in distinct(found.mask)[0].T:
        smallest = np.linalg.svd(eye - mask[:, None] * found.W, compute_uv=False)[-1]
        rounding = product(len(eye), math.sqrt(len(eye)) + length(found.W)) + found.W_radius
        bound = max(bound, 1 / (smallest - rounding) if smallest > rounding else math.inf)
    return Swept(bound)
