"""A map as a page: a table whose cells tell, on hover or focus, how to run them again."""

from __future__ import annotations

import math

import numpy as np

from deqcheck.records.sweep import Sweep
from deqcheck.report.parts.map_picture import LOOKS, look
from deqcheck.report.parts.mapped import GOOD, OUTCOME, SHARE, Cell, Curves, Heat
from deqcheck.report.parts.markup import Markup, tag
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import Panel, Trace
from deqcheck.report.parts.style import SHEET
from deqcheck.report.parts.svg import figure

# A ramp whose lightness grows: readable in grey.
RAMP = ((59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
# The page may load nothing at all, not even from where it lies.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MORE = """
table.map { width: auto; border-spacing: 1px; border-collapse: separate; }
table.map th[scope=col] { writing-mode: vertical-rl; padding: .25rem 0; }
.sample { display: inline-block; width: 1.7rem; height: 1.2rem; border: 1px solid var(--rule);
  background-color: #fff; }
table.map td, table.map th { border: 0; padding: 0 .25rem; text-align: center; font-size: .75rem; }
table.map td { position: relative; width: 1.7rem; height: 1.7rem; color: #000;
  background-color: #fff; }
.not-applicable, .not-met { background-image: repeating-linear-gradient(-45deg, #000 0 1px,
  transparent 1px 6px); }
.not-checked { background-image: repeating-linear-gradient(45deg, #000 0 1px,
  transparent 1px 6px); }
.undecided { background-image: radial-gradient(#000 1px, transparent 1.5px);
  background-size: 6px 6px; }
.broken { background-image: repeating-linear-gradient(0deg, #000 0 1px, transparent 1px 6px),
  repeating-linear-gradient(90deg, #000 0 1px, transparent 1px 6px); }
.refuted { outline: 3px solid #000; outline-offset: -3px; background-image:
  repeating-linear-gradient(45deg, #000 0 1px, transparent 1px 5px),
  repeating-linear-gradient(-45deg, #000 0 1px, transparent 1px 5px); }
table.map .tip { display: none; position: absolute; z-index: 2; left: 0; top: 100%; width: 24rem;
  text-align: left; background: var(--paper); color: var(--ink); border: 1px solid var(--rule);
  padding: .5rem; font-size: .8rem; overflow-wrap: anywhere; }
table.map td:hover .tip, table.map td:focus .tip { display: block; }
"""


def page(sweep: Sweep, found: Heat | Curves) -> str:
    heading = f"deqcheck: {sweep.title or sweep.name}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", heading),
        tag("style", Markup(SHEET + MORE)),
    )
    told = tag("p", f"{len(sweep)} members: {_counts(sweep)}.")
    picture = _table(found) if isinstance(found, Heat) else _curves(found)
    main = tag("main", tag("h2", found.title), told, picture, id="results")
    footer = tag("footer", tag("p", f"Written by deqcheck {sweep.environment['deqcheck']}."))
    body = tag("body", tag("header", tag("h1", heading)), main, footer)
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def fragment(sweep: Sweep) -> str:
    """For a notebook."""
    rows = [
        tag("tr", tag("td", word), tag("td", str(count))) for word, count in sweep.counts.items()
    ]
    return str(tag("table", tag("caption", sweep.title or sweep.name), tag("tbody", *rows)))


def _counts(sweep: Sweep) -> str:
    return ", ".join(f"{count} {word}" for word, count in sweep.counts.items())


def _table(found: Heat) -> Markup:
    """The largest y on top, as in a picture."""
    rows = []
    for label, cells in zip(reversed(found.y.labels), reversed(found.cells), strict=True):
        rows.append(tag("tr", tag("th", label, scope="row"), *(_cell(found, c) for c in cells)))
    foot = tag("tr", tag("th", ""), *(tag("th", text, scope="col") for text in found.x.labels))
    several = any(cell and cell.members > 1 for row in found.cells for cell in row)
    worst = ", the worst of a cell" if several else ""
    caption = f"{found.label}; across: {found.x.key}, up: {found.y.key}"
    legend = [
        tag("li", tag("span", class_=f"sample {_pattern(word) or ''}"), f"{word}{worst}")
        for word in found.outcomes
    ]
    return tag(
        "figure",
        tag("figcaption", caption),
        tag("p", f"From {_short(found, 0)} (dark) to {_short(found, -1)} (light).")
        if found.values and not _by_outcome(found)
        else None,
        tag("table", tag("tbody", *rows, foot), class_="map"),
        tag("ul", *legend, class_="legend") if legend else None,
        style="max-width: none",
    )


def _pattern(outcome: str) -> str | None:
    """The class that hatches it; none where all is well."""
    if outcome in GOOD:
        return None
    if outcome in ("refuted", "inconsistent"):
        return "refuted"
    return outcome.replace(" ", "-") if outcome in LOOKS else "broken"


def _by_outcome(found: Heat) -> bool:
    return found.shade.what == OUTCOME and found.shown != SHARE


def _short(found: Heat, end: int) -> str:
    return number(sorted(found.values)[end], 3)


def _cell(found: Heat, cell: Cell | None) -> Markup:
    if cell is None:
        return tag("td", "")
    told = [f"{cell.share} of {cell.members} {cell.outcome}"]
    if cell.value is not None:
        told.append(f"{found.label}: {number(cell.value, 4)}")
    tip = tag("span", "; ".join(told), tag("br"), tag("code", cell.replay), class_="tip")
    colour = look(cell.outcome)[0] if _by_outcome(found) else _colour(found, cell.value)
    return tag(
        "td",
        tip,
        tabindex="0",
        class_=_pattern(cell.outcome),
        style=f"background-color: {colour}",
    )


def _colour(found: Heat, value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "#ffffff"
    low, high = (0.0, 1.0) if found.shown == SHARE else (min(found.values), max(found.values))
    if found.log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    share = 0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0)
    at = share * (len(RAMP) - 1)
    i = min(int(at), len(RAMP) - 2)
    mixed = (round(a + (at - i) * (b - a)) for a, b in zip(RAMP[i], RAMP[i + 1], strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _curves(found: Curves) -> Markup:
    traces = []
    for band in found.bands:
        x = np.array(band.x)
        traces.append(Trace(f"{band.label}: median", x, np.array(band.middle), True))
        if band.low != band.high:
            traces.append(Trace(f"{band.label}: least", x, np.array(band.low)))
            traces.append(Trace(f"{band.label}: largest", x, np.array(band.high)))
    log_x = found.x.scale == "log"
    panel = Panel(found.title, found.x.key, found.label, tuple(traces), log_x, found.log_y)
    return figure(panel, "map")
