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
        hint = did_you_mean(named, known, "; `deqcheck theorems` lists them")
        raise UsageError(f"there is no statement {named!r}{hint}")
    return known[named]
