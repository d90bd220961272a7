"""Small linear systems without what np.linalg.solve asks first, which takes longer: the routine is
the same (dgesv)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg.late import scipy

# Up to this order; beyond it the questions cost little.
SMALL = 8
# Systems that are solved one after the other sooner than as a stack.
FEW = 4


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B, of a vector or of columns. Raises LinAlgError where A is singular."""
    if not (0 < len(A) <= SMALL and B.size):
        return np.linalg.solve(A, B)
    *_, found, failed = scipy.linalg.lapack.dgesv(A, B)
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")
    # By rows, as all arrays are: sums run along the memory.
    return np.ascontiguousarray(found).reshape(B.shape)


def factored(A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """B -> A^-1 B for columns B, one after the other (dgetrf, dgetrs). Raises LinAlgError where A
    is singular."""
    lu, pivots, failed = scipy.linalg.lapack.dgetrf(A)
    if failed:
        raise np.linalg.LinAlgError("Singular matrix")

    def solved(B: np.ndarray) -> np.ndarray:
        found: np.ndarray = scipy.linalg.lapack.dgetrs(lu, pivots, B)[0]
        return found

    return solved


def solve_each(matrices: np.ndarray, rights: np.ndarray) -> np.ndarray:
    """Of each matrix with its vector, the rows of `rights`. Raises LinAlgError where one is
    singular."""
    if 0 < len(matrices) <= FEW and 0 < rights.shape[1] <= SMALL:
        return np.array([solve(A, b) for A, b in zip(matrices, rights, strict=True)])
    found: np.ndarray = np.linalg.solve(matrices, rights[:, :, None])[:, :, 0]
    return found
