"""Which W give z = relu(W z + c) exactly one solution, and how many solutions there are.

The equation is the linear complementarity problem of I - W. It has exactly one solution for every
c if and only if I - W is a P-matrix: all its principal minors are positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from deqcheck.linalg import errors, remembered
from deqcheck.linalg.certificates import Bounded, Certificate, Contraction, Monotone
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.measured import EPS

# Up to this width all 2^m activation patterns are tried.
SMALL = 10
# From this norm on a contraction is looked at beside the other tests.
NEXT_TO_ONE = 1 - 1e-6
# A pattern's solution fits if its residual is below this, relative to the size of the equation.
FITS = 1e-9
# Inverses are trusted to this relative accuracy where the condition number allows it.
INVERSE_SLACK, WORST_CONDITION = 1e-6, 1e9


def certificate(W: np.ndarray) -> Certificate | None:
    """The first test that proves uniqueness for every c, with the error bound that it gives."""
    return proof(W)[1]


def proof(W: np.ndarray) -> tuple[str, Certificate | None]:
    """The same with the reason in words. A contraction that hardly is one bounds no error: another
    test then serves better."""
    found: tuple[str, Certificate | None] = remembered.once("well posed", W, _proof)
    return found


def _proof(W: np.ndarray) -> tuple[str, Certificate | None]:
    q = float(errors.norm2(W).high)
    contraction = "||W||_2 < 1", Contraction(q)
    if q < NEXT_TO_ONE:
        return contraction
    found = _without_contraction(W)
    return contraction if q < 1 and not _sharper(found[1], contraction[1]) else found


def _without_contraction(W: np.ndarray) -> tuple[str, Certificate | None]:
    if absolute := _absolute(W):
        return "the spectral radius of |W| is below 1", absolute
    if monotone := _monotone(W):
        return "the largest eigenvalue of (W + W^T)/2 is below 1", monotone
    return "all principal minors of I - W are positive", _p_matrix(W)


def _sharper(one: Certificate | None, other: Certificate) -> bool:
    return one is not None and one.inverse < other.inverse


def _absolute(W: np.ndarray) -> Bounded | None:
    """Spectral radius of |W| below 1: then |(I - D W)^-1| <= (I - |W|)^-1 entrywise.

    Proven by a positive x with (I - |W|) x > 0.
    """
    M = np.eye(len(W)) - np.abs(W)
    try:
        x = np.linalg.solve(M, np.ones(len(W)))
    except np.linalg.LinAlgError:
        return None
    # The decomposition for the condition number comes last: it is dear.
    positive = (x > 0).all() and (M @ x > 0.5).all()
    if not positive or np.linalg.cond(M) > WORST_CONDITION:
        return None
    return Bounded(float(np.linalg.norm(np.linalg.inv(M), 2)) * (1 + INVERSE_SLACK))


def _monotone(W: np.ndarray) -> Monotone | None:
    """lambda_max((W + W^T)/2) < 1."""
    modulus = 1 - float(errors.symmetric_eigenvalues((W + W.T) / 2).high[-1])
    return Monotone(modulus) if modulus > 0 else None


def _p_matrix(W: np.ndarray) -> Bounded | None:
    """All principal minors of I - W positive, by enumeration.

    Each entry of (I - D W)^-1 is linear-fractional in each diagonal entry of D, with a denominator
    that does not vanish, so its extremes over [0, 1]^m are taken at 0-1 patterns.
    """
    if len(W) > SMALL:
        return None
    largest = np.zeros(W.shape)
    for on in patterns(len(W)):
        M = np.eye(len(W)) - np.where(on[:, None], W, 0.0)
        if not positive_determinant(M):
            return None
        largest = np.maximum(largest, np.abs(np.linalg.inv(M)))
    return Bounded(float(np.linalg.norm(largest, 2)) * (1 + INVERSE_SLACK))


def patterns(m: int) -> Iterator[np.ndarray]:
    """All activation patterns of m units."""
    return (np.array(on) for on in product([False, True], repeat=m))


def positive_determinant(M: np.ndarray) -> bool:
    """det M > 0, and so for every matrix that rounding may have made of it."""
    return bool(np.linalg.cond(M) <= WORST_CONDITION and np.linalg.det(M) > 0)


def solutions(W: np.ndarray, c: np.ndarray) -> list[np.ndarray]:
    """Solutions of z = relu(W z + c), at least two of them where there are several (m small)."""
    found: list[np.ndarray] = []
    for on in patterns(len(c)):
        for z in _on_pattern(W, c, on):
            apart = 10 * FITS * _size(W, c, z)
            if fits(W, c, z) and all(np.linalg.norm(z - old) > apart for old in found):
                found.append(z)
    return found


def fits(W: np.ndarray, c: np.ndarray, z: np.ndarray) -> bool:
    """z = relu(W z + c) up to rounding."""
    return bool(np.linalg.norm(z - relu(W @ z + c)) <= FITS * _size(W, c, z))


def _size(W: np.ndarray, c: np.ndarray, z: np.ndarray) -> float:
    return (1 + euclidean(W)) * euclidean(z) + euclidean(c)


def _on_pattern(W: np.ndarray, c: np.ndarray, on: np.ndarray) -> Iterator[np.ndarray]:
    """(I - W_SS) z_S = c_S; of a singular system a few solutions from the line or plane."""
    z = np.zeros(len(c))
    if not on.any():
        yield z
        return
    block = np.eye(int(on.sum())) - W[np.ix_(on, on)]
    u, s, vt = np.linalg.svd(block)
    kernel = s <= len(s) * EPS * max(float(s[0]), 1.0)
    inverse = np.where(kernel, 0.0, 1 / np.where(kernel, 1.0, s))
    z[on] = vt.T @ (inverse * (u.T @ c[on]))
    yield z
    for direction in vt[kernel]:
        for sign in (1.0, -1.0):
            moved = z.copy()
            moved[on] += sign * (1 + np.linalg.norm(z)) * direction
            yield moved


def equilibria(W: np.ndarray, C: np.ndarray) -> list[list[np.ndarray]]:
    """The solutions for each column."""
    return [solutions(W, c) for c in C.T]
