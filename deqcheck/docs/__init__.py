"""Documentation: Markdown files beside this one, and topics that are generated from the code.

A topic is a file `name.md`, or a module with `titles()`, the topics that it can write with a line
about each, and `render(topic, cases)`. `cases` reads the embedded cases when they are needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.resources import files

from deqcheck.case import Case
from deqcheck.registry import modules

Cases = Callable[[], Mapping[str, Case]]


def topics() -> dict[str, str]:
    """Every topic with a line about it."""
    found = {name: _title(text) for name, text in _written().items()}
    for module in modules(__name__):
        found |= importlib.import_module(f"{__name__}.{module}").titles()
    return dict(sorted(found.items()))


def text(topic: str, cases: Cases) -> str:
    """A topic in Markdown."""
    written = _written()
    if topic in written:
        return written[topic]
    for module in modules(__name__):
        writer = importlib.import_module(f"{__name__}.{module}")
        if topic in writer.titles():
            return str(writer.render(topic, cases))
    raise KeyError(topic)


def _written() -> dict[str, str]:
    return {
        entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".md")
    }


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")
