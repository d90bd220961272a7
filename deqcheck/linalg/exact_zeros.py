"""What of Z = relu(W Z + C) is zero in exact arithmetic, not only as computed: pre-activations, and
the smallest singular value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import rounding
from deqcheck.linalg.spectra import Factored

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


def silent(support: Support, C: np.ndarray, inactive: np.ndarray) -> np.ndarray:
    """Units with Z = 0 besides the `inactive` ones, which are known to have it.

    Let S be units whose C is not positive and which hear only from each other or from inactive
    ones: z_S = 0 solves their own equations, and the solution of those is unique with that of all.
    """
    found = C + support.C_reach <= 0
    while True:
        left = found & ~_heard(support, found | inactive)
        if np.array_equal(left, found):
            return np.asarray(found)
        found = left


def exactly_zero(support: Support, C: np.ndarray, inactive: np.ndarray) -> np.ndarray:
    """H_ij = C_ij + sum_l W_il Z_lj without a term that may differ from zero; `inactive` units are
    known to have Z = 0."""
    quiet = silent(support, C, inactive) | inactive
    return np.asarray((C == 0) & (support.C_reach == 0) & ~_heard(support, quiet))


def _heard(support: Support, quiet: np.ndarray) -> np.ndarray:
    """Where some unit that is not quiet has a weight."""
    return np.asarray(support.W.astype(float) @ ~quiet > 0)


def first_alike(a: np.ndarray) -> np.ndarray:
    """For each column the first one that is the same, to the bit."""
    seen: dict[bytes, int] = {}
    # -0.0 is 0.
    return np.array([seen.setdefault(c.tobytes(), j) for j, c in enumerate((a + 0.0).T)], dtype=int)


def equal_columns(a: np.ndarray) -> tuple[int, int] | None:
    """The first two columns that are the same."""
    first = first_alike(a)
    again = np.flatnonzero(first != np.arange(len(first)))
    return (int(first[again[0]]), int(again[0])) if len(again) else None


def why_dependent(may_differ: np.ndarray, inputs: np.ndarray) -> str:
    """Why the columns of Z are dependent, whatever its numbers are; empty if they need not be.

    Z is zero but where it `may_differ` from zero, and equal columns of `inputs` give equal columns.
    No choice of numbers gives more rank than the largest matching of rows and columns.
    """
    m, n = may_differ.shape
    if m < n:
        return f"{m} units for {n} samples"
    silent = ~may_differ.any(axis=0)
    if silent.any():
        return f"sample {int(np.argmax(silent))} activates no unit"
    pair = equal_columns(inputs)
    if pair is not None:
        return f"samples {pair[0]} and {pair[1]} are equal"
    # Few come here: the others need not wait for this import.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import structural_rank

    most = int(structural_rank(csr_matrix(may_differ)))
    return f"the active units allow rank {most} at most for {n} samples" if most < n else ""


def shared_pattern(mask: np.ndarray, doubtful: np.ndarray, inputs: np.ndarray) -> str:
    """Samples with the same active units and dependent inputs: on one pattern the state is a linear
    map of the input, so that their states are dependent, too. Patterns with a `doubtful` unit do
    not count; empty if there are no such samples."""
    groups: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(~np.any(doubtful, axis=0)):
        groups.setdefault(mask[:, j].tobytes(), []).append(int(j))
    for group in groups.values():
        if len(group) > 1 and _dependent(inputs[:, group]):
            samples = ", ".join(map(str, group))
            return f"samples {samples} have the same active units and dependent inputs"
    return ""


def _dependent(a: np.ndarray) -> bool:
    """Whether the columns certainly are."""
    if a.shape[0] < a.shape[1] or not a.any():
        return True
    found = Factored(a)
    return found.certain and found.rank < a.shape[1]
