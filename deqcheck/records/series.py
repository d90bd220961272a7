"""A quantity sampled along a run, its infimum so far and its integral, each with an error bar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deqcheck.records.measured import EPS, Measured

# A parabola through neighbouring samples dips below them by h^2 f''/8; doubled, because f'' is
# itself estimated from the samples; so are differences of parabolas.
DIP_SAFETY = 2.0


@dataclass(frozen=True)
class Series:
    k: np.ndarray
    t: np.ndarray
    value: Measured

    def until(self, t: float) -> Series:
        """Its samples up to a time."""
        upto = slice(0, int(np.searchsorted(self.t, t, side="right")))
        return Series(self.k[upto], self.t[upto], self.value[upto])

    def dips(self) -> np.ndarray:
        """For each interval between samples: how far the quantity may lie below its ends."""
        t, f = self.t, self.value.value
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
        partial = ~np.isin(t, self.t)
        chord = np.where(partial, np.append(np.abs(np.diff(f)) * h, 0.0)[reach - 1], 0.0)
        rounding = len(self.t) * EPS * np.abs(value)
        return Measured(value, error[reach] + chord + rounding, "parabolas through the samples")

    def _areas(self) -> tuple[np.ndarray, np.ndarray]:
        """For each interval the area below the mean of the two parabolas through its ends and a
        neighbour on the left or on the right; and twice the difference of the two. The outer
        intervals have one parabola, whose difference to the chord counts."""
        t, f = self.t, self.value.value
        h = np.diff(t)
        chord = h * (f[1:] + f[:-1]) / 2
        if len(h) < 2:
            return chord, h * self.dips()
        with np.errstate(all="ignore"):
            bend = np.diff(np.diff(f) / h) / (h[1:] + h[:-1])
        bend = np.where(np.isfinite(bend), bend, 0.0)
        # A parabola with f''/2 = bend lies below its chord by an area of bend h^3/6.
        left, right = np.append(0.0, bend), np.append(bend, 0.0)
        left[0], right[-1] = right[0], left[-1]
        off = np.abs(left - right)
        off[[0, -1]] = np.abs(left[[0, -1]])
        return chord - h**3 * (left + right) / 12, DIP_SAFETY * h**3 * off / 6
