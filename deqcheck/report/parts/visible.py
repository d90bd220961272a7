"""Text from outside, such as titles and file names: nothing in it may command a terminal."""

from __future__ import annotations

import unicodedata

# What a text is laid out with.
_LAYOUT = "\n\t"
_DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def visible(text: str) -> str:
    """Control characters, and those that reverse the direction of reading, as escapes."""
    if text.isprintable():
        return text
    return "".join(_shown(sign) for sign in text)


def _shown(sign: str) -> str:
    commands = unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or sign in _DIRECTIONS
    if sign in _LAYOUT or not commands:
        return sign
    return ascii(sign)[1:-1]
