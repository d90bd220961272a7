"""Named random streams."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np


def rng(seed: int, name: str) -> np.random.Generator:
    """The stream of this name: it depends on nothing else, so a new draw never shifts old ones."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, name)))


@lru_cache(maxsize=256)
def _sequence(seed: int, name: str) -> np.random.SeedSequence:
    """Many problems begin the same streams."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in words))
