"""How far z = relu(W z + U x) is from its l-th iterate, at most: in float32, errors included.

A bound that is a few times too large decides most draws of a wide model, in a fraction of the time
that a certified equilibrium takes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.records.measured import EPS

UNIT = 2.0**-24
# Iterates beyond the l-th: what is left of the equilibrium falls with each.
BEYOND = 2
# More than what falls below the range of float32 in one operation, and the root of it.
LOST = 1e-36


class Tail(NamedTuple):
    """At least |Z - Z^(l)|_F and |Z^(l)|_F."""

    away: float
    at: float


def norm_below(W: np.ndarray, bound: float) -> bool:
    """Whether |W|_2 < bound, by a Cholesky factorisation of bound^2 I - W^T W, if it is certain:
    one that runs to its end proves what is larger than n (n + 2) eps times the largest diagonal
    entry, by which the shift is smaller (Rump); the product W^T W rounds by n eps |W|_F^2."""
    n, square = len(W), float(np.vdot(W, W))
    if not math.isfinite(square):
        return False
    A: np.ndarray = -(W.T @ W)
    noise = (4 * n * (n + 2) * bound**2 + 2 * n * square) * EPS
    A[np.diag_indices(n)] += bound**2 - noise
    _, failed = scipy.linalg.lapack.dpotrf(A, overwrite_a=1, clean=0)
    return bool(failed == 0)


class Iterates:
    """relu(W Z + U X) from Z^(0) = 0; each is that of the one before up to a local error e in the
    Frobenius norm, which is infinite where float32 ends."""

    def __init__(self, W: np.ndarray, U: np.ndarray, X: np.ndarray, keep: int = 1):
        self._size_W = math.sqrt(float(np.vdot(W, W)))
        with np.errstate(all="ignore"):
            self.W, U, X = (a.astype(np.float32) for a in (W, U, X))
            self.C = U @ X
            # At most length + 4 roundings in each entry of the two products and their sum.
            self._inner = (len(X) + 4) * length(U) * length(X) + 4 * length(self.C)
        self.kept, self._keep = [np.maximum(self.C, 0)], keep
        self._longest = length(self.kept[0])
        self._terms = max(len(W), len(X))

    def go(self, steps: int) -> None:
        with np.errstate(all="ignore"):
            for _ in range(steps):
                new = np.maximum(self.W @ self.kept[-1] + self.C, 0)
                self.kept = [*self.kept, new][-self._keep :]
                self._longest = max(self._longest, length(new))

    @property
    def e(self) -> float:
        """n roundings are n u/(1 - n u), for n up to 1e5 less than 1.01 n u."""
        outer = (len(self.W) + 4) * self._size_W * self._longest
        found = 1.01 * UNIT * (self._inner + outer) + LOST * self.C.size * 2 * self._terms
        return found if self._terms <= 1e5 and math.isfinite(found) else math.inf


def iterate(W: np.ndarray, U: np.ndarray, X: np.ndarray, layers: int) -> tuple[np.ndarray, float]:
    """Z^(l) and a bound on its error, which |W|_F passes on."""
    found = Iterates(W, U, X)
    found.go(layers - 1)
    size = math.sqrt(float(np.vdot(W, W)))
    return found.kept[-1], found.e * sum(size**i for i in range(layers))


def tail(W: np.ndarray, U: np.ndarray, X: np.ndarray, layers: int, q: float) -> Tail:
    """For |W|_2 <= q < 1: Z^(l) is within e/(1 - q) of its computed value, and Z within
    (q |Z^(k) - Z^(k-1)| + e)/(1 - q) of the k-th."""
    found = Iterates(W, U, X, BEYOND + 1)
    found.go(layers + BEYOND - 1)
    at, before, last = found.kept[0], found.kept[-2], found.kept[-1]
    e = found.e / (1 - q)
    with np.errstate(all="ignore"):
        rest = q * length(last - before) / (1 - q) + e
        bounds = length(last - at) + rest + e, length(at) + e
    return Tail(*(x if math.isfinite(x) else math.inf for x in bounds))


def length(a: np.ndarray) -> float:
    """Not below the Frobenius norm: the sum of squares is pairwise, so that it loses a few units,
    and a difference lost one of each entry; squares may be below the range."""
    square = float(np.sum(np.square(a.ravel())))
    return math.sqrt(square) * (1 + 64 * UNIT) + 1e-18 * math.sqrt(a.size)
