"""Notices a flow that slides along a kink: the pattern flickers while time stands still.

There the gradient points across the kink from both sides, and no smooth method gets on.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from deqcheck.models.problem import State

# The pattern is compared once in EVERY evaluations, over a window of LOOKS comparisons.
EVERY, LOOKS = 25, 80
# A window with this many changes in which time moved by this share of the segment at most slides:
# at this pace a segment takes twenty thousand evaluations.
CHANGES, PROGRESS = 20, 0.1


class Sliding(Exception):
    """The flow slides along a kink, at this time."""

    def __init__(self, t: float):
        super().__init__(t)
        self.t = t


class Watch:
    """Sees the evaluations of one segment of an integration."""

    def __init__(self, length: float):
        self.length = length
        self._evaluations = 0
        self._pattern: np.ndarray | None = None
        self._window: deque[tuple[float, bool]] = deque(maxlen=LOOKS)

    def see(self, t: float, state: State) -> None:
        self._evaluations += 1
        if self._evaluations % EVERY:
            return
        kinks = state.kinks
        if kinks is None:
            return
        known, self._pattern = self._pattern, kinks.pattern
        self._window.append((t, known is not None and not np.array_equal(known, kinks.pattern)))
        times = [time for time, _ in self._window]
        stands = max(times) - min(times) <= PROGRESS * self.length
        if len(times) == LOOKS and stands and sum(c for _, c in self._window) >= CHANGES:
            raise Sliding(min(times))
