"""The table for people: one line for each case, what went wrong below it, and a summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from deqcheck.ci.parts.words import missing, outcomes, skipped, summary, unfinished
from deqcheck.ci.records import Gate, Row
from deqcheck.report.parts.console import ENDLESS, render_text
from deqcheck.report.parts.render_options import RenderOptions

GOOD, BAD, OPEN = "green", "bold red", "yellow"


def render(gate: Gate, options: RenderOptions) -> str:
    return render_text(_lines(gate), replace(options, width=ENDLESS))


def _lines(gate: Gate) -> Iterator[RenderableType]:
    for row in gate.rows:
        yield from _row(row)
    for name in gate.missing:
        yield Text.assemble(("MISSING", BAD), f" {missing(name)}")
    for name in gate.unfinished:
        yield Text.assemble(("--", OPEN), f" {unfinished(name)}")
    yield Text("")
    yield Text.assemble((summary(gate), BAD if gate.exit_code else GOOD), f", {gate.seconds:.1f} s")
    if gate.skipped:
        yield Text(skipped(gate))


def _row(row: Row) -> Iterator[RenderableType]:
    word = "ok" if row.ok else row.word.upper()
    told = f": {outcomes(row)}" if row.statements else ""
    seconds = f", {row.result.reply.seconds:.1f} s"
    yield Text.assemble((word, GOOD if row.ok else BAD), f" {row.result.id}{told}{seconds}")
    for trouble in row.troubles:
        yield Text(f"    {trouble}")
    for remark in row.remarks:
        yield Text(f"    note: {remark}")
    if not row.ok:
        yield Text(f"    replay: {row.result.replay}")
