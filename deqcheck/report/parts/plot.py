"""A line plot for the terminal with a logarithmic y axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from deqcheck.frozen import dataclass

GLYPHS = "*o+x#%@&=$~ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MARGIN = 10
TICK_EVERY = 5
# Over less than this many, numbers are written out.
DECADES = 2.0
# How far beyond the first line, as a factor, the others are followed before they leave the plot.
WINDOW = 1e6

# (column, row), counted from the upper left.
Cells = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Line:
    label: str
    x: np.ndarray
    y: np.ndarray

    def within(self, low: float, high: float) -> Line:
        shown = np.isfinite(self.y) & (self.y > low) & (self.y < high)
        return Line(self.label, self.x[shown], self.y[shown])


def plot(
    lines: Sequence[Line], x_label: str, log_x: bool = False, width: int = 72, height: int = 16
) -> list[str]:
    """Rows of text; the first line is drawn last, over the others. Nothing to show: no rows."""
    lines = _shown(lines, log_x)
    if not lines:
        return []
    axes = _Axes.around(lines, width - MARGIN, height, log_x)
    grid = [[" "] * axes.columns for _ in range(height)]
    cells = [axes.cells(line) for line in lines]
    glyphs = [GLYPHS[i % len(GLYPHS)] for i in range(len(lines))]
    for i in reversed(range(len(lines))):
        # Lines that fall together take turns.
        alike = [j for j, other in enumerate(cells) if other == cells[i]]
        for column, row in cells[i]:
            if alike[column % len(alike)] == i:
                grid[row][column] = glyphs[i]
    rows = [
        f"{axes.tick(i):>{MARGIN - 2}.{MARGIN - 2}} |" + "".join(grid[i]).rstrip()
        for i in range(height)
    ]
    rows.append(" " * (MARGIN - 1) + "+" + "-" * axes.columns)
    rows.append(" " * MARGIN + axes.x_ticks(x_label))
    legend = zip(lines, glyphs, strict=True)
    return rows + [f"{' ' * MARGIN}{glyph} {line.label}" for line, glyph in legend]


def _shown(lines: Sequence[Line], log_x: bool) -> list[Line]:
    """What a logarithm can show, around the first line."""
    if log_x:
        lines = [Line(line.label, line.x[line.x > 0], line.y[line.x > 0]) for line in lines]
    first = lines[0].within(0, np.inf) if lines else None
    if first is None or not len(first.x):
        return []
    low, high = first.y.min() / WINDOW, first.y.max() * WINDOW
    return [first] + [line.within(low, high) for line in lines[1:]]


@dataclass(frozen=True)
class _Axes:
    columns: int
    rows: int
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log_x: bool

    @classmethod
    def around(cls, lines: Sequence[Line], columns: int, rows: int, log_x: bool) -> _Axes:
        xs = np.concatenate([line.x for line in lines])
        ys = np.concatenate([line.y for line in lines])
        return cls(columns, rows, _span(np.log10(xs) if log_x else xs), _span(np.log10(ys)), log_x)

    def cells(self, line: Line) -> Cells:
        """One cell for each column between the ends of the line, straight in log y."""
        if not len(line.x):
            return ()
        (left, right), (low, high) = self.x_range, self.y_range
        x = np.log10(line.x) if self.log_x else line.x
        column = (x - left) / (right - left) * (self.columns - 1)
        row = (high - np.log10(line.y)) / (high - low) * (self.rows - 1)
        across = np.arange(round(column[0]), round(column[-1]) + 1)
        down = np.interp(across, column, row).round().astype(int)
        return tuple(zip(across.tolist(), down.tolist(), strict=True))

    def tick(self, row: int) -> str:
        if row % TICK_EVERY and row != self.rows - 1:
            return ""
        return self._ticks[row]

    @cached_property
    def _ticks(self) -> dict[int, str]:
        """As few digits as tell them apart."""
        low, high = self.y_range
        rows = [i for i in range(self.rows) if i % TICK_EVERY == 0 or i == self.rows - 1]
        values = [10 ** (high - (high - low) * row / (self.rows - 1)) for row in rows]
        if high - low > DECADES:
            return {row: f"{value:.1e}" for row, value in zip(rows, values, strict=True)}
        for digits in range(2, 17):
            told = [f"{value:.{digits}g}" for value in values]
            if len({*told}) == len(told):
                break
        return dict(zip(rows, told, strict=True))

    def x_ticks(self, label: str) -> str:
        first, last = (10**end if self.log_x else end for end in self.x_range)
        name = f"{label} (log)" if self.log_x else label
        left, right = f"{first:.4g}", f"{last:.4g}"
        return f"{left}{name:^{self.columns - len(left) - len(right)}}{right}"


def _span(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
