"""Reports: one file for each format, with a function `render(reports, options) -> str`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from deqcheck.kinds import Format
from deqcheck.registry import kinds, modules

if TYPE_CHECKING:
    from deqcheck.records.report import Report
    from deqcheck.report.parts.render_options import RenderOptions

    Renderer = Callable[[Sequence[Report], RenderOptions], str]


def formats() -> list[str]:
    """The names of the formats, without importing deqcheck's own."""
    return sorted({*modules(__name__), *kinds(Format).added()})


def renderer(name: str) -> Renderer:
    own = kinds(Format).added().get(name)
    if own is not None:
        found: Renderer = own().render
        return found
    return cast("Renderer", importlib.import_module(f"{__name__}.{name}").render)
