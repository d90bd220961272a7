"""Points of grids as sets.

NumPy's own functions for these ask numpy.ma, which takes 10 ms to load.
"""

from __future__ import annotations

import numpy as np


def distinct(*grids: np.ndarray) -> np.ndarray:
    """Sorted, each once: np.unique."""
    every = np.sort(np.concatenate(grids))
    return np.concatenate([every[:1], every[1:][every[1:] != every[:-1]]])


def without(grid: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Sorted, each once, and none of the others: np.setdiff1d."""
    return np.array(sorted({*grid.tolist()} - {*others.tolist()}), dtype=grid.dtype)
