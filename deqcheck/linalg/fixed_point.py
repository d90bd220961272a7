"""x = F(x) for a contraction F that treats every column alone: sweeps, and Anderson acceleration of
each column once they prove slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Map = Callable[[np.ndarray], np.ndarray]

# A plain sweep that shrinks the residual by less than this is slow.
SLOW = 0.5
# Differences that the acceleration combines.
WINDOW = 5
# Ridge of its least-squares problems, whose columns are scaled to length 1.
RIDGE = 1e-14
# An accelerated residual this much above the least one so far starts it anew.
WORSE = 2.0
RESTARTS = 10
# Sweeps from one look at the floor to the next.
LOOK = 4


class Found(NamedTuple):
    """A point, what F made of it, ||F(x) - x|| there, and the sweeps that it took."""

    x: np.ndarray
    image: np.ndarray
    residual: float
    sweeps: int


def solve(F: Map, x: np.ndarray, floor: Callable[[np.ndarray], float], limit: int) -> Found | None:
    """The first point whose residual is at most the floor; None at the limit."""
    history, least, before, restarts, level = _History(), np.inf, np.inf, 0, 0.0
    for sweeps in range(1, limit + 1):
        image = F(x)
        f = image - x
        residual = float(np.linalg.norm(f))
        if sweeps % LOOK == 1:
            level = floor(x)
        if residual <= level:
            return Found(x, image, residual, sweeps)
        if not np.isfinite(residual):
            return None
        if history.started and residual > WORSE * least:
            history, restarts = _History(), restarts + 1
        elif restarts < RESTARTS and (history.started or residual > SLOW * before):
            x = history.next(f, image)
            least, before = min(least, residual), residual
            continue
        x, least, before = image, min(least, residual), residual
    return None


class _History:
    """Anderson's differences of residuals and images, with the Gram matrices of each column."""

    def __init__(self) -> None:
        self.residuals: list[np.ndarray] = []
        self.images: list[np.ndarray] = []
        self.gram = np.zeros((0, 0, 0))
        self.last: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def started(self) -> bool:
        return self.last is not None

    def next(self, f: np.ndarray, image: np.ndarray) -> np.ndarray:
        """image - sum_i gamma_i d(image)_i, where gamma minimises |f - sum_i gamma_i d(f)_i|."""
        if self.last is not None:
            self._push(f - self.last[0], image - self.last[1])
        self.last = f, image
        if not self.residuals:
            return image
        right = np.stack([_dots(d, f) for d in self.residuals], axis=1)
        scale = np.sqrt(np.einsum("nii->ni", self.gram))
        scale[scale == 0] = 1.0
        system = self.gram / (scale[:, :, None] * scale[:, None, :])
        system = system + RIDGE * np.eye(len(self.residuals)) + _where_zero(system)
        gamma = np.linalg.solve(system, (right / scale)[:, :, None])[:, :, 0] / scale
        x = image.copy()
        for i, d in enumerate(self.images):
            x -= d * gamma[:, i]
        return x

    def _push(self, df: np.ndarray, dimage: np.ndarray) -> None:
        if len(self.residuals) == WINDOW:
            del self.residuals[0], self.images[0]
            self.gram = self.gram[:, 1:, 1:]
        self.residuals.append(df)
        self.images.append(dimage)
        count = len(self.residuals)
        gram = np.empty((df.shape[1], count, count))
        gram[:, :-1, :-1] = self.gram if count > 1 else 0.0
        for i, d in enumerate(self.residuals):
            gram[:, i, -1] = gram[:, -1, i] = _dots(d, df)
        self.gram = gram


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The inner product of each column of a with the same column of b."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _where_zero(gram: np.ndarray) -> np.ndarray:
    """1 at the empty diagonal entries: a column at rest gets the coefficient 0."""
    return np.asarray((np.einsum("nii->ni", gram) == 0)[:, :, None] * np.eye(gram.shape[1]))
