"""Markdown for a pull-request comment or a job summary: what went wrong first, the rest folded."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from deqcheck.ci.parts.words import missing, outcomes, skipped, summary, unfinished
from deqcheck.ci.records import Gate, Row
from deqcheck.report.parts.render_options import RenderOptions

# GitHub refuses comments of more than 65536 characters.
LONGEST = 60_000
HEAD = ("| case | result | statements | s |", "| --- | --- | --- | ---: |")


def render(gate: Gate, options: RenderOptions) -> str:
    good = [row for row in gate.rows if row.ok]
    text = "\n".join((*_above(gate), *_folded(good), ""))
    if len(text) > LONGEST:
        short = [*_above(gate), "", f"{len(good)} cases that are ok are not listed: too many."]
        text = "\n".join((*short, ""))
    if len(text) > LONGEST:
        cut = text[:LONGEST].rpartition("\n")[0]
        text = f"{cut}\n\nThe rest is left out: too long.\n"
    return text


def _above(gate: Gate) -> Iterator[str]:
    bad = [row for row in gate.rows if not row.ok]
    mark = "❌" if gate.exit_code else "✅"
    if gate.partial and not bad and not gate.missing:
        mark = "⚠️"
    yield f"### {mark} deqcheck: {summary(gate)}"
    if bad:
        yield ""
        yield from _table(bad)
    for row in bad:
        yield ""
        yield f"**{_escaped(row.result.id)}**"
        yield from (f"- {_escaped(trouble)}" for trouble in row.troubles)
        yield f"- replay: `{row.result.replay.replace('`', '')}`"
    if gate.missing:
        yield ""
        yield from (f"- {_escaped(missing(name))}" for name in gate.missing)
    if gate.unfinished:
        yield ""
        yield from (f"- {_escaped(unfinished(name))}" for name in gate.unfinished)
    if gate.skipped:
        yield ""
        yield _escaped(skipped(gate))


def _folded(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"<details><summary>{len(rows)} ok</summary>"
    yield ""
    yield from _table(rows)
    for row in rows:
        yield from (f"- {_escaped(f'{row.result.id}: {note}')}" for note in row.remarks)
    yield ""
    yield "</details>"


def _table(rows: Iterable[Row]) -> Iterator[str]:
    yield from HEAD
    for row in rows:
        cells = (row.result.id, row.word, outcomes(row), f"{row.result.reply.seconds:.1f}")
        yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    for mark in "\\`*_[]|~":
        text = text.replace(mark, f"\\{mark}")
    return html.escape(" ".join(text.split()), quote=False)
