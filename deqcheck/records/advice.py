"""How near a theorem is to applying, and what would make it apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deqcheck.records.entry import Entry
from deqcheck.records.judged import Judged


@dataclass(frozen=True)
class Remedy:
    """What to set, by dotted key, so that every hypothesis holds, and the case with it."""

    name: str
    changes: Mapping[str, float]
    # YAML of one document.
    case: str


@dataclass(frozen=True)
class Advice:
    """One theorem: how near it is, and what would make it apply."""

    id: str
    edition: str
    title: str
    applies: bool
    # The hypothesis that is furthest from holding.
    binding: Judged | None = None
    # Why no single scale can help, where that is known.
    obstacle: str = ""
    remedies: tuple[Remedy, ...] = ()
    # What was tried in vain.
    in_vain: tuple[str, ...] = ()
    entry: Entry | None = None
    # What keeps it from being judged at all.
    reason: str = ""

    @property
    def distance(self) -> float:
        """The ratio of the binding hypothesis; what has none is far."""
        if self.applies:
            return 1.0
        ratio = None if self.binding is None else self.binding.ratio
        return 0.0 if ratio is None else min(ratio, 1.0)
