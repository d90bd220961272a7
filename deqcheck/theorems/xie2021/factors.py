"""Factorisations W = A B^T with B of the largest possible rank (Lemma 4)."""

from __future__ import annotations

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.spectra import Factored
from deqcheck.records.measured import EPS


def factor(W: np.ndarray, A: np.ndarray) -> np.ndarray:
    """B (n x k) with W = A B^T for W (m x n) and A (m x k) of rank m.

    A = U diag(sigma) V^T and B = C^T V^T with C = [diag(1/sigma) U^T W; F]. The k - m free rows F
    hold a basis of ker W, as far as there is room, which makes rank B = min(n, rank W + k - m).
    """
    m, k = A.shape
    U, sigma, Vt = np.linalg.svd(A)
    C = np.zeros((k, W.shape[1]))
    C[:m] = (U.T @ W) / sigma[:, None]
    rank = Factored(W).rank if W.any() else 0
    kernel = np.linalg.svd(W)[2][rank:]
    # Rows of the size of the others keep the rank well visible.
    size = euclidean(C) or 1.0
    rows = min(k - m, len(kernel))
    C[m : m + rows] = size * kernel[:rows]
    found: np.ndarray = C.T @ Vt
    return found


def chain_factors(weights: list[np.ndarray], width: int) -> list[np.ndarray] | None:
    """V_0..V_L with W_k = V_k V_{k-1}^T, built backwards from V_{L-1} = I: the last factor may lack
    full row rank, as may the first. None where another one does."""
    last = weights[-1]
    inner = np.eye(last.shape[1], width)
    factors = [inner, last @ inner]
    for W in reversed(weights[:-1]):
        if rank_of(factors[0]) < len(factors[0]):
            return None
        factors.insert(0, factor(W, factors[0]))
    return factors


def rank_of(a: np.ndarray) -> int:
    return Factored(a).rank if a.any() else 0


def factor_noise(W: np.ndarray, A: np.ndarray, B: np.ndarray) -> float:
    """Rounding of A B^T against W: the SVD is backward stable, the rows are divided by sigma."""
    length = sum(A.shape) + sum(B.shape)
    size = float(np.linalg.norm(A) * np.linalg.norm(B) + np.linalg.norm(W))
    return 16 * length * EPS * size
