"""x = act(linear(x)), a contraction that treats every column alone.

Plain sweeps, Anderson acceleration of each column once they prove slow, and no more sweeps for
columns that are at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
Columns = np.ndarray | slice

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
# Columns at rest are left out once this part of all is left.
FEW = 0.5
# So many columns are solved on their pieces, at most so often.
DIRECT, ATTEMPTS = 8, 4


class Map(NamedTuple):
    """The two parts of a sweep, on the given columns of the whole problem, and from linear(x) the
    solution on the same piece of a piecewise linear map: dear, and often the answer."""

    linear: Callable[[Array, Columns], Array]
    act: Callable[[Array, Columns], Array]
    on_piece: Callable[[Array, Columns], Array]


class Found(NamedTuple):
    """x, linear(x), ||act(linear(x)) - x||, and the sweeps that it took."""

    x: Array
    linear: Array
    residual: float
    sweeps: int


@np.errstate(all="ignore")
def solve(F: Map, x: Array, floor: Callable[[Array], float], limit: int) -> Found | None:
    """The first point whose residual is at most the floor; None at the limit."""
    rest = _Rest(x.shape)
    columns: Columns = slice(None)
    history, least, before, restarts, level = _History(), np.inf, np.inf, 0, 0.0
    attempts = ATTEMPTS
    for sweeps in range(1, limit + 1):
        raw = F.linear(x, columns)
        image = F.act(raw, columns)
        f = image - x
        squares = _dots(f, f)
        residual = math.sqrt(np.add.reduce(squares) + rest.squares)
        if rest.empty and sweeps % LOOK == 1:
            level = floor(x)
        if residual <= level:
            return Found(*rest.joined(x, raw), residual, sweeps)
        if not math.isfinite(residual):
            return None
        if history.started and residual > WORSE * least:
            history, restarts, following = _History(), restarts + 1, image
        elif restarts < RESTARTS and (history.started or residual > SLOW * before):
            following = F.act(history.next(f, image), columns)
        else:
            following = image
        least, before = min(least, residual), residual
        # All columns at rest together have at most half of what the floor allows.
        moving = squares > (level / 2) ** 2 / rest.count
        if np.count_nonzero(moving) <= FEW * moving.size:
            columns = rest.put(moving, x, raw, squares)
            history.only(moving)
            raw, following = raw[:, moving], following[:, moving]
        if attempts and not rest.empty and rest.left.size <= DIRECT:
            following, attempts, history = F.on_piece(raw, columns), attempts - 1, _History()
        x = following
    return None


class _Rest:
    """The columns that are done, and which ones are not."""

    def __init__(self, shape: tuple[int, ...]):
        self.count, self.squares = shape[1], 0.0
        self.left = np.arange(shape[1])
        self.whole: tuple[Array, Array] | None = None

    @property
    def empty(self) -> bool:
        return self.whole is None

    def put(self, moving: Array, x: Array, raw: Array, squares: Array) -> Array:
        """Keeps the columns that do not move; the others are what is left."""
        if self.whole is None:
            self.whole = x.copy(), raw.copy()
        else:
            done = self.left[~moving]
            self.whole[0][:, done], self.whole[1][:, done] = x[:, ~moving], raw[:, ~moving]
        self.squares += float(squares[~moving].sum())
        self.left = self.left[moving]
        return self.left

    def joined(self, x: Array, raw: Array) -> tuple[Array, Array]:
        if self.whole is None:
            return x, raw
        self.whole[0][:, self.left], self.whole[1][:, self.left] = x, raw
        return self.whole


class _History:
    """Anderson's differences of residuals and images, with the Gram matrices of each column."""

    def __init__(self) -> None:
        self.residuals: list[Array] = []
        self.images: list[Array] = []
        self.gram = np.zeros((0, 0, 0))
        self.last: tuple[Array, Array] | None = None

    @property
    def started(self) -> bool:
        return self.last is not None

    def next(self, f: Array, image: Array) -> Array:
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

    def only(self, columns: Array) -> None:
        self.residuals = [d[:, columns] for d in self.residuals]
        self.images = [d[:, columns] for d in self.images]
        if self.residuals:
            self.gram = self.gram[columns]
        if self.last is not None:
            self.last = self.last[0][:, columns], self.last[1][:, columns]

    def _push(self, df: Array, dimage: Array) -> None:
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


def _dots(a: Array, b: Array) -> Array:
    """The inner product of each column of a with the same column of b."""
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _where_zero(gram: Array) -> Array:
    """1 at the empty diagonal entries: a column at rest gets the coefficient 0."""
    return np.asarray((np.einsum("nii->ni", gram) == 0)[:, :, None] * np.eye(gram.shape[1]))
