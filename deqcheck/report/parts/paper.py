"""One panel for a paper, at the size of a column: direct labels, mathtext, embedded fonts."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.records.comparison import Decision
from deqcheck.records.report import Report
from deqcheck.records.trajectory import CROSSING, SLIDE, Trajectory
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import ENTRY, Bar, Panel, Trace, bars, panels

PANELS = ("loss", "spectrum", "hypotheses", "all")
AXES = ("loglog", "semilogy", "linear")
SIZE, SMALLEST = (3.3, 2.4), (1.8, 1.2)
# Okabe and Ito's colours from dark to light: they stay apart for the colour-blind and in grey,
# where the dashes and markers do the rest.
COLORS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("", "o", "s", "^", "D", "v", "P")
SHADES = {
    Decision.HOLDS: ("#b9d9c3", ""),
    Decision.VIOLATED: ("#c25b6e", ""),
    Decision.UNDECIDED: ("#e6c98a", "...."),
}
MARKS = {CROSSING: ("kink", ":"), SLIDE: ("slide", "-"), ENTRY: ("applies", "--")}
# Bars beyond these ratios are cut.
LOWEST, HIGHEST = 1e-3, 1e3
MOST_BARS, LABEL = 14, 28
STYLE: Mapping[str, Any] = {
    "font.family": "serif",
    "font.serif": ["STIX Two Text", "STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.25,
    "grid.color": "#c0c0c0",
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    # Text goes along, as TrueType in a PDF and as outlines in an SVG.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "deqcheck",
    "savefig.dpi": 300,
}


class DrawingError(Exception):
    """One sentence about what cannot be drawn so."""


@dataclass(frozen=True)
class Drawing:
    """How a panel is to look."""

    panel: str = "all"
    size: tuple[float, float] = SIZE
    axes: str | None = None
    # The loss itself rather than its gap relative to the start.
    raw: bool = False
    style: Path | None = None

    def check(self) -> None:
        """Raises DrawingError before any work is done."""
        with self.settings():
            pass

    @contextmanager
    def settings(self) -> Iterator[None]:
        import matplotlib
        from matplotlib import font_manager

        settings: Any = dict(STYLE)
        with matplotlib.rc_context(settings):
            if self.style is not None:
                try:
                    matplotlib.rc_file(self.style, use_default_template=False)
                except (OSError, UnicodeDecodeError) as error:
                    told = getattr(error, "strerror", None) or "not a text file"
                    raise DrawingError(f"{self.style}: cannot be read: {told}") from None
                known = {*font_manager.get_font_names(), *GENERIC}
                for family in matplotlib.rcParams["font.family"]:
                    if family not in known:
                        raise DrawingError(f"{self.style}: there is no font {family!r} here")
            yield


GENERIC = ("serif", "sans-serif", "monospace", "cursive", "fantasy", "sans", "sans serif")


def draw(report: Report, form: str, wanted: Drawing) -> bytes | None:
    """None where there is nothing of the kind to draw."""
    from matplotlib.figure import Figure

    with wanted.settings():
        figure = Figure(figsize=wanted.size, layout="constrained")
        if not _drawn(figure, report, wanted):
            return None
        stream = io.BytesIO()
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, metadata=dateless.get(form))
    return stream.getvalue()


def _drawn(figure: Any, report: Report, wanted: Drawing) -> bool:
    if wanted.panel == "hypotheses":
        found = [bar for bar in bars(report) if bar.ratio is not None or _fails(bar)]
        if found:
            _margins(figure.add_subplot(), found)
        return bool(found)
    # The loss comes first where there is one.
    every = panels(report)
    losses = [panel for panel in every if panel.title.startswith("Loss")]
    chosen = losses if wanted.panel == "loss" else [p for p in every if p not in losses]
    if not chosen:
        return False
    panel = chosen[0]
    if wanted.panel == "loss" and wanted.raw and report.trajectory is not None:
        panel = _in_units_of_the_loss(panel, report.trajectory)
    _curves(figure.add_subplot(), _with_axes(panel, wanted.axes), wanted)
    return True


def _fails(bar: Bar) -> bool:
    return bar.decision is Decision.VIOLATED


def _in_units_of_the_loss(panel: Panel, track: Trajectory) -> Panel:
    """A bound on the gap is one on the loss: infimum + gap(0) times what it is relative to."""
    start, infimum = float(track.gap.value[0]), float(track.infimum.value)

    def moved(trace: Trace) -> Trace:
        at = trace.violation
        there = None if at is None else (at[0], infimum + start * at[1])
        return replace(trace, y=infimum + start * trace.y, violation=there)

    return replace(panel, traces=tuple(map(moved, panel.traces)), y_label="$L$", resolution=None)


def _with_axes(panel: Panel, axes: str | None) -> Panel:
    if axes is None:
        return panel
    log_x, log_y = axes == "loglog", axes != "linear"
    traces = []
    for trace in panel.traces:
        keep = ((trace.x > 0) | (not log_x)) & ((trace.y > 0) | (not log_y))
        if keep.any():
            traces.append(replace(trace, x=trace.x[keep], y=trace.y[keep]))
    return replace(panel, traces=tuple(traces), log_x=log_x, log_y=log_y)


def _curves(axes: Any, panel: Panel, wanted: Drawing) -> None:
    for i, trace in enumerate(panel.traces):
        _line(axes, trace, i)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    axes.set_xlim(*panel.x_range())
    axes.set_ylim(*panel.y_range())
    axes.set_xlabel("step $k$" if panel.x_label.startswith("step") else "time $t$")
    axes.set_ylabel(_y_label(panel))
    _ticks(axes, panel)
    for horizon in panel.horizons[:1]:
        axes.axvspan(horizon, panel.x_range()[1], color="#808080", alpha=0.15, lw=0)
    _marks(axes, panel)
    _direct_labels(axes, panel)


def _y_label(panel: Panel) -> str:
    if not panel.y_label:
        return panel.symbol
    return panel.y_label if "$" in panel.y_label else r"$(L - L^*)\,/\,(L_0 - L^*)$"


def _line(axes: Any, trace: Trace, i: int) -> None:
    """What is measured is heavy and black; what is printed is dashed."""
    axes.plot(
        trace.x,
        trace.y,
        color=COLORS[i % len(COLORS)],
        linestyle="--" if trace.printed else "-",
        linewidth=1.9 if trace.measured else None,
        marker=MARKERS[i % len(MARKERS)],
        markerfacecolor="white" if trace.printed else None,
        markeredgewidth=0.7,
        markevery=(0.05 + 0.03 * (i % 4), 0.22),
        zorder=4 if trace.measured else 3,
    )
    if trace.violation is not None:
        ring = {"marker": "o", "markersize": 8, "markerfacecolor": "none", "linestyle": ""}
        axes.plot(*([v] for v in trace.violation), **ring, markeredgecolor="#c8102e", zorder=5)


def _ticks(axes: Any, panel: Panel) -> None:
    """Over less than two decades plain numbers, with the digits that tell them apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

    low, high = panel.y_range()
    if not panel.log_y or high < 100 * low:
        digits = max(3, math.ceil(math.log10(max(abs(high), abs(low)) / (high - low))) + 2)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.{digits}g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_minor_formatter(NullFormatter())
    if panel.log_x:
        axes.xaxis.set_minor_formatter(NullFormatter())


def _marks(axes: Any, panel: Panel) -> None:
    """An entry or a kink is a line with its name; of many kinks the first is named."""
    for marks in panel.marks:
        name, style = MARKS[marks.kind]
        for i, at in enumerate(marks.at):
            axes.axvline(at, color="#606060", linewidth=0.6, linestyle=style, zorder=1)
            if i == 0:
                place = axes.get_xaxis_transform()
                side = {"ha": "left", "va": "bottom", "rotation": 90, "fontsize": 6}
                axes.text(at, 0.02, f" {name}", transform=place, **side)


def _direct_labels(axes: Any, panel: Panel) -> None:
    """Right of each curve, at the height of its end, moved apart where they would overlap."""
    low, high = panel.y_range()
    ends = []
    for i, trace in enumerate(panel.traces):
        inside = np.flatnonzero((trace.y >= low) & (trace.y <= high))
        last = inside[-1] if len(inside) else len(trace.y) - 1
        x, y = float(trace.x[last]), float(np.clip(trace.y[last], low, high))
        ends.append((_fraction(y, low, high, panel.log_y), x, y, i, _named(trace)))
    lines = [len(label.splitlines()) for *_, label in sorted(ends, reverse=True)]
    heights = _apart([end[0] for end in sorted(ends, reverse=True)], lines, axes)
    for (_, x, y, i, label), height in zip(sorted(ends, reverse=True), heights, strict=True):
        axes.annotate(
            label,
            xy=(x, y),
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize=7,
            linespacing=0.95,
            color=COLORS[i % len(COLORS)],
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": COLORS[i % len(COLORS)]},
            annotation_clip=False,
        )


def _named(trace: Trace) -> str:
    if trace.measured:
        text = "measured" if trace.label.startswith("measured") else trace.label
    else:
        text = trace.short or trace.label
    lines = textwrap.wrap(text.replace("$", r"\$"), 15)[:3]
    return "\n".join([*lines, "(printed)"] if trace.printed else lines)


def _fraction(y: float, low: float, high: float, log: bool) -> float:
    if log:
        y, low, high = math.log(y), math.log(low), math.log(high)
    return (y - low) / (high - low)


def _apart(wanted: Sequence[float], lines: Sequence[int], axes: Any) -> list[float]:
    """Heights in axes fractions from the top down, a line of 7 points needing its share."""
    line = 8.2 / 72 / (axes.figure.get_size_inches()[1] * 0.78)
    placed: list[float] = []
    edge = 1.0 + line / 2
    for height, count in zip(wanted, lines, strict=True):
        at = min(height, edge - count * line / 2)
        placed.append(at)
        edge = at - count * line / 2
    # What fell below the axes moves everything up again.
    shift = max(0.0, -edge - line / 2)
    return [min(height + shift, 1.0) for height in placed]


def _margins(axes: Any, every: Sequence[Bar]) -> None:
    """Ratios on a logarithmic scale: right of the pass line there is room, left of it none. A bar
    that is cut ends in a mark and tells its ratio."""
    # What fails first, where not all have room.
    shown = sorted(every, key=lambda bar: not _fails(bar))[:MOST_BARS]
    shown = [bar for bar in every if bar in shown]
    for row, bar in enumerate(shown):
        if bar.ratio is None:
            _beside(axes, row, "fails", 1.0, left=False)
            continue
        ratio = min(max(bar.ratio, LOWEST), HIGHEST)
        color, hatch = SHADES[bar.decision]
        kept = {"color": color, "hatch": hatch, "edgecolor": "#303030", "linewidth": 0.5}
        axes.barh(row, ratio - 1, left=1.0, height=0.66, **kept)
        if ratio != bar.ratio:
            axes.plot([ratio], [row], marker=(2, 0, 30), color="black", markersize=9, clip_on=False)
        _beside(axes, row, number(bar.ratio, 2), 1.0, left=bar.ratio >= 1)
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_xlim(LOWEST / 2, HIGHEST * 2)
    lines = 2 if len(shown) * 0.25 < axes.figure.get_size_inches()[1] - 0.5 else 1
    names = [_row_name(bar, lines) for bar in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=6.5, linespacing=0.95)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(False, axis="y")
    part = f", {len(shown)} of {len(every)}" if len(shown) < len(every) else ""
    axes.set_xlabel(f"margin of the hypotheses{part}")


def _beside(axes: Any, row: int, text: str, x: float, left: bool) -> None:
    """Across the pass line from the bar, where there is always room."""
    side: dict[str, Any] = {"va": "center", "fontsize": 6.5, "textcoords": "offset points"}
    axes.annotate(
        text, (x, row), xytext=(-3 if left else 3, 0), ha="right" if left else "left", **side
    )


def _row_name(bar: Bar, lines: int) -> str:
    text = f"{bar.name or bar.label}{', printed' if bar.printed else ''}".replace("$", r"\$")
    return "\n".join(textwrap.wrap(text, LABEL, max_lines=lines, placeholder="…"))
