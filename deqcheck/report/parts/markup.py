"""HTML and SVG in which everything is escaped that was not made here."""

from __future__ import annotations

from html import escape
from typing import Any

from deqcheck.report.parts.visible import visible

VOID = {"br", "img", "meta", "wbr", "input"}


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element. None is no child and no attribute; `class_` is spelt `class`, `_` is `-`."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            spelt = key.rstrip("_").replace("_", "-")
            words.append(f'{spelt}="{escape(str(value))}"')
    opening = f"<{' '.join(words)}>"
    if name in VOID:
        return Markup(opening)
    return Markup(f"{opening}{join(*children)}</{name}>")


def join(*parts: Any) -> Markup:
    return Markup("".join(_text(part) for part in parts if part is not None))


def _text(part: Any) -> str:
    if isinstance(part, Markup):
        return part
    if isinstance(part, (list, tuple)):
        return join(*part)
    return escape(visible(str(part)))
