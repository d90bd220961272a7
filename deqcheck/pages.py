"""Memory that runs free and ask for again at every step."""

from __future__ import annotations

from functools import cache

import numpy as np

# As large as glibc takes for a sign that arrays of this size come again: at most 32 MiB.
SIGN = 31 << 20


@cache
def kept() -> None:
    """The C library of Linux gives the pages of large arrays back as they are freed, and every step
    meets them afresh, page by page, until one array of some size was freed: then it keeps as much.
    Nothing is written to this one."""
    np.empty(SIGN, dtype=np.uint8)
