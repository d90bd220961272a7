"""Rich tables and texts rendered to a plain string."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.visible import visible

# Where every line is to stay one line: for grep.
ENDLESS = 10_000


def render_text(parts: Iterable[RenderableType], options: RenderOptions) -> str:
    """The parts below each other, without trailing blanks."""
    console = Console(
        file=io.StringIO(),
        width=options.width,
        force_terminal=options.color,
        no_color=not options.color,
        color_system="standard" if options.color else None,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    with console.capture() as captured:
        # What is not to be broken may be longer than a line.
        console.print(Segments(_visible(console.render(Group(*parts)))), crop=False, end="")
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _visible(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Only styles command the terminal."""
    for text, style, control in segments:
        yield Segment(text if control else visible(text), style, control)


def columns(rows: Iterable[tuple[Text | str, ...]], indent: int = 2) -> RenderableType:
    """Borderless columns; the last one takes what room is left, and texts that do not wrap are not
    cut."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
        for column, cell in zip(table.columns, row, strict=True):
            if isinstance(cell, Text) and cell.no_wrap:
                column.min_width = max(column.min_width or 0, cell.cell_len)
    if table.columns:
        table.columns[-1].ratio = 1
        # Or the last column is made too wide by what the others do not give up.
        table.expand = any(column.min_width for column in table.columns)
    return Padding(table, (0, 0, 0, indent))


def unbroken(text: str, indent: int = 2) -> Text:
    """A line that can be pasted, however long."""
    return Text(" " * indent + text, no_wrap=True, overflow="ignore")


def heading(cells: Iterable[str]) -> tuple[Text, ...]:
    return tuple(Text(cell, "dim") for cell in cells)


def indented(text: str | Text, indent: int = 2) -> RenderableType:
    return Padding(text if isinstance(text, Text) else Text(text), (0, 0, 0, indent))
