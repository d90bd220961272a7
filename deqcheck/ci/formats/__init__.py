"""Reports of the gate: one file for each format, with a function `render(gate, options) -> str`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from deqcheck.registry import modules

if TYPE_CHECKING:
    from deqcheck.ci.records import Gate
    from deqcheck.report.parts.render_options import RenderOptions

    Renderer = Callable[[Gate, RenderOptions], str]


def formats() -> list[str]:
    return modules(__name__)


def renderer(name: str) -> Renderer:
    return cast("Renderer", importlib.import_module(f"{__name__}.{name}").render)
