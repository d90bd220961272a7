"""The root of z - map(z) for one sample, in rational numbers or in balls."""

from __future__ import annotations

from typing import Any, Protocol

from deqcheck.linalg import exact
from deqcheck.records.tower import Level, NoExactForm

# Newton from a double has its 50 bits twice as often after each step.
DOUBLE_BITS = 40
# Linear pieces that Newton may visit in rationals, and widths of boxes that are tried.
PIECES, BOXES = 12, 4


class Map(Protocol):
    def mapped(self, level: Level, z: Any, j: int) -> Any: ...

    def slopes(self, level: Level, z: Any, j: int) -> Any: ...


def rest(level: Level, f: Map, near: Any, j: int) -> Any:
    """The root for sample j that Newton reaches from a column next to it."""
    return _on_its_piece(level, f, near, j) if level.exact else _in_a_box(level, f, near, j)


def _on_its_piece(level: Level, f: Map, z: Any, j: int) -> Any:
    for _ in range(PIECES):
        gap = f.mapped(level, z, j) - z
        if not any(gap.entries()):
            return z
        z = z + _step(level, f, z, gap, j)
    raise NoExactForm


def _in_a_box(level: Level, f: Map, z: Any, j: int) -> Any:
    bits = DOUBLE_BITS
    while bits < 2 * level.bits:
        z = (z + _step(level, f, z, f.mapped(level, z, j) - z, j)).mid()
        bits *= 2
    return _krawczyk(level, f, z, j)


def _step(level: Level, f: Map, z: Any, gap: Any, j: int) -> Any:
    n = z.nrows()
    system = exact.identity(level, n) - f.slopes(level, z, j)
    return exact.solution(level, *((system, gap) if level.exact else (system.mid(), gap.mid())))


def _krawczyk(level: Level, f: Map, z: Any, j: int) -> Any:
    """K(X) = z - Y F(z) + (I - Y F'(X)) (X - z) inside X proves that X holds one root of F, which
    lies in K(X)."""
    n, arb = z.nrows(), level.flint.arb
    one = exact.identity(level, n)
    try:
        Y = (one - f.slopes(level, z, j)).mid().inv().mid()
    except ZeroDivisionError:
        raise NoExactForm from None
    first = Y * (z - f.mapped(level, z, j))
    largest = max(float(abs(x).upper()) for x in z.entries())
    radius = 2 * max((abs(x).upper() for x in first.entries()), key=float)
    radius = radius + arb(2) ** (8 - level.bits) * (1 + largest)
    for _ in range(BOXES):
        around = exact.matrix(level, n, 1, [arb(0, radius.upper())] * n)
        found = z - first + (one - Y * (one - f.slopes(level, z + around, j))) * around
        pairs = zip((z + around).entries(), found.entries(), strict=True)
        if all(outer.contains_interior(inner) for outer, inner in pairs):
            return found
        radius = 16 * radius
    raise NoExactForm
