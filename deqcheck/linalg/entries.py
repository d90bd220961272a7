"""Questions about all entries of an array: few entries are asked one by one, sooner than a
reduction of NumPy begins, with the same answers to the last digit."""

from __future__ import annotations

import math
import sys

import numpy as np

FEW = 16
# Below it floats are subnormal.
SMALLEST = sys.float_info.min


def finite(a: np.ndarray) -> bool:
    if a.size <= FEW:
        return all(map(math.isfinite, a.ravel().tolist()))
    return bool(np.isfinite(a).all())


def nonzero(a: np.ndarray) -> bool:
    """Whether any is."""
    return any(a.ravel().tolist()) if a.size <= FEW else bool(a.any())


def nonnegative(a: np.ndarray) -> bool:
    """Whether all are."""
    return all(x >= 0 for x in a.ravel().tolist()) if a.size <= FEW else bool((a >= 0).all())


def same(mask: np.ndarray, other: np.ndarray) -> bool:
    """Whether two masks of one shape are."""
    return mask.tobytes() == other.tobytes()


def largest(a: np.ndarray) -> float:
    """The largest absolute value, 0 of none, nan where one is."""
    if a.size <= FEW:
        sizes = [abs(x) for x in a.ravel().tolist()]
        if not math.isnan(sum(sizes)):
            return max(sizes, default=0.0)
    return float(np.abs(a).max(initial=0.0))


def subnormal(a: np.ndarray) -> bool:
    """Whether any is, which has fewer digits than others."""
    if a.size <= FEW:
        return any(0 < abs(x) < SMALLEST for x in a.ravel().tolist())
    size = np.abs(a)
    return bool(((size > 0) & (size < SMALLEST)).any())


def column_lengths(a: np.ndarray) -> np.ndarray:
    """As np.linalg.norm of each column."""
    found: np.ndarray = np.sqrt(np.add.reduce(a * a, axis=0))
    return found


def euclidean(a: np.ndarray) -> float:
    """As np.linalg.norm of a real array, which asks first what else it could be. `errors.length`
    neither underflows nor overflows."""
    flat = np.asarray(a, dtype=float).ravel(order="K")
    return math.sqrt(flat.dot(flat))
