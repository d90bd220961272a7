"""Pre-activations of Z = relu(W Z + C) that are zero in exact arithmetic, not only as computed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import rounding

TINIEST = float(np.finfo(float).tiny)


class Support(NamedTuple):
    """Where W may differ from zero (m x m), and the radius of each entry of C (m x n)."""

    W: np.ndarray
    C_reach: np.ndarray


def product_support(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where a @ b has a product that is not zero."""
    return np.asarray(_support(a) @ _support(b) > 0)


def product_reach(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The radius of each entry of a computed a @ b: 0 only where every product has a zero."""
    reach = rounding(len(b), 1.0) * (np.abs(a) @ np.abs(b))
    # Products that underflow are not zero.
    return np.where(product_support(a, b), np.maximum(reach, TINIEST), 0.0)


def _support(a: np.ndarray) -> np.ndarray:
    found: np.ndarray = (a != 0).astype(float)
    return found


def exactly_zero(support: Support, C: np.ndarray, inactive: np.ndarray) -> np.ndarray:
    """H_ij = C_ij + sum_l W_il Z_lj without a term that may differ from zero; `inactive` units are
    known to have Z = 0.

    Let S be units whose C is not positive and which hear only from each other or from inactive
    ones: z_S = 0 solves their own equations, and the solution of those is unique with that of all.
    """
    silent = C + support.C_reach <= 0
    while True:
        heard = support.W.astype(float) @ ~(silent | inactive) > 0
        left = silent & ~heard
        if np.array_equal(left, silent):
            return np.asarray((C == 0) & (support.C_reach == 0) & ~heard)
        silent = left
