"""Which points of a long record are reported."""

from __future__ import annotations

import numpy as np

from deqcheck.records.grids import distinct

LIMIT = 1000


def thin(n: int, limit: int = LIMIT) -> np.ndarray:
    """At most `limit` indices of `range(n)`: both ends, half evenly and half log-spaced.

    The log-spaced half keeps the fast beginning of a decay, the even half its long tail.
    """
    if n <= limit:
        return np.arange(n)
    half = limit // 2
    even = np.linspace(0, n - 1, half)
    early = np.geomspace(1, n - 1, half)
    return distinct(even.round().astype(int), early.round().astype(int))
