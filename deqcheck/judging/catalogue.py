"""Every statement that can be judged, and how one is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from deqcheck import registry
from deqcheck.fields import did_you_mean, show
from deqcheck.judging.errors import UsageError
from deqcheck.theorems.base import AnyStatement, Statement

# An id of the catalogue, or a statement that need not be in it.
Named: TypeAlias = "str | type[AnyStatement]"


# More are not told one by one.
MOST_MEANT = 5


def catalogue() -> Mapping[str, type[AnyStatement]]:
    """Every statement by its id."""
    return registry.statements()


def find(named: Named) -> type[AnyStatement]:
    """Raises UsageError."""
    if isinstance(named, type) and issubclass(named, Statement):
        return named
    if not isinstance(named, str):
        raise UsageError(f"{show(named)} names no statement; expected an id or a Statement class")
    known = catalogue()
    named = registry.renamed(named) or named
    if named not in known:
        raise UsageError(f"there is no statement {named!r}{_hint(named)}")
    return known[named]


def meant(word: str) -> list[type[AnyStatement]]:
    """The statements of a paper, or those whose id ends in a word."""
    return [s for s in catalogue().values() if word in (s.paper(), s.id.partition("/")[2])]


def _hint(word: str) -> str:
    ids = [s.id for s in meant(word)]
    if 0 < len(ids) <= MOST_MEANT:
        return f" (did you mean {' or '.join(map(repr, ids))}?)"
    return did_you_mean(word, catalogue(), "; `deqcheck theorems` lists them")
