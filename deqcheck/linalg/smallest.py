"""The smallest singular value of a large matrix with at least as many rows as columns.

Its right singular vector v comes from the Gram matrix, the value from ||Z v||: the square root of
the Gram matrix's own eigenvalue would lose half the digits. That no singular value is smaller is
proven afterwards, of v as it is. All error bounds here are worst cases (Higham, chapter 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.records.measured import EPS, Measured

# Fewer columns than this are decomposed at once.
LARGE = 400
# Vectors in a block of the Krylov space, and the numbers of blocks at which the space is looked at.
BLOCK, LOOKS = 4, (3, 6, 12, 24)
# Terms that are added up at once.
IN_BLOCK = 64
# Where squares of squares neither overflow nor underflow.
SAFE = 1e70


class _Sizes(NamedTuple):
    """||Z||_F, a bound on ||Z||_2, the error to be reached, and that of the Gram matrix's proof."""

    whole: float
    norm: float
    wanted: float
    gram: float


class _Ritz(NamedTuple):
    """v, ||Z v||, ||(Z^T Z - ||Z v||^2) v||, and a number between ||Z v||^2 and the other squares
    of singular values, it is hoped."""

    v: np.ndarray
    value: float
    off: float
    between: float

    def reach(self, off: float, sizes: _Sizes) -> float:
        """How far below ||Z v|| the smallest singular value may lie if the others, squared, are
        above `between`: |residual|^2/gap bounds the difference of the squares (Kato and Temple),
        and sqrt(s^2 - x) >= s - x/s."""
        room = self.between - sizes.gram - self.value**2
        return off**2 / room / self.value if room > 0 < self.value else np.inf


@np.errstate(all="ignore")
def smallest_singular_value(Z: np.ndarray) -> Measured | None:
    """None where this way does not reach the accuracy of the full decomposition."""
    # Of symmetric matrices only the lower triangle is ever used.
    G = scipy.linalg.blas.dsyrk(1.0, np.ascontiguousarray(Z).T, lower=True)
    sizes = sizes_of(Z, G)
    if not (sizes.norm > 1 / SAFE and sizes.whole < SAFE):
        return None
    found = lowest(Z, G, sizes)
    if found is None or not _others_above(G, found, sizes):
        return None
    # In more digits where the machine has them and they are needed.
    for kind in (np.float64, np.longdouble):
        value, error = _judged(Z, found, sizes, kind)
        if error <= sizes.wanted:
            return Measured(value, error, "Kato-Temple")
    return None


def sizes_of(Z: np.ndarray, G: np.ndarray) -> _Sizes:
    # ||Z||_2^2 = ||G||_2 <= ||G||_F.
    # vdot would copy G, whose columns are contiguous.
    gram = np.sqrt(2 * np.vdot(G.T, G.T) - np.vdot(G.diagonal(), G.diagonal()))
    whole, norm = float(np.linalg.norm(Z)), float(np.sqrt(gram))
    unit = (len(Z) + 8) * EPS
    # A product of length m errs by m eps/2 |Z|^T |Z|; a Cholesky factor that exists shows that no
    # eigenvalue is below -(n + 1) eps/2 times the trace (Rump).
    return _Sizes(whole, norm, 4 * unit * norm, unit * (whole**2 + norm**2))


def lowest(Z: np.ndarray, G: np.ndarray, sizes: _Sizes) -> _Ritz | None:
    """From Krylov spaces of the inverse, until the bound would be good if the second Ritz value
    were exact."""
    shifted = G.copy(order="F")
    shifted[np.diag_indices(len(G))] += sizes.gram
    factor, failed = scipy.linalg.lapack.dpotrf(shifted, lower=True, overwrite_a=True, clean=False)
    if failed:
        return None
    block = np.linalg.qr(np.random.default_rng(0).normal(size=(len(G), BLOCK)))[0]
    basis, before = block, np.inf
    for blocks in range(2, LOOKS[-1] + 1):
        block = scipy.linalg.lapack.dpotrs(factor, block, lower=True)[0]
        # Twice is enough.
        for _ in range(2):
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.hstack([basis, block])
        if blocks in LOOKS:
            found = _ritz(Z, basis)
            if found.reach(found.off, sizes) <= sizes.wanted / 2:
                return found
            # As much again is gained in the blocks to come, at best.
            if found.reach(found.off * (found.off / before) ** 2, sizes) > sizes.wanted:
                return None
            before = found.off
    return None


def _ritz(Z: np.ndarray, basis: np.ndarray) -> _Ritz:
    _, s, vt = np.linalg.svd(Z @ basis, full_matrices=False)
    v = basis @ vt[-1]
    value, off = residual(Z, v)
    return _Ritz(v / np.linalg.norm(v), value, off, float(value**2 + s[-2] ** 2) / 2)


def residual(Z: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """||Z v|| and ||(Z^T Z - ||Z v||^2) v|| for the unit vector along v, with no more than
    `roundings` in any sum."""
    v = v / np.sqrt(np.add.reduce(v * v))
    image = product(Z, v)
    square = np.add.reduce(image * image)
    left = product(Z.T, image) - square * v
    return float(np.sqrt(square)), float(np.sqrt(np.vdot(left, left)))


def product(Z: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Z v by blocks, so that a term meets few additions."""
    starts = range(0, len(v), IN_BLOCK)
    parts = [Z[:, i : i + IN_BLOCK] @ v[i : i + IN_BLOCK] for i in starts]
    return np.asarray(np.add.reduce(parts))


def roundings(length: int) -> int:
    """That a term of such a product of this length meets, or of its squares added up in pairs."""
    return IN_BLOCK - (-length // IN_BLOCK) + 8


def _judged(Z: np.ndarray, found: _Ritz, sizes: _Sizes, kind: type) -> tuple[float, float]:
    """||Z v|| for the unit vector along v, with its error as the smallest singular value."""
    v: np.ndarray = found.v.astype(kind)
    value, off = residual(Z.astype(kind, copy=False), v)
    # Z v errs by so many roundoffs of |Z| |v|; norms and the length of v by as many of the value.
    noise = roundings(len(Z)) * float(np.finfo(kind).eps) / 2 * (sizes.whole + 2 * value)
    off = off * (1 + len(Z) * EPS) + noise * (sizes.norm + 4 * value)
    # The value itself is rounded to a double.
    return value, found._replace(value=value).reach(off, sizes) + noise + EPS * value


def _others_above(G: np.ndarray, found: _Ritz, sizes: _Sizes) -> bool:
    """All eigenvalues of G but one exceed `between`: by Weyl the second one is at least the
    smallest of G + t v v^T, and a Cholesky factor shows what that exceeds. Overwrites G."""
    G = scipy.linalg.blas.dsyr(sizes.norm**2, found.v, lower=True, a=G, overwrite_a=True)
    G[np.diag_indices(len(G))] -= found.between
    return not scipy.linalg.lapack.dpotrf(G, lower=True, overwrite_a=True, clean=False)[1]
