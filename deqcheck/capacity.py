"""How large an array may be: asked before it is made, not when memory has run out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from functools import cache

# Of one array: 0.8 GB.
MOST_ENTRIES = 10**8
# Of one file, unpacked.
MOST_BYTES = 4 << 30
# The arrays of a case and what is made of them share the memory: gradients, adjoints, copies.
SHARE = 8


@cache
def memory() -> float:
    """Bytes of this machine; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def most_bytes() -> int:
    """Of one file, unpacked, here."""
    return int(min(MOST_BYTES, memory() / 2))


def most_entries() -> int:
    """Of one array of doubles, here."""
    return int(min(MOST_ENTRIES, memory() / (8 * SHARE)))


def too_large(name: str, shape: Sequence[int]) -> str | None:
    """The sentence for an array that is."""
    if math.prod(shape) <= most_entries():
        return None
    size = " x ".join(map(str, shape)) or "1"
    return f"{name} is {size}, too large; expected at most {most_entries()} numbers"


def too_many(shapes: Iterable[Sequence[int]]) -> str | None:
    """The sentence for arrays that are too much together."""
    total, most = sum(math.prod(shape) for shape in shapes), 2 * most_entries()
    if total <= most:
        return None
    return f"{total} numbers are more than fit into memory here; expected at most {most}"
