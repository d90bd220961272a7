"""How far z = relu(W z + U x) is from its l-th iterate, at most: in float32, errors included.

A bound that is a few times too large decides most draws of a wide model, in a fraction of the time
that a certified equilibrium takes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

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


def tail(W: np.ndarray, U: np.ndarray, X: np.ndarray, layers: int, q: float) -> Tail:
    """For |W|_2 <= q < 1 and Z^(0) = 0; infinite where float32 ends.

    Each iterate is relu(W Z + C) up to a local error e in the Frobenius norm, so that Z^(l) is
    within e/(1 - q) of its computed value, and Z within (q |Z^(k) - Z^(k-1)| + e)/(1 - q) of the
    k-th.
    """
    if max(len(W), len(X)) > 1e5:
        return Tail(math.inf, math.inf)
    with np.errstate(all="ignore"):
        small, U, X = (a.astype(np.float32) for a in (W, U, X))
        C = U @ X
        kept = [np.maximum(C, 0)]
        longest = _length(kept[0])
        for _ in range(layers + BEYOND - 1):
            kept = [*kept[-BEYOND:], np.maximum(small @ kept[-1] + C, 0)]
            longest = max(longest, _length(kept[-1]))
        # At most length + 4 roundings in each entry of the two products and their sum.
        inner = (len(X) + 4) * _length(U) * _length(X) + 4 * _length(C)
        outer = (len(W) + 4) * math.sqrt(float(np.vdot(W, W))) * longest
        # n roundings are n u/(1 - n u), for n below 1e5 less than 1.01 n u.
        e = 1.01 * UNIT * (inner + outer) + LOST * C.size * (len(W) + len(X))
        at, before, last = kept[0], kept[-2], kept[-1]
        rest = (q * _length(last - before) + e) / (1 - q)
        found = _length(last - at) + rest + e / (1 - q), _length(at) + e / (1 - q)
    return Tail(*(x if math.isfinite(x) else math.inf for x in found))


def _length(a: np.ndarray) -> float:
    """Not below the Frobenius norm: the sum of squares is pairwise, so that it loses a few units,
    and a difference lost one of each entry; squares may be below the range."""
    square = float(np.sum(np.square(a.ravel())))
    return math.sqrt(square) * (1 + 64 * UNIT) + 1e-18 * math.sqrt(a.size)
