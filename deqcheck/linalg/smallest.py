"""The smallest singular value of a large matrix with at least as many rows as columns.

Its right singular vector v comes from the Gram matrix, the value from ||Z v||: the square root of
the Gram matrix's own eigenvalue would lose half the digits. That no singular value is smaller is
proven afterwards, of v as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from deqcheck.records.measured import EPS, Measured

# Fewer columns than this are decomposed at once.
LARGE = 200
# Vectors of the inverse iteration, and its steps from one look at them to the next.
BLOCK, STEPS = 4, (3, 4, 8)


class _Ritz(NamedTuple):
    """v, ||Z v||, ||(Z^T Z - ||Z v||^2) v||, the next value after ||Z v||^2, and the last one."""

    v: np.ndarray
    value: float
    off: float
    second: float
    largest: float

    def below(self, lower: float, noise: float) -> float:
        """How far the smallest eigenvalue may lie below ||Z v||^2 if the others are above `lower`:
        |residual|^2/(lower - ||Z v||^2) (Kato and Temple)."""
        room = lower - self.value**2
        return (self.off + noise) ** 2 / room if room > 0 else np.inf


def smallest_singular_value(Z: np.ndarray) -> Measured | None:
    """None where this way does not reach the accuracy of the full decomposition."""
    G = Z.T @ Z
    # ||Z||^2 = ||G||_2 <= ||G||_F.
    size = float(np.sqrt(np.linalg.norm(G)))
    if not 0 < size < np.inf:
        return None
    bar = len(Z) * EPS * size
    # Rounding of the Gram matrix and of its Cholesky factor; of the residual of v.
    unsure, noise = 8 * bar * size, 2 * bar * size
    found = _lowest(Z, G, unsure, noise, bar)
    if found is None:
        return None
    half = (found.value**2 + found.second) / 2
    # sqrt(s^2 - x) >= s - x/s.
    reach = found.below(half - unsure, noise) / found.value
    if not (reach <= bar and _others_above(G, half, size, found.v)):
        return None
    return Measured(found.value, reach + bar, "Kato-Temple")


def _lowest(Z: np.ndarray, G: np.ndarray, unsure: float, noise: float, bar: float) -> _Ritz | None:
    """Inverse iteration, until the bound would be good if the second Ritz value were exact."""
    shifted = G.copy()
    shifted[np.diag_indices(len(G))] += unsure
    factor, failed = dpotrf(shifted.T, lower=True, overwrite_a=True, clean=False)
    if failed:
        return None
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(len(G), BLOCK)))[0]
    for look, steps in enumerate(STEPS):
        for _ in range(steps):
            Q = np.linalg.qr(dpotrs(factor, Q, lower=True)[0])[0]
        found = _ritz(Z, Q)
        half = (found.value**2 + found.second) / 2
        if found.below(half - unsure, noise) <= bar * found.value:
            return found
        # Each step shrinks the residual by about this factor.
        hope = found.off * (found.value**2 / found.largest) ** sum(STEPS[look + 1 :])
        if hope**2 > bar * found.value * max(half - unsure - found.value**2, 0.0):
            return None
    return None


def _ritz(Z: np.ndarray, Q: np.ndarray) -> _Ritz:
    _, s, vt = np.linalg.svd(Z @ Q, full_matrices=False)
    v = Q @ vt[-1]
    v /= np.linalg.norm(v)
    image = Z @ v
    value = float(np.linalg.norm(image))
    off = float(np.linalg.norm(Z.T @ image - value**2 * v))
    return _Ritz(v, value, off, float(s[-2] ** 2), float(s[0] ** 2))


def _others_above(G: np.ndarray, lower: float, size: float, v: np.ndarray) -> bool:
    """All eigenvalues of G but one exceed `lower`: by Weyl the second one is at least the smallest
    of G + size^2 v v^T, and a Cholesky factor shows what that exceeds. Overwrites G."""
    G += np.outer(size**2 * v, v)
    G[np.diag_indices(len(G))] -= lower
    return not dpotrf(G.T, lower=True, overwrite_a=True, clean=False)[1]
