"""Of the points that a statement draws, those that are looked at.

A claim about all states, pairs or directions is judged at drawn ones. A search for counterexamples
changes the instance as well, and every instance brings points of its own: there one in sixteen is
looked at. What fails at one of these fails among all of them, so that whatever is found this way is
refuted by an ordinary run, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
ONE_IN = 16
_FEWER: ContextVar[bool] = ContextVar("fewer", default=False)


@contextmanager
def fewer() -> Iterator[None]:
    """Inside, one in sixteen is looked at."""
    token = _FEWER.set(True)
    try:
        yield
    finally:
        _FEWER.reset(token)


def looked_at(drawn: Iterable[T]) -> Iterable[T]:
    """The first, the seventeenth and so on where few are: draws often go from large to small."""
    return islice(drawn, 0, None, ONE_IN) if _FEWER.get() else drawn


def number(count: int) -> int:
    """How many of so many, where the first ones are looked at."""
    return -(-count // ONE_IN) if _FEWER.get() else count
