"""An end of the spectrum of a matrix that is near another one, whose singular vector is known.

The Gram matrix less a number b, between the square of the singular value and those of all others,
and lifted along the known vector has a Cholesky factor. It proves that only one square lies beyond
b (by Weyl a rank-one term moves no second eigenvalue across it), and its solutions turn the known
vector into the new one by inverse iteration. What is left of the residual tells the error (Kato and
Temple). All error bounds here are worst cases (Higham, chapter 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import lapack
from deqcheck.linalg.largest import uppermost
from deqcheck.linalg.late import scipy
from deqcheck.linalg.smallest import LARGE, SAFE, lowest, residual, roundings, sizes_of
from deqcheck.records.basis import weakest
from deqcheck.records.measured import EPS, Measured

# Where b lies between the two squares: an iteration takes about this part of the error on.
SHARE = 0.03
# Iterations until the way is given up.
TURNS = 6


class End(NamedTuple):
    """The value with its error, the right singular vector, and how far the next square is."""

    value: float
    error: float
    v: np.ndarray
    gap: float
    how: str = "Kato-Temple"


def found_afresh(Z: np.ndarray, G: np.ndarray, upper: bool) -> End:
    """The vector of a wide matrix comes from a Krylov space, where that serves."""
    if len(G) >= LARGE:
        # Symmetric: LAPACK reads it by columns.
        ritz = uppermost(G.T, lapack(Z.shape, 1.0)) if upper else lowest(Z, G.T, sizes_of(Z, G.T))
        if ritz is not None:
            gap = 2 * abs(ritz.between - float(ritz.v @ (G @ ritz.v)))
            found = followed(Z, G, End(np.nan, np.inf, ritz.v, gap), upper)
            if found is not None:
                return found
    return decomposed(Z, upper)


def decomposed(Z: np.ndarray, upper: bool) -> End:
    """By all singular values and vectors."""
    if not np.isfinite(Z).all():
        return End(np.nan, np.inf, np.zeros(Z.shape[1]), np.nan, "Weyl")
    _, s, vt = np.linalg.svd(Z)
    at, beside = (0, 1) if upper else (-1, -2)
    error = lapack(Z.shape, float(s[0]))
    return End(float(s[at]), error, vt[at], abs(float(s[at] ** 2 - s[beside] ** 2)), "Weyl")


@np.errstate(all="ignore")
def followed(Z: np.ndarray, G: np.ndarray, near: End, upper: bool) -> End | None:
    """With G = Z^T Z, each of whose entries errs by (len(Z) + 8) eps of its terms at most; None
    where this way does not reach the accuracy of the decomposition."""
    size, sign = float(np.trace(G)), -1.0 if upper else 1.0
    if not SAFE**-2 < size < SAFE**2:
        return None
    v, gap = near.v, near.gap
    b = float(v @ (G @ v)) + sign * SHARE * gap
    # Of the entries of G, and of the Cholesky factor, relative to its trace (Rump).
    hidden = (len(Z) + 8) * EPS * (2 * size + len(G) * abs(b) + gap)
    lifted = sign * G
    lifted.ravel()[:: len(G) + 1] -= sign * b + hidden
    # Symmetric: LAPACK may read it by columns, and reads one half.
    half = scipy.linalg.blas.dsyr(gap, v, lower=True, a=lifted.T, overwrite_a=True)
    factor, failed = scipy.linalg.lapack.dpotrf(half, lower=True, overwrite_a=True, clean=False)
    if failed:
        return None
    w = scipy.linalg.lapack.dpotrs(factor, v, lower=True)[0]
    # The lift is taken back (Sherman and Morrison).
    back, v = gap / (1 - gap * float(v @ w)), w
    for _ in range(TURNS):
        v = v / np.sqrt(v @ v)
        image = G @ v
        square = float(v @ image)
        image -= square * v
        # As below, from the Gram matrix, which has fewer digits.
        if image @ image <= sign * (b - square) * square * lapack(Z.shape, 0.5):
            break
        v = scipy.linalg.lapack.dpotrs(factor, v, lower=True)[0] + back * float(w @ v) * w
    value, off, noise = judged(Z, v)
    room = sign * (b - value**2) - hidden
    # sqrt(s^2 + x) <= s + x/(2 s) and sqrt(s^2 - x) >= s - x/s.
    error = off**2 / room / value + noise
    fine = room > 0 and error <= lapack(Z.shape, value)
    return End(value, error, v, gap) if fine else None


def judged(Z: np.ndarray, v: np.ndarray) -> tuple[float, float, float]:
    """||Z v|| for the unit vector v, a bound on ||(Z^T Z - ||Z v||^2) v||, and what the value
    itself may be off."""
    value, off = residual(Z, v)
    # Z v errs by so many roundoffs of |Z| |v|; norms and the length of v by as many of the value.
    reach = np.abs(v) @ np.abs(Z).T
    noise = roundings(len(Z)) * EPS / 2 * (float(np.sqrt(reach @ reach)) * (1 + 1e-6) + 2 * value)
    whole = float(np.sqrt(np.vdot(Z, Z)))
    return value, off * (1 + len(Z) * EPS) + noise * (whole + 4 * value), noise + EPS * value


class Ends:
    """Of matrices along a run, each of which is near the last one of its name: where to start,
    never what to answer."""

    def __init__(self) -> None:
        self._last: dict[str, End] = {}

    def of(self, name: str, Z: np.ndarray, G: np.ndarray, upper: bool) -> End:
        near = self._last.get(name)
        found = None
        if near is not None and near.v.shape == Z.shape[1:]:
            found = followed(Z, G, near, upper)
        self._last[name] = found = found or found_afresh(Z, G, upper)
        return found


def beside(matrices: np.ndarray, ends: list[End]) -> np.ndarray:
    """The values of matrices that differ so little that the vectors of these ends serve: what the
    vectors miss is of second order. Elsewhere nan."""
    found = []
    for Z, end in zip(matrices, ends, strict=True):
        value, off = residual(Z, end.v)
        serves = off**2 <= SHARE * end.gap * value * lapack(Z.shape, value)
        found.append(value if serves else np.nan)
    return np.array(found)


def measured(ends: list[End]) -> Measured:
    value, error = (np.array([end[i] for end in ends]) for i in range(2))
    return Measured(value, error, weakest(*(end.how for end in ends)))
