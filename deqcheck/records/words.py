"""Words that cases, statements and reports share: editions and dynamics."""

from __future__ import annotations

from typing import Any

PRINTED, CORRECTED = "printed", "corrected"
EDITIONS = (PRINTED, CORRECTED)
BOTH = "both"

FLOW, DESCENT, STATIC = "flow", "gd", "static"
RECORDED, TRUNCATED = "recorded", "truncated"


def dynamics(train: Any) -> str:
    """Of what trains by these; None trains not at all."""
    return STATIC if train is None else str(train.kind)


def judged_as(train: Any) -> str:
    """The dynamics whose statements are about what trains by these."""
    return getattr(train, "judged_as", "") or dynamics(train)


def editions(word: str) -> tuple[str, ...]:
    """The editions that one word of a case or a command stands for."""
    return EDITIONS if word == BOTH else (word,)
