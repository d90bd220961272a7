"""The law of drawn parameters."""

from __future__ import annotations

from typing import NamedTuple


class Law(NamedTuple):
    """Of independent entries: the kind of distribution, and the standard deviation of an entry (of
    the normal variable, where its modulus is taken)."""

    kind: str
    scale: float
