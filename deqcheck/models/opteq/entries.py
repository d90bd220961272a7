"""Entries and columns of a matrix that is computed again: of rational numbers, or of balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg.exact import matrix, raw
from deqcheck.records.tower import Level, NoExactForm


def clipped(level: Level, t: Any, low: float, high: float) -> Any:
    """min(max(t, low), high)."""
    if np.isfinite(low):
        end = raw(level, Fraction(low))
        t = t if t >= end else end if t <= end else t.max(end)
    if np.isfinite(high):
        end = raw(level, Fraction(high))
        t = t if t <= end else end if t >= end else t.min(end)
    return t


def one_inside(level: Level, t: Any, low: float, high: float) -> Any:
    """1 for low < t <= high and 0 elsewhere; nothing is known of a ball on an end."""
    return raw(level, int(above(level, t, low) and not above(level, t, high)))


def above(level: Level, t: Any, end: float) -> bool:
    """Whether t > end; nothing is known of a ball on the end."""
    if not np.isfinite(end):
        return end < 0
    limit = raw(level, Fraction(end))
    if not (t > limit or t <= limit):
        raise NoExactForm
    return bool(t > limit)


def only_zero(level: Level, t: Any) -> bool:
    """Of a function that is rational at 0 alone: whether that is where t lies. Balls have no such
    place."""
    if level.exact and t != 0:
        raise NoExactForm
    return level.exact


def entrywise(level: Level, a: Any, b: Any) -> Any:
    """The product of two matrices, entry by entry."""
    entries = [x * y for x, y in zip(a.entries(), b.entries(), strict=True)]
    return matrix(level, a.nrows(), a.ncols(), entries)


def column(level: Level, a: Any, j: int) -> Any:
    return matrix(level, a.nrows(), 1, [a[i, j] for i in range(a.nrows())])


def beside(level: Level, columns: list[Any]) -> Any:
    """One matrix of several columns."""
    m, n = columns[0].nrows(), len(columns)
    return matrix(level, m, n, [columns[j][i, 0] for i in range(m) for j in range(n)])
