"""A quantity sampled along a run, its infimum so far and its integral, each with an error bar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records.measured import EPS, Measured

# A parabola through neighbouring samples dips below them by h^2 f''/8; doubled, because f'' is
# itself estimated from the samples; so are differences of parabolas.
DIP_SAFETY = 2.0


@dataclass(frozen=True)
class Series:
    k: np.ndarray
    t: np.ndarray
    value: Measured
    # Where it may jump, as the derivatives of a piecewise smooth model do at a kink: the last time
    # before each jump, and how far that may be off. Nothing is interpolated across them.
    jumps: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    def until(self, t: float) -> Series:
        """Its samples up to a time."""
        upto = slice(0, int(np.searchsorted(self.t, t, side="right")))
        return Series(self.k[upto], self.t[upto], self.value[upto], self.jumps)

    @property
    def _jumps(self) -> dict[int, float]:
        """For the first sample after each jump, how far the time of the jump may be off."""
        after = np.searchsorted(self.t, self.jumps[:, 0], side="right").tolist()
        pairs = zip(after, self.jumps[:, 1].tolist(), strict=True)
        return {i: late for i, late in pairs if 0 < i < len(self.t)}

    def stretches(self) -> Iterator[slice]:
        """The samples between jumps."""
        for a, b in pairwise([0, *self._jumps, len(self.t)]):
            yield slice(a, b)

    def dips(self) -> np.ndarray:
        """For each interval between samples: how far the quantity may lie below its ends."""
        found = np.zeros(len(self.t) - 1)
        for part in self.stretches():
            found[part.start : part.stop - 1] = _dips(self.t[part], self.value.value[part])
        return found

    def floors(self) -> np.ndarray:
        """For each interval between samples: no lower is the quantity there."""
        low = self.value.low
        found: np.ndarray = np.minimum(low[1:], low[:-1]) - self.dips()
        return found

    def infimum_until(self, t: np.ndarray) -> Measured:
        """inf over [0, t]. Samples are an upper estimate; the radius reaches down to the dips."""
        low = self.value.low.copy()
        low[1:] = np.minimum(low[1:], self.floors())
        high = np.minimum.accumulate(self.value.high)
        value = np.minimum.accumulate(self.value.value)
        low = np.minimum.accumulate(low)
        at = np.searchsorted(self.t, t * (1 + 4 * EPS), side="right") - 1
        at = np.clip(at, 0, len(self.t) - 1)
        # Between two samples the quantity may already have fallen towards the next one.
        after = np.clip(np.searchsorted(self.t, t * (1 - 4 * EPS), side="left"), 0, len(self.t) - 1)
        error = np.maximum(high[at] - value[at], value[at] - low[np.maximum(at, after)])
        return Measured(value[at], np.maximum(error, 0.0), "sampled infimum")

    def integral_until(self, t: np.ndarray) -> Measured:
        """Integral over [0, t], by parabolas."""
        h = np.diff(self.t)
        f, e = self.value.value, self.value.error
        part, off = self._areas()
        area = np.append(0.0, np.cumsum(part))
        radius = off + h * np.maximum(e[1:], e[:-1])
        error = np.append(0.0, np.cumsum(radius))
        value = np.interp(t, self.t, area)
        # Inside an interval the area is replaced by a chord: charge the whole interval.
        reach = np.clip(np.searchsorted(self.t, t, side="left"), 0, len(self.t) - 1)
        partial = self.t[reach] != t
        chord = np.where(partial, np.append(np.abs(np.diff(f)) * h, 0.0)[reach - 1], 0.0)
        rounding = len(self.t) * EPS * np.abs(value)
        return Measured(value, error[reach] + chord + rounding, "parabolas through the samples")

    def _areas(self) -> tuple[np.ndarray, np.ndarray]:
        """For each interval the area, and how far it may be off."""
        h, f = np.diff(self.t), self.value.value
        jump = np.abs(np.diff(f))
        area, off = h * (f[1:] + f[:-1]) / 2, h * jump
        for part in self.stretches():
            inside = slice(part.start, part.stop - 1)
            area[inside], off[inside] = _areas(self.t[part], f[part])
        for i, late in self._jumps.items():
            off[i - 1] += late * jump[i - 1] if jump[i - 1] else 0.0
        return area, off


def _dips(t: np.ndarray, f: np.ndarray) -> np.ndarray:
    h = np.diff(t)
    if len(h) < 2:
        chord: np.ndarray = np.abs(np.diff(f))
        return chord
    with np.errstate(all="ignore"):
        slopes = np.diff(f) / h
        bend = 2 * np.diff(slopes) / (h[1:] + h[:-1])
    bend = np.abs(np.where(np.isfinite(bend), bend, 0.0))
    worst = np.maximum(np.append(bend[0], bend), np.append(bend, bend[-1]))
    before, after = np.append(slopes[0], slopes[:-1]), np.append(slopes[1:], slopes[-1])
    # A corner (a singular value that passes through zero) reaches down as steeply as its sides.
    steep = np.maximum(np.maximum(np.abs(before), np.abs(after)), np.abs(slopes))
    corner = np.where((before < 0) & (after > 0), h / 2 * steep, 0.0)
    found: np.ndarray = np.maximum(DIP_SAFETY * h**2 * worst / 8, corner)
    return found


def _areas(t: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each interval the area below the mean of the two parabolas through its ends and a
    neighbour on the left or on the right; and twice the difference of the two. The outer
    intervals have one parabola, whose difference to the chord counts."""
    h = np.diff(t)
    chord = h * (f[1:] + f[:-1]) / 2
    if len(h) < 2:
        return chord, h * _dips(t, f)
    with np.errstate(all="ignore"):
        bend = np.diff(np.diff(f) / h) / (h[1:] + h[:-1])
    bend = np.where(np.isfinite(bend), bend, 0.0)
    # A parabola with f''/2 = bend lies below its chord by an area of bend h^3/6.
    left, right = np.append(0.0, bend), np.append(bend, 0.0)
    left[0], right[-1] = right[0], left[-1]
    off = np.abs(left - right)
    off[[0, -1]] = np.abs(left[[0, -1]])
    return chord - h**3 * (left + right) / 12, DIP_SAFETY * h**3 * off / 6
