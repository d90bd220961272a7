"""x = act(linear(x)), a contraction that treats every column alone.

Plain sweeps, in single precision where only the correction of a known residual is sought. Once they
prove slow: Anderson acceleration of each column, and no more sweeps for columns that are at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
Columns = np.ndarray | slice

# A plain sweep that shrinks the residual by less than SLOW_CONTRACTION is slow, unless PATIENCE
# more of them will do.
SLOW_CONTRACTION, PATIENCE = 0.5, 4
# A residual this many times the floor is worth a correction in single precision, whose sweeps cost
# half and stop where they move by less than this, relative to the residual: two sweeps are sooner
# done in double precision, three are not.
WORTH_CORRECTING, SINGLE_PRECISION_STOP = 10.0, 1e-6
# Differences that the acceleration combines.
WINDOW = 5
# Ridge of its least-squares problems, whose columns are scaled to length 1.
RIDGE = 1e-14
# An accelerated residual this much above the least one so far starts it anew.
WORSE = 2.0
RESTARTS = 10
# Sweeps from one look at the floor to the next.
CHECK_EVERY = 4
# The start may be an answer given before, whose residual is then rounded in another way: up
# to this factor above the floor it is still the answer.
STILL_THE_ANSWER = 1.25
# Columns at rest are left out once this part of all is left.
ACTIVE_SHARE = 0.5
# At most this number of columns is solved on their pieces, at most this many times.
DIRECT_COLUMNS, ATTEMPTS = 8, 4


class Map(NamedTuple):
    """The two parts of a sweep, on the given columns of the whole problem; from linear(x) the
    solution on the same piece of a piecewise linear map: expensive, and often the answer; and from
    linear(x) and a unit u the change d -> (act(linear(x + u d)) - act(linear(x)))/u in single
    precision, good to that precision relative to d."""

    linear: Callable[[Array, Columns], Array]
    act: Callable[[Array, Columns], Array]
    on_piece: Callable[[Array, Columns], Array]
    change: Callable[[Array, Columns, float], Callable[[Array], Array]]


class Solution(NamedTuple):
    """x, linear(x), ||act(linear(x)) - x||, and the sweeps in double precision that it took."""

    x: Array
    linear: Array
    residual: float
    sweeps: int


@np.errstate(all="ignore")
def solve(F: Map, x: Array, floor: Callable[[Array], float], limit: int) -> Solution | None:
    """The first point whose residual is at most the floor; None at the limit."""
    rest = _Rest(x.shape)
    history, least, before, restarts, level = _History(), np.inf, np.inf, 0, 0.0
    attempts = ATTEMPTS
    for sweeps in range(1, limit + 1):
        columns = rest.columns
        raw = F.linear(x, columns)
        image = F.act(raw, columns)
        f = image - x
        residual = math.sqrt(np.vdot(f, f) + rest.squares)
        if rest.empty and sweeps % CHECK_EVERY == 1:
            level = floor(x) * (STILL_THE_ANSWER if sweeps == 1 else 1.0)
        if residual <= level:
            done = rest.joined(x, raw)
            if sweeps == 1 or residual <= floor(done[0]):
                return Solution(*done, residual, sweeps)
        if not math.isfinite(residual):
            return None
        far = sweeps > 1 and residual > WORTH_CORRECTING * level
        slow = history.started or _slow(residual, before, level)
        if far or slow:
            moving = rest.put(x, raw, f, level)
            if moving is not None:
                x, raw, image, f = (a[:, moving] for a in (x, raw, image, f))
                history.only(moving)
                columns = rest.columns
        if history.started and residual > WORSE * least:
            history, restarts, x = _History(), restarts + 1, image
        elif slow and attempts and not rest.empty and rest.left.size <= DIRECT_COLUMNS:
            history, attempts, x = _History(), attempts - 1, F.on_piece(raw, columns)
        elif slow and restarts < RESTARTS:
            x = F.act(history.next(f, image), columns)
        elif far:
            change = F.change(raw, columns, residual)
            x = F.act(x + _correction(f, change, residual, level), columns)
        else:
            x = image
        least, before = min(least, residual), residual
    return None


def _slow(residual: float, before: float, level: float) -> bool:
    """Plain sweeps, judged by the last one."""
    pace = residual / before
    return pace > SLOW_CONTRACTION and residual * pace**PATIENCE > level


def _correction(f: Array, change: Callable[[Array], Array], residual: float, level: float) -> Array:
    """The solution of d = f + change(d), by sweeps in units of |f| as long as they are not slow."""
    start = (f / residual).astype(np.float32)
    d, before = start, 1.0
    while before > max(SINGLE_PRECISION_STOP, level / residual):
        following = change(d)
        following += start
        step = following - d
        moved = math.sqrt(np.vdot(step, step))
        if not moved <= SLOW_CONTRACTION * before:
            break
        d, before = following, moved
    return np.multiply(d, residual, dtype=float)


class _Rest:
    """The columns that are done, and which ones are not."""

    def __init__(self, shape: tuple[int, ...]):
        self.count, self.squares = shape[1], 0.0
        self.left = np.arange(shape[1])
        self.whole: tuple[Array, Array] | None = None

    @property
    def empty(self) -> bool:
        return self.whole is None

    @property
    def columns(self) -> Columns:
        return slice(None) if self.empty else self.left

    def put(self, x: Array, raw: Array, f: Array, level: float) -> Array | None:
        """Keeps the columns at rest, if they are many, and tells which ones still move. All that
        are at rest have together at most half of what the floor allows."""
        squares = _dots(f, f)
        moving = squares > (level / 2) ** 2 / self.count
        if np.count_nonzero(moving) > ACTIVE_SHARE * moving.size:
            return None
        if self.whole is None:
            self.whole = x.copy(), raw.copy()
        else:
            self.joined(x, raw)
        self.squares += float(squares[~moving].sum())
        self.left = self.left[moving]
        return moving

    def joined(self, x: Array, raw: Array) -> tuple[Array, Array]:
        if self.whole is None:
            return x, raw
        self.whole[0][:, self.left], self.whole[1][:, self.left] = x, raw
        return self.whole


class _History:
    """Anderson's differences of residuals and images, with the Gram matrices of each column."""

    def __init__(self) -> None:
        self.count = 0
        self.last: tuple[Array, Array] | None = None

    @property
    def started(self) -> bool:
        return self.last is not None

    def next(self, f: Array, image: Array) -> Array:
        """image - sum_i gamma_i d(image)_i, where gamma minimises |f - sum_i gamma_i d(f)_i|."""
        if self.last is None:
            self.last = f, image
            self.residuals, self.images = np.empty((2, WINDOW, *f.shape))
            self.gram = np.zeros((f.shape[1], WINDOW, WINDOW))
            return image
        self._push(f, image)
        x, part = image.copy(), np.empty_like(image)
        for gamma, difference in zip(self._weights(f), self.images, strict=False):
            x -= np.multiply(gamma, difference, out=part)
        return x

    def only(self, columns: Array) -> None:
        if self.last is None:
            return
        self.last = self.last[0][:, columns], self.last[1][:, columns]
        self.residuals, self.images = self.residuals[:, :, columns], self.images[:, :, columns]
        self.gram = self.gram[columns]

    def _push(self, f: Array, image: Array) -> None:
        """The new differences take the place of the oldest."""
        assert self.last is not None
        place = self.count % WINDOW
        self.count += 1
        np.subtract(f, self.last[0], out=self.residuals[place])
        np.subtract(image, self.last[1], out=self.images[place])
        self.last = f, image
        kept = self.residuals[: self.count]
        self.gram[:, place, : len(kept)] = self.gram[:, : len(kept), place] = _dots(
            kept, kept[place]
        ).T

    def _weights(self, f: Array) -> Array:
        """gamma, one row for each difference; a column whose differences are zero gets zeros."""
        kept = self.residuals[: self.count]
        gram = self.gram[:, : len(kept), : len(kept)]
        scale = np.sqrt(np.einsum("nii->ni", gram))
        scale[scale == 0] = 1.0
        system = gram / (scale[:, :, None] * scale[:, None, :])
        np.einsum("nii->ni", system)[...] = 1.0 + RIDGE
        right = _dots(kept, f).T / scale
        found: np.ndarray = (np.linalg.solve(system, right[:, :, None])[:, :, 0] / scale).T
        return found


def _dots(a: Array, b: Array) -> Array:
    """The inner product of each column of a, or of each of several a, with that of b."""
    return np.asarray(np.einsum("...ij,ij->...j", a, b))
