"""A run of gradient descent in exact numbers: the loss after each step, as a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Protocol

from deqcheck.records.tower.node import Again


class Followed(Protocol):
    """From the start of the problem, with a constant step."""

    step: Fraction
    # Of the start: what the loss above its infimum and each part of the gradient are made of.
    nodes: tuple[Again, Mapping[str, Again]] | None

    def gap_after(self, k: int) -> Again | None:
        """None where it is not known any more."""
        ...

    @property
    def ended(self) -> str:
        """Why it is not known any more, if it is not."""
        ...


_FOLLOWED: ContextVar[Followed | None] = ContextVar("followed", default=None)


def followed() -> Followed | None:
    """The run that is being judged, where that is certified."""
    return _FOLLOWED.get()


@contextmanager
def following(run: Followed | None) -> Iterator[None]:
    token = _FOLLOWED.set(run)
    try:
        yield
    finally:
        _FOLLOWED.reset(token)
