"""Figures of papers, drawn by matplotlib at the width of one column, to be read in grey, too."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deqcheck.records.figure import Axes, Grid, Line, Picture, Sentence, Word
from deqcheck.records.judged import Judged
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.picture import COLORS, MARKERS, STYLES
from deqcheck.report.parts.thin import thin

# Inches; a column of a two-column paper, and what stands in it.
COLUMN, HEIGHT, SQUARE, LINE = 3.4, 1.85, 1.6, 0.125
SMALL, SMALLER = 7.0, 6.0
LETTERS, HEAD, POINTS, LEVELS = 66, 50, 500, 12
# How many times its start a curve may be, on linear and on logarithmic axes.
FAR = {False: 10.0, True: 30.0}
# A shade on a logarithmic axis ends at this share of its line.
LEAST = 0.05
SIGNS = {Word.SUPPORTS: "+", Word.CONTRADICTS: "-", Word.NOT_DECIDED: "?"}


def drawn(picture: Picture, form: str) -> bytes:
    """The picture as a file of this format."""
    from matplotlib.figure import Figure

    with _settings():
        title = _wrapped(picture.headline, HEAD)
        rows = [picture.axes[i : i + picture.columns] for i in _starts(picture)]
        legends = _legends(rows)
        said = [f"The paper, {picture.caveat}:"] if picture.caveat and picture.sentences else []
        below = [_wrapped(each) for each in (*said, *map(caption, picture.sentences))]
        heights = [
            _height(row) + LINE * _legend_lines(legend)
            for row, legend in zip(rows, legends, strict=True)
        ]
        text = LINE * sum(len(each.splitlines()) for each in below) + 0.1
        head = 0.16 * len(title.splitlines()) + 0.1
        figure = Figure(figsize=(COLUMN, head + sum(heights) + text), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)  # type: ignore[call-arg, union-attr]
        parts: Any = figure.subfigures(len(rows) + 2, 1, height_ratios=[head, *heights, text])
        parts[0].text(0.02, 0.5, title, fontsize=SMALL + 0.5, va="center", weight="bold")
        levels = _levels(picture)
        for part, row, legend in zip(parts[1:-1], rows, legends, strict=True):
            _row(part, row, picture.columns, levels)
            if legend:
                _legend(part, legend)
        parts[-1].text(0.02, 0.98, "\n".join(below), fontsize=SMALLER, va="top")
        stream = io.BytesIO()
        dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(stream, format=form, dpi=200, metadata=dateless.get(form))
    return stream.getvalue()


def _legends(rows: Sequence[tuple[Axes, ...]]) -> list[list[str]]:
    """The labels below each row; equal ones of neighbours are told once, below the last of them."""
    every = [
        list(dict.fromkeys(line.label for axes in row for line in axes.lines if line.label))
        for row in rows
    ]
    return [
        [] if i + 1 < len(every) and every[i + 1] == each else each for i, each in enumerate(every)
    ]


def _legend(part: Any, labels: Sequence[str]) -> None:
    found: dict[str, Any] = {}
    for place in part.axes:
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    part.legend(
        [found[_wrapped(label, LETTERS)] for label in labels],
        [_wrapped(label, LETTERS) for label in labels],
        loc="outside lower left",
        fontsize=SMALLER,
        frameon=False,
        ncols=_columns(labels),
        handlelength=3.0,
        labelspacing=0.2,
        columnspacing=1.0,
        borderaxespad=0.2,
    )


def _columns(labels: Sequence[str]) -> int:
    return 2 if max(map(len, labels)) <= LETTERS // 3 else 1


def _legend_lines(labels: Sequence[str]) -> float:
    """How many lines a legend takes."""
    if not labels:
        return 0
    return -(-sum(len(_wrapped(each).splitlines()) for each in labels) // _columns(labels)) + 0.8


def _levels(picture: Picture) -> np.ndarray:
    """The same for all planes of a picture, or they could not be compared."""
    flat = [a.grid.z for a in picture.axes if a.grid is not None and not a.grid.surface]
    known = np.concatenate([z[np.isfinite(z)] for z in flat]) if flat else np.zeros(1)
    low = float(known.min())
    return np.linspace(low, max(float(known.max()), low + 1e-9), LEVELS)


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
        return COLUMN * 0.8 if surface and len(row) == 1 else SQUARE
    return HEIGHT + 0.2 if len(row) == 1 else HEIGHT


def _row(part: Any, row: tuple[Axes, ...], columns: int, levels: np.ndarray) -> None:
    every = len(row) if all(axes.grid is None for axes in row) else columns
    for i, axes in enumerate(row):
        surface = axes.grid is not None and axes.grid.surface
        place = part.add_subplot(1, every, i + 1, **({"projection": "3d"} if surface else {}))
        place.set_title(_wrapped(axes.title, LETTERS // every - 6 * (every > 1)), loc="left")
        place.set_xlabel(axes.x_label, labelpad=-4 if surface else 2)
        place.set_ylabel(axes.y_label, labelpad=-4 if surface else 2)
        if axes.grid is None:
            _lines(place, axes)
        elif surface:
            _surface(place, axes.grid)
        else:
            _contours(part, place, axes.grid, levels)


def _lines(place: Any, axes: Axes) -> None:
    style = 0
    for line in axes.lines:
        _line(place, line, axes, style)
        style += not line.level
    place.set_xscale("log" if axes.log_x else "linear")
    place.set_yscale("log" if axes.log_y else "linear")
    place.set_ylim(*_y_range(axes))
    if axes.log_y:
        _ticks_of_less_than_a_decade(place, *_y_range(axes))
    place.grid(True, linewidth=0.25)
    place.tick_params(width=0.5, length=2, pad=1.5, which="both")
    if axes.x_names:
        place.set_xticks(range(len(axes.x_names)), axes.x_names)


def _ticks_of_less_than_a_decade(place: Any, low: float, top: float) -> None:
    """Powers of ten are none, or one; their few multiples are not evenly spread."""
    from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter

    if top < 10 * low:
        place.yaxis.set_major_locator(MaxNLocator(5))
        place.yaxis.set_major_formatter(ScalarFormatter())
        place.yaxis.set_minor_formatter(NullFormatter())


def _y_range(axes: Axes) -> tuple[float, float]:
    """Around the curves; one that diverges is cut off where it has left its start far behind."""
    if axes.y_range is not None:
        return axes.y_range
    every = np.concatenate([np.zeros(0), *(y for line in axes.lines for y in _ends(line))])
    known = every[np.isfinite(every) & ((every > 0) | (not axes.log_y))]
    if not len(known):
        return (0.1, 1.0)
    starts = [
        abs(line.y[np.isfinite(line.y)][0]) for line in axes.lines if np.isfinite(line.y).any()
    ]
    usual = max(*starts, float(np.median(np.abs(known))), 1e-300)
    low, top = float(known.min()), min(float(known.max()), FAR[axes.log_y] * usual)
    if axes.log_y:
        low = max(low, top * 1e-14)
        top = max(top, low * 1.01)
        room = (top / low) ** 0.05
        return low / room, top * room
    room = 0.05 * (top - low) or 0.05 * abs(top) or 0.5
    return low - room, top + room


def _ends(line: Line) -> Iterator[np.ndarray]:
    """Of the shade, or of the line."""
    yield line.y
    if line.band is not None:
        yield line.y + line.band
        yield np.maximum(line.y - line.band, LEAST * line.y)


def _line(place: Any, line: Line, axes: Axes, style: int) -> None:
    at = thin(len(line.x), POINTS)
    x, y = line.x[at], line.y[at]
    # What diverges leaves the picture.
    y = np.where(np.abs(y) <= 1e3 * abs(_y_range(axes)[1]), y, np.inf)
    shown = ~np.isinf(y) & ~((x <= 0) & axes.log_x) & ~((y <= 0) & axes.log_y)
    x, y = x[shown], y[shown]
    label = _wrapped(line.label, LETTERS) or "_"
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
        low = np.maximum(y - band, LEAST * y) if axes.log_y else y - band
        place.fill_between(x, low, y + band, color=color, alpha=0.18, linewidth=0)


def _contours(part: Any, place: Any, grid: Grid, levels: np.ndarray) -> None:
    filled = place.contourf(grid.x, grid.y, grid.z, levels=levels)
    place.contour(grid.x, grid.y, grid.z, levels=levels, colors="black", linewidths=0.3)
    if grid.mark is not None and np.nanmin(grid.z) < grid.mark < np.nanmax(grid.z):
        place.contour(grid.x, grid.y, grid.z, levels=[grid.mark], colors="black", linewidths=1.4)
    place.set_aspect("equal")
    place.tick_params(width=0.5, length=2, pad=1.5)
    bar = part.colorbar(filled, cax=place.inset_axes((1.04, 0.0, 0.06, 1.0)))
    bar.ax.tick_params(labelsize=SMALLER - 0.5, width=0.4, length=1.5, pad=1)
    bar.ax.yaxis.set_major_formatter("{x:.2g}")
    bar.set_label(grid.label, fontsize=SMALLER)


def _surface(place: Any, grid: Grid) -> None:
    x, y = np.meshgrid(grid.x, grid.y)
    place.plot_surface(x, y, grid.z, cmap="Greys_r", edgecolor="#404040", linewidth=0.15)
    place.set_zlabel(grid.label, labelpad=-4)
    place.tick_params(pad=-3, labelsize=SMALLER - 0.5)


def _wrapped(text: str, width: int = LETTERS) -> str:
    # A dollar sign would begin a formula.
    return "\n".join(textwrap.wrap(text.replace("$", r"\$"), width))
