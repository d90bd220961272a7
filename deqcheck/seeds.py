"""Named random streams."""

from __future__ import annotations

import hashlib

import numpy as np


def rng(seed: int, name: str) -> np.random.Generator:
    """The stream of this name: it depends on nothing else, so a new draw never shifts old ones."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in words))
    return np.random.Generator(np.random.PCG64(sequence))
