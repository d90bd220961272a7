"""Maps drawn by matplotlib: PNG, SVG or PDF; outcomes are told by hatching, not by colour alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.records.axis import LOG
from deqcheck.report.parts.mapped import GOOD, OUTCOME, SHARE, Curves, Heat, Side
from deqcheck.report.parts.picture import (
    COLORS,
    MARKERS,
    REMEDY,
    STYLES,
    available,
    saved,
    settings,
)

# The dark end of the colours is left out: hatching is black.
DARKEST = 0.28
# Colour where the outcome is all there is to tell, and hatching.
LOOKS = {
    "confirmed": ("#a6d5b5", ""),
    "consistent": ("#a6d5b5", ""),
    "met": ("#a6d5b5", ""),
    "refuted": ("#b5475c", "xxx"),
    "inconsistent": ("#b5475c", "xxx"),
    "undecided": ("#eed9a0", "..."),
    "not checked": ("#f7f7f7", "\\\\\\\\"),
    "not applicable": ("#d9d9d9", "///"),
    "not met": ("#d9d9d9", "---"),
}
BROKEN = ("#808080", "+++")
WIDTH, HEIGHT = 6.4, 4.8
MOST_TICKS = 12


def figure(found: Heat | Curves) -> Any:
    """Raises ImportError."""
    if not available():
        raise ImportError(REMEDY)
    from matplotlib.figure import Figure

    with settings():
        drawn = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = drawn.add_subplot()
        axes.set_title(found.title.replace("$", r"\$"), fontsize=9, loc="left", wrap=True)
        if isinstance(found, Heat):
            _heat(drawn, axes, found)
        else:
            _curves(drawn, axes, found)
    return drawn


def draw(found: Heat | Curves, form: str) -> bytes:
    return saved(figure(found), form)


def look(outcome: str) -> tuple[str, str]:
    return LOOKS.get(outcome, BROKEN)


def _heat(drawn: Any, axes: Any, found: Heat) -> None:
    from matplotlib.patches import Patch, Rectangle

    x, y = _edges(found.x), _edges(found.y)
    _colours(drawn, axes, found, x, y)
    for i, row in enumerate(found.cells):
        for j, cell in enumerate(row):
            if cell is None or cell.outcome in GOOD:
                continue
            size = {"width": x[j + 1] - x[j], "height": y[i + 1] - y[i]}
            hatch = look(cell.outcome)[1]
            bad = cell.outcome in ("refuted", "inconsistent")
            axes.add_patch(
                Rectangle(
                    (x[j], y[i]),
                    **size,
                    fill=False,
                    hatch=hatch,
                    linewidth=2.2 if bad else 0.0,
                    edgecolor="black",
                )
            )
    _scale(axes.xaxis, axes.set_xscale, found.x)
    _scale(axes.yaxis, axes.set_yscale, found.y)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_xlabel(found.x.key)
    axes.set_ylabel(found.y.key)
    plain = "white" if found.shade.what != OUTCOME or found.shown == SHARE else None
    several = any(cell and cell.members > 1 for row in found.cells for cell in row)
    samples = [
        Patch(
            facecolor=plain or look(word)[0],
            edgecolor="black",
            hatch=look(word)[1],
            label=word,
        )
        for word in found.outcomes
    ]
    title = "outcome, the worst of each cell" if several else "outcome"
    _legend(drawn, samples, title)


def _legend(drawn: Any, handles: Any, title: str) -> None:
    """Below, where it hides nothing."""
    look = {"fontsize": 8, "title_fontsize": 8, "frameon": False}
    drawn.legend(handles=handles, loc="outside lower center", ncols=4, title=title, **look)


def _colours(drawn: Any, axes: Any, found: Heat, x: np.ndarray, y: np.ndarray) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    if found.shade.what == OUTCOME and found.shown != SHARE:
        words = found.outcomes
        table = [[words.index(c.outcome) if c else np.nan for c in row] for row in found.cells]
        colours = ListedColormap([look(word)[0] for word in words])
        limits = {"vmin": -0.5, "vmax": len(words) - 0.5}
        axes.pcolormesh(x, y, np.array(table, dtype=float), cmap=colours, **limits)
        return
    values = [
        [np.nan if c is None or c.value is None else c.value for c in row] for row in found.cells
    ]
    table_ = np.ma.masked_invalid(np.array(values, dtype=float))
    colours = ListedColormap(colormaps["viridis"](np.linspace(DARKEST, 1, 256)))
    low, high = (0.0, 1.0) if found.shown == SHARE else _limits(found.values)
    norm: Any = LogNorm(low, high) if found.log else Normalize(low, high)
    mesh = axes.pcolormesh(x, y, table_, cmap=colours, norm=norm)
    drawn.colorbar(mesh, ax=axes, label=found.label)


def _limits(values: list[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5 * abs(low or 1), high + 0.5 * abs(high or 1))


def _edges(side: Side) -> np.ndarray:
    """Between the values: in the middle, on a logarithmic axis of the logarithms."""
    if side.listed:
        return np.arange(len(side.values) + 1) - 0.5
    log = side.scale == LOG
    at = np.array(side.values, dtype=float)
    at = np.log(at) if log else at
    middle = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(edges) if log else edges


def _scale(axis: Any, set_scale: Any, side: Side) -> None:
    if side.listed:
        step = -(-len(side.values) // MOST_TICKS)
        axis.set_ticks(range(0, len(side.values), step), side.labels[::step])
        return
    if side.scale == LOG:
        set_scale("log")
    elif len(side.values) <= MOST_TICKS:
        axis.set_ticks(side.values, side.labels)
    else:
        # Widths and samples are counted: no tick at 2.5.
        axis.get_major_locator().set_params(integer=all(isinstance(v, int) for v in side.values))


def _curves(drawn: Any, axes: Any, found: Curves) -> None:
    marked = False
    for i, band in enumerate(found.bands):
        style = {"color": COLORS[i % len(COLORS)], "linestyle": STYLES[i % len(STYLES)]}
        marker = {
            "marker": MARKERS[i % len(MARKERS)],
            "markerfacecolor": "white",
            "markersize": 4.5,
        }
        axes.plot(band.x, band.middle, label=band.label, **style, **marker)
        axes.fill_between(band.x, band.low, band.high, color=style["color"], alpha=0.18, lw=0)
        at = np.array(band.open)
        if at.any():
            where = np.array(band.x)[at], np.array(band.middle)[at]
            axes.plot(*where, "kx", markersize=8, label=None if marked else "not all confirmed")
            marked = True
    axes.set_xlabel(found.x.key)
    axes.set_ylabel(found.label)
    _scale(axes.xaxis, axes.set_xscale, found.x)
    if found.log_y:
        axes.set_yscale("log")
    axes.grid(True, linewidth=0.3)
    title = "median; the band holds all members"
    _legend(drawn, None, title)
