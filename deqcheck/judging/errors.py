"""What is wrong with a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deqcheck.fields import Refusal


class UsageError(Exception):
    """What was asked for does not fit the problem; the text is one sentence."""

    __module__ = "deqcheck"


@contextmanager
def refusals() -> Iterator[None]:
    """Input that is refused inside is wrong usage."""
    try:
        yield
    except Refusal as refusal:
        sentences = (f"{key}: {said}" if key else said for key, said in refusal.problems)
        raise UsageError("; ".join(sentences)) from None
