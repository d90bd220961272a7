"""Definition 1 of Ling et al. 2022 by quadrature of (6): nothing here knows (11)."""

from __future__ import annotations

import numpy as np

from deqcheck.theorems.ling2022.kernel import PopulationKernel

# Of the arc on which both factors are positive: the integrand is a cosine there.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def expectation(angle: np.ndarray) -> np.ndarray:
    """E[relu(u) relu(v)] for (u, v) of unit variances and correlation cos(angle): in polar
    coordinates the radius integrates to 2, and the angle runs where both factors are positive."""
    half = (np.pi - angle) / 2
    total = np.zeros_like(angle)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        phi = np.pi / 2 - half * (1 - node)
        total += weight * np.cos(phi) * np.cos(phi - angle)
    found: np.ndarray = half * total / np.pi
    return found


def definition(kernel: PopulationKernel, last: int) -> list[np.ndarray]:
    """K^(0), ..., K^(last) by (6) alone."""
    found = [np.zeros_like(kernel.xi)]
    for _ in range(last):
        Lambda = kernel.s2 * found[-1] + kernel.xi
        lengths = np.sqrt(np.diag(Lambda))
        size = np.outer(lengths, lengths)
        angle = np.arccos(np.clip(Lambda / size, -1.0, 1.0))
        np.fill_diagonal(angle, 0.0)
        found.append(2 * size * expectation(angle))
    return found
