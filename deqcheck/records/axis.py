"""What varies in a sweep."""

from __future__ import annotations

from typing import Any, NamedTuple

# How the values are spaced.
LISTED, LINEAR, LOG = "list", "linear", "log"


class Axis(NamedTuple):
    """Dotted keys that vary together, and their values at each place."""

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    scale: str = LISTED

    @property
    def seeds(self) -> bool:
        """Whether all that varies is what is drawn."""
        return all(key == "seed" or key.startswith("seeds.") for key in self.keys)
