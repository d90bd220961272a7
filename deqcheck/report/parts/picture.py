"""A picture for a paper or a slide, drawn by matplotlib: PNG, SVG or PDF."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from deqcheck.records.comparison import Decision
from deqcheck.records.report import Report
from deqcheck.records.trajectory import CROSSING, SLIDE
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import ENTRY, Bar, Panel, Trace, bars, panels
from deqcheck.report.parts.sweeps import sweeps

FORMATS = ("png", "svg", "pdf")
REMEDY = "drawing needs matplotlib: pip install 'deqcheck[plot]'"
# Colours that differ in lightness too; the styles and markers tell the lines apart without them.
COLORS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#aa4499", "#997700", "#56b4e9")
STYLES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 3)), (0, (8, 2, 1, 2)))
MARKERS = ("", "o", "s", "^", "D", "x", "+")
SHADES = {
    Decision.HOLDS: ("#9fcfae", ""),
    Decision.VIOLATED: ("#d9788a", "////"),
    Decision.UNDECIDED: ("#e6c98a", "...."),
}
# Margins beyond these ratios are cut off, and their number says how far they go.
LOWEST, HIGHEST = 1e-4, 1e4
MOST_BARS = 40
WIDTH, PANEL_HEIGHT, BAR_LINE, LEGEND_LINE = 7.0, 3.0, 0.14, 0.2
LABEL, BAR_LABEL = 78, 56

MARK_STYLES = {CROSSING: ":", SLIDE: "-", ENTRY: "--"}


def available() -> bool:
    return find_spec("matplotlib") is not None


def draw(report: Report, form: str) -> bytes | None:
    """The picture of a run in one of the formats; None where the run left nothing to draw."""
    drawn = _picture(_title(report), panels(report), bars(report))
    return None if drawn is None else saved(drawn, form)


def draw_sweeps(reports: Sequence[Report], form: str) -> bytes | None:
    """The losses of the cases that one file states, a panel for each sweep."""
    found = [panel for sweep in sweeps(reports) if (panel := sweep.panel())]
    place = reports[0].place
    assert place is not None
    title = f"{place.title} ({place.file})" if place.title else place.file
    drawn = _picture(title, found, [])
    return None if drawn is None else saved(drawn, form)


def plot(report: Report, axes: Any = None) -> Any:
    """The picture of a run as a figure; into `axes` only the loss is drawn."""
    if not available():
        raise ImportError(REMEDY)
    found = panels(report)
    if not found:
        raise ValueError("nothing to draw: the report has no run with steps")
    if axes is None:
        return _picture(_title(report), found, bars(report))
    _curves(axes, found[0])
    return axes.figure


def _picture(title: str, found: Sequence[Panel], every: Sequence[Bar]) -> Any:
    margins = every[:MOST_BARS]
    if not found:
        return None
    from matplotlib.figure import Figure

    heights = [PANEL_HEIGHT + LEGEND_LINE * _legend_lines(panel) for panel in found]
    if margins:
        lines = max(len(_wrapped(bar.label, BAR_LABEL).splitlines()) for bar in margins)
        heights.append(0.9 + (lines * BAR_LINE + 0.08) * len(margins))
    with settings():
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.5), layout="constrained")
        figure.suptitle(_wrapped(title), fontsize=10)
        # Each part is laid out by itself: the long labels of the bars do not narrow the curves.
        parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, panel in zip(parts, found, strict=False):
            _curves(part.add_subplot(), panel)
        if margins:
            _margins(parts[-1].add_subplot(), margins, len(every))
    return figure


def settings() -> Any:
    import matplotlib

    # Text stays text in an SVG, and no date makes two pictures of one run differ.
    chosen: Any = {"svg.fonttype": "none", "svg.hashsalt": "deqcheck", "font.size": 9}
    return matplotlib.rc_context(chosen)


def saved(figure: Any, form: str) -> bytes:
    stream = io.BytesIO()
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with settings():
        figure.savefig(stream, format=form, dpi=200, metadata=dateless.get(form))
    return stream.getvalue()


def _title(report: Report) -> str:
    return f"{report.title} ({report.name})" if report.title else report.name


def _legend_lines(panel: Panel) -> int:
    return sum(len(_wrapped(trace.label).splitlines()) for trace in panel.traces) + 3


def _wrapped(text: str, width: int = LABEL) -> str:
    # A dollar sign would begin a formula.
    return "\n".join(textwrap.wrap(text.replace("$", r"\$"), width))


def _curves(axes: Any, panel: Panel) -> None:
    for i, trace in enumerate(panel.traces):
        _line(axes, trace, i)
    axes.set_title(panel.title, loc="left", fontsize=9)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    axes.set_xlim(*panel.x_range())
    axes.set_ylim(*panel.y_range())
    axes.grid(True, linewidth=0.3)
    _shade(axes, panel)
    _marks(axes, panel)
    if panel.step is not None:
        _second_clock(axes, panel.step)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.17), fontsize=8, frameon=False)


def _line(axes: Any, trace: Trace, style: int) -> None:
    color = COLORS[style % len(COLORS)]
    axes.plot(
        trace.x,
        trace.y,
        label=_wrapped(trace.label),
        color=color,
        linestyle=STYLES[style % len(STYLES)],
        linewidth=2.2 if trace.measured else 1.3,
        marker=MARKERS[style % len(MARKERS)],
        markersize=4.5,
        markerfacecolor="white",
        # Shifted from line to line, so that the markers of equal lines are all seen.
        markevery=((style % 5) * 0.02, 0.12),
        zorder=4 if trace.measured else 3,
    )
    if trace.violation is not None:
        x, y = trace.violation
        axes.plot(
            [x],
            [y],
            linestyle="",
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor="#c8102e",
            markeredgewidth=1.8,
            label="first violation",
            zorder=5,
        )


def _shade(axes: Any, panel: Panel) -> None:
    """What no verdict is about."""
    for i, horizon in enumerate(panel.horizons):
        label = None if i else "beyond the horizon of a bound: not decided"
        axes.axvspan(horizon, panel.x_range()[1], color="#808080", alpha=0.2, lw=0, label=label)
    noise = panel.resolution
    if noise is not None and (noise.y > panel.y_range()[0]).any():
        low = np.full_like(noise.y, panel.y_range()[0])
        axes.fill_between(
            noise.x,
            low,
            np.maximum(noise.y, low),
            facecolor="none",
            edgecolor="#707070",
            hatch="////",
            linewidth=0,
            label="below the error bar of the loss: nothing can be told",
        )


def _marks(axes: Any, panel: Panel) -> None:
    """Where the flow meets kinks, and where theorems begin to apply."""
    for marks in panel.marks:
        for i, at in enumerate(marks.at):
            label = None if i else marks.label
            style = MARK_STYLES[marks.kind]
            axes.axvline(at, color="#808080", linewidth=0.7, linestyle=style, label=label, zorder=1)


def _second_clock(axes: Any, step: float) -> None:
    other = axes.secondary_xaxis("top", functions=(lambda k: k * step, lambda t: t / step))
    other.set_xlabel("time t = step size * k")


def _margins(axes: Any, margins: Sequence[Bar], total: int) -> None:
    """Ratios on a logarithmic scale; what lies right of the pass line holds with room."""
    shown = [_clipped(bar.ratio) for bar in margins]
    reach = max([10.0] + [max(x, 1 / x) for x in shown if x is not None])
    for row, (bar, ratio) in enumerate(zip(margins, shown, strict=True)):
        color, hatch = SHADES[bar.decision]
        text = bar.decision.value
        if ratio is not None:
            width = {"width": ratio - 1, "left": 1.0, "height": 0.7}
            axes.barh(row, **width, color=color, hatch=hatch, edgecolor="#303030", linewidth=0.6)
            text = f"{number(bar.ratio, 3)}, {text}"
        # Across the pass line from the bar, where there is always room.
        left = ratio is None or ratio >= 1
        axes.annotate(
            text,
            (1.0, row),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            va="center",
            ha="right" if left else "left",
            fontsize=7.5,
        )
    axes.axvline(1.0, color="black", linewidth=1.4)
    axes.set_xscale("log")
    axes.set_xlim(1 / (reach * 8), reach * 8)
    labels = [_wrapped(bar.label, BAR_LABEL) for bar in margins]
    axes.set_yticks(range(len(margins)), labels, fontsize=7.5)
    axes.set_ylim(len(margins) - 0.4, -0.6)
    part = f" (the first {len(margins)} of {total})" if total > len(margins) else ""
    axes.set_title(f"Hypotheses{part}: margin, and the pass line at 1", loc="left", fontsize=9)
    axes.set_xlabel("left/right for ≥, right/left for ≤")


def _clipped(ratio: float | None) -> float | None:
    return None if ratio is None else min(max(ratio, LOWEST), HIGHEST)
