"""vec, Kronecker and commutation matrices: the slow, obviously right forms.

vec stacks columns, so vec(M X N) = (N^T kron M) vec X.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deqcheck.linalg.late import scipy


def vec(a: np.ndarray) -> np.ndarray:
    return np.ravel(a, order="F")


def unvec(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.reshape(x, shape, order="F")


def sparse_commutation(p: int, q: int) -> scipy.sparse.csc_matrix:
    """K with K vec(A) = vec(A^T) for every p x q matrix A: a permutation, p q entries."""
    rows, cols = np.meshgrid(np.arange(p), np.arange(q), indexing="ij")
    at = ((rows * q + cols).ravel(), (cols * p + rows).ravel())
    return scipy.sparse.csc_matrix((np.ones(p * q), at), shape=(p * q, p * q))


def commutation(p: int, q: int) -> np.ndarray:
    """The same, dense."""
    return np.asarray(sparse_commutation(p, q).toarray())


def block_diagonal(blocks: Sequence[np.ndarray]) -> np.ndarray:
    heights = [b.shape[0] for b in blocks]
    widths = [b.shape[1] for b in blocks]
    out = np.zeros((sum(heights), sum(widths)))
    i = j = 0
    for block in blocks:
        out[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return out
