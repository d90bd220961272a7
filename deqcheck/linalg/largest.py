"""The largest singular value of a large matrix with at least as many rows as columns.

Its right singular vector v comes from a Krylov space of the Gram matrix, the value from ||Z v||.
That all others are smaller by some distance is proven afterwards by one Cholesky factor, and then
how far the value is off. All error bounds here are worst cases (Higham, chapter 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.linalg.smallest import SAFE, residual, roundings
from deqcheck.records.measured import EPS, Measured

# Fewer columns than this are decomposed at once.
LARGE = 400
# The Krylov space is looked at whenever it has grown by so many vectors, up to a share of the
# columns from which on the decomposition is no dearer.
LOOK, SHARE = 10, 0.4
# Of a bound alone: powers of the Gram matrix until its largest eigenvalue is known well enough, and
# by how much, as a share, the bound of that exceeds what they tell.
POWERS, ABOVE = 16, 0.04


class _Ritz(NamedTuple):
    """v, and a number between ||Z v||^2 and the other squares of singular values, it is hoped."""

    v: np.ndarray
    between: float


@np.errstate(all="ignore")
def largest_singular_value(Z: np.ndarray, wanted: float) -> Measured | None:
    """None where this way does not reach the error `wanted`, relative to the value."""
    whole = float(np.linalg.norm(Z))
    if not 1 / SAFE < whole < SAFE:
        return None
    # Of symmetric matrices only the lower triangle is ever used.
    G = scipy.linalg.blas.dsyrk(1.0, np.ascontiguousarray(Z).T, lower=True)
    found = uppermost(G, wanted)
    if found is None:
        return None
    # In more digits where the machine has them and they are needed.
    for kind in (np.float64, np.longdouble):
        value, off, noise = _judged(Z, found.v, whole, kind)
        room = value**2 - found.between
        # |residual|^2/gap bounds the difference of the squares (Kato and Temple), and
        # sqrt(s^2 + x) <= s + x/(2 s).
        error = off**2 / room / (2 * value) + noise if room > 0 < value else np.inf
        if error <= wanted * value:
            break
    else:
        return None
    # What rounding may hide of an eigenvalue of the Gram matrix: a product of length m errs by
    # m eps/2 |Z|^T |Z|; a Cholesky factor that exists shows that no eigenvalue is below
    # -(n + 1) eps/2 times the trace (Rump).
    hidden = (len(Z) + 8) * EPS * (whole**2 + len(G) * found.between + value**2)
    proven = _others_below(G, found, value**2, hidden)
    return Measured(value, error, "Kato-Temple") if proven else None


@np.errstate(all="ignore")
def bound(W: np.ndarray) -> float | None:
    """At least ||W||_2, and at most about ABOVE/2 more: that c - W^T W has a Cholesky factor proves
    it, as far as rounding allows. None where it has none: the powers did not come near enough."""
    Z = W if len(W) >= W.shape[1] else W.T
    G = Z.T @ Z
    size = float(np.trace(G))
    if not SAFE**-2 < size < SAFE**2:
        return None
    G /= size
    v = G[int(np.argmax(G.diagonal()))]
    for _ in range(POWERS):
        v = G @ (v / np.sqrt(v @ v))
    c = (1 + ABOVE) * float(np.sqrt(v @ v))
    # As for the largest singular value, with 1 for the trace and one more rounding.
    hidden = (len(Z) + 9) * EPS * (1 + len(G) * c)
    np.negative(G, out=G)
    G.ravel()[:: len(G) + 1] += c
    # Symmetric: LAPACK may read it by columns.
    failed = scipy.linalg.lapack.dpotrf(G.T, lower=True, overwrite_a=True, clean=False)[1]
    return None if failed else float(np.sqrt((c + hidden) * size)) * (1 + 4 * EPS)


def uppermost(G: np.ndarray, wanted: float) -> _Ritz | None:
    """By Lanczos' method, until the bound would be good if the second Ritz value were exact."""
    most = int(SHARE * len(G))
    basis = np.zeros((most, len(G)))
    v = np.random.default_rng(0).normal(size=len(G))
    basis[0] = v / np.linalg.norm(v)
    diagonal, beside = np.zeros(most), np.zeros(most)
    for k in range(most - 1):
        v = scipy.linalg.blas.dsymv(1.0, G, basis[k], lower=True)
        diagonal[k] = basis[k] @ v
        known = basis[: k + 1]
        # Twice is enough.
        for _ in range(2):
            v -= (known @ v) @ known
        beside[k] = np.linalg.norm(v)
        if not beside[k] > 0:
            return None
        basis[k + 1] = v / beside[k]
        if (k + 1) % LOOK:
            continue
        values, vectors = scipy.linalg.eigh_tridiagonal(
            diagonal[: k + 1], beside[:k], select="i", select_range=(k - 1, k)
        )
        off, gap = abs(beside[k] * vectors[-1, -1]), values[1] - values[0]
        # Half of the wanted error of the value is twice that of its square, relatively.
        if off**2 <= wanted / 4 * values[1] * gap:
            return _Ritz(vectors[:, -1] @ known, float(values.mean()))
    return None


def _judged(
    Z: np.ndarray, along: np.ndarray, whole: float, kind: type
) -> tuple[float, float, float]:
    """||Z v|| for the unit vector v along this one, a bound on ||(Z^T Z - ||Z v||^2) v||, and what
    the value itself may be off."""
    v: np.ndarray = along.astype(kind)
    value, off = residual(Z.astype(kind, copy=False), v)
    # Z v errs by so many roundoffs of |Z| |v|; norms and the length of v by as many of the value.
    noise = roundings(len(Z)) * float(np.finfo(kind).eps) / 2 * (whole + 2 * value)
    # ||Z||_2 <= ||Z||_F. The value itself is rounded to a double.
    return value, off * (1 + len(Z) * EPS) + noise * (whole + 4 * value), noise + EPS * value


def _others_below(G: np.ndarray, found: _Ritz, square: float, hidden: float) -> bool:
    """All eigenvalues of G but one are below `between`: by Weyl the second one is at most the
    largest of G - t v v^T, and a Cholesky factor shows what that stays below. Overwrites G."""
    np.negative(G, out=G)
    G = scipy.linalg.blas.dsyr(square, found.v, lower=True, a=G, overwrite_a=True)
    G[np.diag_indices(len(G))] += found.between - hidden
    return not scipy.linalg.lapack.dpotrf(G, lower=True, overwrite_a=True, clean=False)[1]
