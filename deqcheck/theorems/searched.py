"""What a search for counterexamples needs to know of a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from deqcheck.fields import Number
from deqcheck.frozen import dataclass


class Constant(str):
    """A free constant: what it means, which values are meant, and whether the statement speaks of
    all of them. Of the others some value will do, and the statement itself looks for it."""

    for_all: bool
    # Whether the statement searches for its default, which takes long.
    sought: bool
    domain: Number

    def __new__(
        cls,
        doc: str,
        *,
        for_all: bool = False,
        sought: bool = False,
        above: float | None = None,
        at_least: float | None = None,
        below: float | None = None,
        at_most: float | None = None,
    ) -> Constant:
        found = super().__new__(cls, doc)
        found.for_all, found.sought = for_all, sought
        found.domain = Number(above=above, at_least=at_least, below=below, at_most=at_most)
        return found


@dataclass(frozen=True)
class Space:
    """Where counterexamples may lie, if not everywhere: sizes from and to, by the letters of the
    model's axes, and fields of the model that the statement speaks of: the values that matter, None
    for one that is to be left out, and no values at all for one that is to be set to whatever."""

    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fields: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


# The values that checks are called with, where somebody asks for them.
_SEEN: ContextVar[dict[str, Any] | None] = ContextVar("values_seen", default=None)


@contextmanager
def values_seen() -> Iterator[dict[str, Any]]:
    """The values of every check that is called meanwhile, by their names in the formulas."""
    found: dict[str, Any] = {}
    token = _SEEN.set(found)
    try:
        yield found
    finally:
        _SEEN.reset(token)


def note_values(values: Mapping[str, Any]) -> None:
    seen = _SEEN.get()
    if seen is not None:
        seen.update(values)
