"""Where two formulas differ, so that both can be shown with the differences marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

# A factor, or a sign between factors.
_TOKENS = re.compile(r"[^\s·/+−()≤≥=<>,√*-]+|\s+|.")

# Of formulas that have less in common the parts are not told.
ALIKE = 0.5

# Text, and whether the other formula has it not.
Marked = list[tuple[str, bool]]


def differences(one: str, other: str) -> tuple[Marked, Marked]:
    """Both in pieces."""
    first, second = _TOKENS.findall(one), _TOKENS.findall(other)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [(one, True)], [(other, True)]
    codes = matcher.get_opcodes()
    return (
        list(_merged((first[i:j], code != "equal") for code, i, j, _, _ in codes)),
        list(_merged((second[k:m], code != "equal") for code, _, _, k, m in codes)),
    )


def _merged(pieces: Iterator[tuple[list[str], bool]]) -> Iterator[tuple[str, bool]]:
    """Blanks at the ends of a difference are not marked."""
    for tokens, differs in pieces:
        text = "".join(tokens)
        if not differs:
            if text:
                yield text, False
            continue
        inner = text.strip()
        before, _, after = text.partition(inner) if inner else (text, "", "")
        for part, marked in ((before, False), (inner, True), (after, False)):
            if part:
                yield part, marked
