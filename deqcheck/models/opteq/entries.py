"""Entries and columns of a matrix that is computed again: of rational numbers, or of balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg.exact import mapped, matrix, raw
from deqcheck.records.tower import Again, Level, NoExactForm


def named(s: Any) -> dict[str, str]:
    """An activation in the words of certificates; with k it is a mix of the identity and tanh."""
    k = getattr(s, "k", None)
    return {"kind": s.kind} if k is None else {"kind": "tanh", "k": str(Fraction(k))}


def values(s: Any, A: Again) -> Again:
    """s of each entry of a matrix."""
    node = Again(lambda level, a: mapped(level, a, lambda t: s.value_on(level, t)), A)
    return node.called("activation", **named(s))


def slopes(s: Any, A: Again) -> Again:
    """s' of each entry."""
    node = Again(lambda level, a: mapped(level, a, lambda t: s.slope_on(level, t)), A)
    return node.called("activation_slope", **named(s))


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
