"""An array that a user brings, with the place to blame for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deqcheck.frozen import dataclass


@dataclass(frozen=True, eq=False)
class Given:
    """An array, the key (below its kind) that is to blame for it, and what sentences call it."""

    array: np.ndarray
    key: str
    label: str
    # What there is to say about it.
    notes: tuple[str, ...] = ()

    def scaled(self, factor: float) -> Given:
        return replace(self, array=factor * self.array)
