"""Figures of papers, drawn by matplotlib at the width of one column, to be read in grey, too."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import numpy as np

from deqcheck.records.claim import Judged
from deqcheck.records.figure import Axes, Grid, Line, Picture, Sentence, Word
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.picture import COLORS, MARKERS, STYLES
from deqcheck.report.parts.thin import thin

# Inches; a column of a two-column paper, and what stands in it.
COLUMN, HEIGHT, SQUARE, LINE, GAP = 3.4, 1.9, 1.75, 0.125, 0.62
SMALL, SMALLER = 7.0, 6.0
LETTERS, HEAD, POINTS, LEVELS = 66, 50, 500, 12
# How many times its start a curve may be, on linear and on logarithmic axes.
FAR = {False: 10.0, True: 1e3}
SIGNS = {Word.SUPPORTS: "+", Word.CONTRADICTS: "-", Word.NOT_DECIDED: "?"}


def drawn(picture: Picture, form: str) -> bytes:
    """The picture as a file of this format."""
    from matplotlib.figure import Figure

    with _settings():
        title = _wrapped(picture.headline, HEAD)
        rows = [picture.axes[i : i + picture.columns] for i in _starts(picture)]
        below = [_wrapped(caption(each)) for each in picture.sentences]
        heights = [_height(row) for row in rows]
        text = LINE * sum(len(each.splitlines()) for each in below) + 0.1
        head = 0.16 * len(title.splitlines()) + 0.1
        figure = Figure(figsize=(COLUMN, head + sum(heights) + text), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)  # type: ignore[call-arg, union-attr]
        parts: Any = figure.subfigures(len(rows) + 2, 1, height_ratios=[head, *heights, text])
        parts[0].text(0.02, 0.5, title, fontsize=SMALL + 0.5, va="center", weight="bold")
        for part, row in zip(parts[1:-1], rows, strict=True):
            _row(part, row, picture.columns)
        parts[-1].text(0.02, 0.98, "\n".join(below), fontsize=SMALLER, va="top")
        stream = io.BytesIO()
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, dpi=200, metadata=dateless.get(form))
    return stream.getvalue()


def caption(each: Sentence) -> str:
    return f"[{SIGNS[each.word]}] {each.word}: {each.text}"


def told(claim: Judged) -> str:
    """`0.12 ± 1e-9 <= 0.3: holds`."""
    left, right = (_side(side.value, side.error) for side in (claim.left, claim.right))
    note = f" ({claim.note})" if claim.note else ""
    return f"{claim.name}: {left} {claim.relation} {right}: {claim.decision}{note}"


def _side(value: float, error: float) -> str:
    return f"{number(value, 4)} ± {number(error, 1)}" if error else number(value, 4)


def _settings() -> Any:
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "deqcheck",
        "font.size": SMALL,
        "axes.titlesize": SMALL,
        "axes.labelsize": SMALL,
        "xtick.labelsize": SMALLER,
        "ytick.labelsize": SMALLER,
        "axes.linewidth": 0.6,
        "image.cmap": "Greys",
    }
    return matplotlib.rc_context(settings)


def _starts(picture: Picture) -> range:
    return range(0, len(picture.axes), picture.columns)


def _height(row: tuple[Axes, ...]) -> float:
    if all(axes.grid is not None for axes in row):
        surface = any(axes.grid is not None and axes.grid.surface for axes in row)
        return COLUMN * 0.8 if surface and len(row) == 1 else SQUARE + 0.2
    legend = max(_legend_lines(axes) for axes in row)
    return HEIGHT / (1.0 if len(row) == 1 else 1.15) + LINE * legend + 0.25


def _legend_lines(axes: Axes) -> int:
    named = [line.label for line in axes.lines if line.label]
    return sum(len(_wrapped(label, 60).splitlines()) for label in named)


def _row(part: Any, row: tuple[Axes, ...], columns: int) -> None:
    every = len(row) if all(axes.grid is None for axes in row) else columns
    for i, axes in enumerate(row):
        surface = axes.grid is not None and axes.grid.surface
        place = part.add_subplot(1, every, i + 1, **({"projection": "3d"} if surface else {}))
        place.set_title(_wrapped(axes.title, LETTERS // every), loc="left")
        place.set_xlabel(axes.x_label, labelpad=-4 if surface else 2)
        place.set_ylabel(axes.y_label, labelpad=-4 if surface else 2)
        if axes.grid is None:
            _lines(place, axes)
        elif surface:
            _surface(place, axes.grid)
        else:
            _contours(part, place, axes.grid, axes.lines)


def _lines(place: Any, axes: Axes) -> None:
    style = 0
    for line in axes.lines:
        _line(place, line, axes, style)
        style += not line.level
    place.set_xscale("log" if axes.log_x else "linear")
    place.set_yscale("log" if axes.log_y else "linear")
    place.set_ylim(*_y_range(axes))
    place.grid(True, linewidth=0.25)
    place.tick_params(width=0.5, length=2, pad=1.5, which="both")
    if _legend_lines(axes):
        place.legend(
            loc="upper left",
            bbox_to_anchor=(-0.02, -0.17),
            fontsize=SMALLER,
            frameon=False,
            handlelength=3.2,
            labelspacing=0.2,
            borderaxespad=0.6,
        )


def _y_range(axes: Axes) -> tuple[float, float]:
    """Around the curves; one that diverges is cut off where it has left its start far behind."""
    if axes.y_range is not None:
        return axes.y_range
    every = np.concatenate([line.y for line in axes.lines])
    known = every[np.isfinite(every) & ((every > 0) | (not axes.log_y))]
    if not len(known):
        return (0.1, 1.0)
    starts = [
        abs(line.y[np.isfinite(line.y)][0]) for line in axes.lines if np.isfinite(line.y).any()
    ]
    top = min(float(known.max()), FAR[axes.log_y] * max(float(max(starts)), 1e-300))
    low = float(known.min())
    if axes.log_y:
        low = max(low, top * 1e-14)
        return low / 1.3, max(top, low * 1.01) * 1.3
    room = 0.05 * (top - low) or 0.05 * abs(top) or 0.5
    return low - room, top + room


def _line(place: Any, line: Line, axes: Axes, style: int) -> None:
    at = thin(len(line.x), POINTS)
    x, y = line.x[at], line.y[at]
    # What diverges leaves the picture.
    y = np.where(np.abs(y) <= 1e3 * abs(_y_range(axes)[1]), y, np.inf)
    shown = ~np.isinf(y) & ~((x <= 0) & axes.log_x) & ~((y <= 0) & axes.log_y)
    x, y = x[shown], y[shown]
    label = _wrapped(line.label, 60) or "_"
    if line.level:
        place.plot(x, y, color="#555555", linewidth=0.8, linestyle=(0, (1, 1)), label=label)
        return
    color = COLORS[style % len(COLORS)]
    alone = line.dots or len(x) == 1
    place.plot(
        x,
        y,
        label=label,
        color=color,
        linestyle="" if alone else STYLES[style % len(STYLES)],
        linewidth=1.1,
        marker=(MARKERS[style % len(MARKERS)] or ("." if alone or len(x) < 8 else "")),
        markersize=3.2,
        markerfacecolor="white",
        markeredgewidth=0.7,
        markevery=None if alone or len(x) < 16 else ((style % 5) * 0.02, 0.14),
    )
    if line.band is not None:
        band = line.band[at][shown]
        low = np.maximum(y - band, y * 0.05) if axes.log_y else y - band
        place.fill_between(x, low, y + band, color=color, alpha=0.18, linewidth=0)


def _contours(part: Any, place: Any, grid: Grid, lines: tuple[Line, ...]) -> None:
    known = grid.z[np.isfinite(grid.z)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    levels = np.linspace(low, max(high, low + 1e-9), LEVELS)
    filled = place.contourf(grid.x, grid.y, grid.z, levels=levels)
    place.contour(grid.x, grid.y, grid.z, levels=levels, colors="black", linewidths=0.3)
    for line in lines:
        place.plot(line.x, line.y, "k+" if line.dots else "k-", markersize=5, linewidth=0.7)
    place.set_aspect("equal")
    place.tick_params(width=0.5, length=2, pad=1.5)
    bar = part.colorbar(filled, ax=place, shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=SMALLER - 0.5, width=0.4, length=1.5, pad=1)
    bar.set_label(grid.label, fontsize=SMALLER)


def _surface(place: Any, grid: Grid) -> None:
    x, y = np.meshgrid(grid.x, grid.y)
    place.plot_surface(x, y, grid.z, cmap="Greys_r", edgecolor="#404040", linewidth=0.15)
    place.set_zlabel(grid.label, labelpad=-4)
    place.tick_params(pad=-3, labelsize=SMALLER - 0.5)


def _wrapped(text: str, width: int = LETTERS) -> str:
    # A dollar sign would begin a formula.
    return "\n".join(textwrap.wrap(text.replace("$", r"\$"), width))
