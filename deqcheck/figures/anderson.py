"""Anderson acceleration of z <- f(z), as DEQ code has it, stopped at a relative residual."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MEMORY, RIDGE = 5, 1e-8


class Solved(NamedTuple):
    """The last iterate, the iterates f(z) was evaluated at, and |f(z) - z|/|f(z)| at each."""

    z: np.ndarray
    visited: list[np.ndarray]
    residuals: np.ndarray


def anderson(
    f: Callable[[np.ndarray], np.ndarray],
    z: np.ndarray,
    tolerance: float,
    most: int,
    memory: int = MEMORY,
    keep: bool = False,
) -> Solved:
    """The next iterate is the combination of the last values of f, with weights that sum to 1,
    whose residuals combine to the least norm."""
    images: list[np.ndarray] = []
    defects: list[np.ndarray] = []
    visited, residuals = [], []
    for _ in range(most):
        image = f(z)
        defect = image - z
        if keep:
            visited.append(z)
        size = float(np.linalg.norm(image))
        residuals.append(float(np.linalg.norm(defect)) / size if size else 0.0)
        if residuals[-1] <= tolerance or not np.isfinite(residuals[-1]):
            z = image
            break
        images, defects = [*images, image][-memory:], [*defects, defect][-memory:]
        z = np.tensordot(_weights(defects), np.stack(images), axes=1)
    return Solved(z, visited, np.array(residuals))


def _weights(defects: list[np.ndarray]) -> np.ndarray:
    rows = np.stack([each.ravel() for each in defects])
    gram = rows @ rows.T
    gram += RIDGE * np.trace(gram) * np.eye(len(gram)) / len(gram)
    # The defects are not all zero here, so that the ridge makes it regular.
    found = np.linalg.solve(gram, np.ones(len(gram)))
    total = float(found.sum())
    weights: np.ndarray = found / total if total else np.eye(len(gram))[-1]
    return weights
