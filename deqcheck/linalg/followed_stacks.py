"""Ends of spectra of many matrices, each of which is near one of a few that are decomposed.

The singular vectors u_j of the one nearby turn its first or last one into that of each other:
v <- v + sum_j u_j (u_j, r)/(s^2 - s_j^2) over the others, with the residual r = Z^T Z v - s^2 v. By
Weyl the next singular value has moved no further than the matrix; what is left of the residual
tells the error (Kato and Temple). All error bounds here are worst cases (Higham, chapter 3).
`followed` does the same for single matrices that are wider.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import lapack
from deqcheck.linalg.smallest import SAFE
from deqcheck.linalg.stacked import dots, norms
from deqcheck.records.measured import EPS

# Fewer columns are decomposed at once.
FOLLOWED = 9
# Turns until a matrix is decomposed itself.
TURNS = 5
# What the error of such a value rests on.
HOW = "Kato-Temple"


class Ends(NamedTuple):
    """The values with their errors, for each matrix, and which of them come from nearby."""

    value: np.ndarray
    error: np.ndarray
    turned: np.ndarray


class Nearby:
    """Matrices with at least as many rows as columns, of which one end is looked for."""

    def __init__(self, Z: np.ndarray, upper: bool):
        self.Z, self.upper, self.followed = Z, upper, Z.shape[2] >= FOLLOWED
        if self.followed:
            _, self._s, self._vt = np.linalg.svd(Z, full_matrices=False)
            # What a decomposition tells.
            self._known = lapack(Z.shape[1:], 1.0) * self._s[:, 0]

    @np.errstate(all="ignore")
    def ends(self, Z: np.ndarray) -> Ends:
        """Of matrices with an axis more: each of them is near the one here."""
        flat = Z.reshape(-1, *Z.shape[2:])
        turned = np.zeros(len(flat), dtype=bool)
        if not self.followed:
            value, error = decomposed(flat, self.upper)
        else:
            value, error = self._turned(flat)
            turned = error <= np.tile(self._known, len(Z))
            if not turned.all():
                value[~turned], error[~turned] = decomposed(flat[~turned], self.upper)
        return Ends(*(each.reshape(Z.shape[:2]) for each in (value, error, turned)))

    def _turned(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The error is nan or large where this way leads nowhere."""
        at, beside, sign = (0, 1, -1.0) if self.upper else (-1, -2, 1.0)
        count, owners = len(Z) // len(self.Z), self.Z.shape
        s, known = np.tile(self._s, (count, 1)), np.tile(self._known, count)
        whole, moved = norms(Z), norms((Z.reshape(count, *owners) - self.Z).reshape(Z.shape))
        # Rounded outward, as all sums of few terms below.
        reach = (moved + known) * (1 + Z[0].size * EPS)
        following = np.maximum(s[:, beside] - sign * reach, 0.0) ** 2
        v = np.tile(self._vt[:, at], (count, 1))
        value, error = np.full(len(Z), np.nan), np.full(len(Z), np.inf)
        left = np.ones(len(Z), dtype=bool)
        for turn in range(TURNS + 1):
            now, residual, off, noise = judged(Z, v, whole)
            room = sign * (following * (1 - sign * 8 * EPS) - now**2)
            # sqrt(s^2 + x) <= s + x/(2 s) and sqrt(s^2 - x) >= s - x/s.
            reached = off**2 / room / now + noise
            fine = left & (room > 0) & (reached <= known)
            value[fine], error[fine], left = now[fine], reached[fine], left & ~fine
            if turn == TURNS or not left.any():
                break
            gaps = (now**2)[:, None] - s**2
            gaps[:, at] = np.inf
            parts = np.matmul(self._vt, residual.reshape(count, *owners[::2], 1))[..., 0]
            parts = parts.reshape(gaps.shape) / gaps
            turned = np.matmul(self._vt.swapaxes(1, 2), parts.reshape(count, *owners[::2], 1))
            v = v + turned.reshape(v.shape)
            v /= np.sqrt(dots(v, v))[:, None]
        safe = (whole > 1 / SAFE) & (whole < SAFE)
        return value, np.where(safe, error, np.inf)


def judged(
    Z: np.ndarray, v: np.ndarray, whole: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """||Z v|| for unit vectors v, the residual (Z^T Z - ||Z v||^2) v, a bound on its norm, and what
    the value itself may be off; `whole` is ||Z||_F."""
    image = np.matmul(Z, v[:, :, None])
    square = dots(image[:, :, 0], image[:, :, 0])
    residual = np.matmul(Z.transpose(0, 2, 1), image)[:, :, 0] - square[:, None] * v
    value, off = np.sqrt(square), np.sqrt(dots(residual, residual))
    # A product of length n errs by n eps/2 of ||Z||_F |v|; norms and the length of v by as many
    # roundoffs of the value.
    longest = max(Z.shape[1:])
    noise = (longest + 8) * EPS / 2 * (whole + 2 * value)
    return value, residual, off * (1 + longest * EPS) + noise * (whole + 4 * value), noise


def decomposed(Z: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    """The first or the last singular value with its error, of each matrix."""
    s = np.linalg.svd(Z, compute_uv=False)
    value = s[:, 0] if upper else np.maximum(s[:, -1], 0.0)
    return value, lapack(Z.shape[1:], 1.0) * s[:, 0]
