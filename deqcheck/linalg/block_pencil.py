"""The smallest lam with blockdiag(M_k) x = lam (U^T U kron I) x, enclosed from both sides.

The upper end is a Ritz value. The lower end is a proof that A = blockdiag(M_k) - lam (U^T U kron I)
is positive semidefinite. Let A >= delta > 0 on a subspace Y, let P project on Y, and let the
columns of X span a complement of Y. Every vector is X c + y with y in Y, and

    (X c + y)^T A (X c + y) >= c^T X^T A X c - 2 |P A X c| |y| + delta |y|^2
                            >= c^T (X^T A X - (P A X)^T (P A X)/delta) c,

so that a small matrix decides. Whatever X is, no smaller eigenvalue can be missed; a good X (all
eigenvectors outside Y, not only the wanted one) makes the bound sharp: to second order in P A X.
That is why the X of an earlier, similar pencil may be used.

Y is made of the pairs (v_i, w_j) with small |U v_i|^2/f_j, where f_j, w_j are the eigenpairs of the
mean of the M_k: after scaling by w_j/sqrt(f_j) the M_k are near the identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.errors import rounding
from deqcheck.records.lazy import cached_property

# Largest number of columns of X.
MOST_COLUMNS = 64
# Columns are added until delta is this many times the spread of the scaled blocks.
ROOM = 4.0
# Scaled blocks this near to the identity need no eigenvalues of their own.
ALIKE = 1e-2
# Sizes closer than that (relative) are not told apart.
CLEAR = 1e-9
# The iteration stops when the lower end is that close (relative) to the upper one.
CLOSE, SWEEPS, SOLVES = 1e-12, 12, 4
WELL_CONDITIONED = 1e4


@dataclass(frozen=True)
class Frame:
    """Coordinates in which the pencil is nearly diagonal. Nothing is assumed of them but that V is
    orthogonal and R^T R = diag(1/f): those of an earlier pencil are as valid as fresh ones."""

    V: np.ndarray
    R: np.ndarray
    f: np.ndarray
    # Which pairs (i, j) are spanned by the columns of X, and X itself (m x my x columns).
    outside: np.ndarray
    X: np.ndarray


@dataclass(frozen=True)
class Enclosure:
    low: float
    high: float
    frame: Frame

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.high


def enclose(
    M: np.ndarray,
    U: np.ndarray,
    M_radius: float,
    U_radius: float,
    enough: float,
    frame: Frame | None = None,
) -> Enclosure | None:
    """Both ends for every M, U within these radii (2-norm, each M_k), at most `enough` apart
    (relative), or None. An earlier frame is tried first."""
    if not (np.isfinite(M).all() and np.isfinite(U).all()):
        return None
    for this in _frames(M, U, frame):
        found = _Pencil(M, U, M_radius, U_radius, this).enclosed()
        if found is not None and found.width <= enough:
            return found
    return None


def _frames(M: np.ndarray, U: np.ndarray, earlier: Frame | None) -> Iterator[Frame]:
    if earlier is not None:
        yield earlier
    fresh = fresh_frame(M, U)
    if fresh is not None:
        yield fresh


def fresh_frame(M: np.ndarray, U: np.ndarray) -> Frame | None:
    f, w = np.linalg.eigh(M.mean(axis=0))
    if not f[0] > 0:
        return None
    R = w / np.sqrt(f)
    squares, V = np.linalg.eigh(U.T @ U)
    sizes = squares[:, None] / f
    spread = np.linalg.norm(R.T @ M @ R - np.eye(len(f)), axis=(1, 2)).max()
    order = np.argsort(-sizes, axis=None)
    columns = _enough_columns(sizes.flat[order] / sizes.max(), (ROOM + 1) * spread + CLEAR, len(f))
    outside = np.zeros(sizes.shape, bool)
    outside.flat[order[:columns]] = True
    X = np.zeros((*sizes.shape, columns))
    X[outside] = np.eye(columns)
    return Frame(V, R, f, outside, X)


def _enough_columns(relative: np.ndarray, room: float, my: int) -> int:
    """So many that delta, which is about 1 - relative[columns] - spread, has room; and then, among
    the next ones, where the sizes jump most, so that it keeps its room while they drift."""
    most = min(MOST_COLUMNS, len(relative) - 1)
    worthy = np.flatnonzero(1 - relative[: most + 1] > room)
    if not len(worthy):
        return most
    first = int(worthy[0])
    jumps = -np.diff(relative)[first - 1 : min(first + my, most)]
    return first + int(np.argmax(jumps))


class _Pencil:
    """The pencil in the coordinates of a frame: x = (V kron R) xi."""

    def __init__(
        self, M: np.ndarray, U: np.ndarray, M_radius: float, U_radius: float, frame: Frame
    ):
        self.frame, self.inside = frame, ~frame.outside
        self.blocks = frame.R.T @ M @ frame.R
        G = U @ frame.V
        self.K = G.T @ G
        self.floor, self.top = _ends(self.blocks)
        diagonal = self.K.diagonal()
        off = float(np.linalg.norm(self.K - np.diag(diagonal)))
        self.sizes = diagonal[:, None] / frame.f
        # The norm of a symmetric matrix is at most that of its diagonal and of the rest together;
        # pairs with different j do not see each other.
        sizes = self.sizes + off / frame.f
        self.largest = float(sizes.max())
        self.ceiling = float(np.max(sizes, where=self.inside, initial=0.0))
        # How far blocks and K may be from the exact ones (2-norm).
        length, least = 2 * sum(self.sizes.shape), float(frame.f.min())
        size = float(np.abs(M).sum(axis=2).max())
        self.M_radius = (M_radius + rounding(length, size)) / least
        norm = float(np.sqrt(diagonal.max())) + off + U_radius
        self.K_radius = (2 * norm * U_radius + rounding(length, norm**2)) / least

    def times_M(self, x: np.ndarray) -> np.ndarray:
        V, shape = self.frame.V, x.shape
        y = self.blocks @ (V @ x.reshape(len(V), -1)).reshape(shape)
        return np.asarray((V.T @ y.reshape(len(V), -1)).reshape(shape))

    def times_K(self, x: np.ndarray) -> np.ndarray:
        y = (self.K @ x.reshape(len(self.K), -1)).reshape(x.shape)
        y /= self.frame.f[:, None]
        found: np.ndarray = y
        return found

    def enclosed(self) -> Enclosure | None:
        X = self.frame.X
        for _ in range(SOLVES):
            trial = _Trial(self, X)
            if trial.sharp or not trial.delta > 0:
                break
            X = X + self._correction(trial)
        return trial.enclosure()

    @property
    def simplest(self) -> float:
        """The lower bound without any X."""
        return (self.floor - self.M_radius) / (self.largest + self.K_radius)

    def _correction(self, trial: _Trial) -> np.ndarray:
        """y in Y with P A (X + y) = 0 nearly: conjugate gradients for all columns at once."""
        lam, tiny = trial.ritz, np.finfo(float).tiny
        mask = self.inside[:, :, None]
        near = mask / np.maximum(1 - lam * self.sizes, trial.delta)[:, :, None]
        y, r = np.zeros_like(trial.rho), -trial.rho
        z = near * r
        d, rz = z, _dots(r, z)
        for _ in range(SWEEPS):
            Ad = (self.times_M(d) - lam * self.times_K(d)) * mask
            step = rz / np.maximum(_dots(d, Ad), tiny)
            y, r = y + step * d, r - step * Ad
            if np.vdot(r, r) <= CLOSE / 4 * trial.delta:
                break
            z = near * r
            rz, old = _dots(r, z), rz
            d = z + (rz / np.maximum(old, tiny)) * d
        found: np.ndarray = y
        return found


class _Trial:
    """What some X proves."""

    def __init__(self, pencil: _Pencil, X: np.ndarray):
        self.pencil, self.X = pencil, X
        flat = X.reshape(-1, X.shape[2])
        MX, KX = pencil.times_M(X), pencil.times_K(X)
        self.XMX, self.XKX = flat.T @ MX.reshape(flat.shape), flat.T @ KX.reshape(flat.shape)
        self.MX, self.KX = MX, KX
        sizes = np.linalg.eigvalsh(self.XKX)
        self.least_K = float(sizes[0])
        # Otherwise the columns are too nearly dependent for a Ritz value.
        self.usable = bool(sizes[0] * WELL_CONDITIONED > sizes[-1])
        self.ritz = self._ritz() if self.usable else 0.0
        self.rho = (MX - self.ritz * KX) * pencil.inside[:, :, None]
        self.delta = self._floor(self.ritz) if self.usable else -math.inf

    def _ritz(self) -> float:
        C = np.linalg.inv(np.linalg.cholesky(self.XKX))
        return float(np.linalg.eigvalsh(C @ self.XMX @ C.T)[0])

    @property
    def sharp(self) -> bool:
        return bool(2 * np.vdot(self.rho, self.rho) <= CLOSE * self.delta)

    def _radius(self, lam: float) -> float:
        """Of A, of its products with X, and of the eigenvalues of those."""
        p = self.pencil
        norm = p.top + lam * float(p.sizes.max())
        return p.M_radius + lam * p.K_radius + rounding(2 * p.sizes.size, norm)

    def _floor(self, lam: float) -> float:
        """A >= this on Y."""
        return self.pencil.floor - lam * self.pencil.ceiling - self._radius(lam)

    def _margin(self, lam: float) -> float:
        """Nonnegative if lam is a lower bound."""
        delta = self._floor(lam)
        if not delta > 0:
            return -math.inf
        rho = (self.MX - lam * self.KX)[self.pencil.inside]
        # |rho + e|^2 <= 2 |rho|^2 + 2 |e|^2.
        small = self.XMX - lam * self.XKX - (2 / delta) * (rho.T @ rho)
        radius = self._radius(lam)
        lost = (radius + 2 * radius**2 / delta) * self._size
        lost += rounding(len(rho), 2 / delta * float(np.vdot(rho, rho)))
        return float(np.linalg.eigvalsh(small)[0]) - lost

    @cached_property
    def _size(self) -> float:
        """||X||^2."""
        flat = self.X.reshape(-1, self.X.shape[2])
        return float(np.linalg.norm(flat.T @ flat, 2))

    def enclosure(self) -> Enclosure | None:
        spread = self.least_K - self.pencil.K_radius * self._size
        if not (self.usable and spread > 0):
            return None
        high = self.ritz + self._radius(self.ritz) * self._size / spread
        return Enclosure(self._proved(), high, replace(self.pencil.frame, X=self.X))

    def _proved(self) -> float:
        simplest = self.pencil.simplest
        # X complements Y if its part outside Y is invertible.
        if not np.linalg.cond(self.X[self.pencil.frame.outside]) < WELL_CONDITIONED:
            return simplest
        step = 2 * self._radius(self.ritz) * self._size / self.least_K
        low = self.ritz - step
        while low > simplest:
            margin = self._margin(low)
            if margin >= 0:
                return low
            step = max(2 * step, -1.1 * margin / self.least_K)
            low -= step
        return simplest


def _ends(blocks: np.ndarray) -> tuple[float, float]:
    """Below and above every eigenvalue of the blocks, which are near the identity."""
    away = float(np.linalg.norm(blocks - np.eye(blocks.shape[1]), axis=(1, 2)).max())
    if away < ALIKE:
        return 1 - away, 1 + away
    eigenvalues = np.linalg.eigvalsh(blocks)
    return float(eigenvalues[:, 0].min()), float(eigenvalues[:, -1].max())


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ijc,ijc->c", a, b))
