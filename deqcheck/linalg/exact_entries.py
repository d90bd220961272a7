"""Matrices of one level of the tower: made of entries, taken apart, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from deqcheck.records.tower import Level, worded


def matrix(level: Level, rows: int, columns: int, entries: list[Any]) -> Any:
    kind = level.flint.fmpq_mat if level.exact else level.flint.arb_mat
    return kind(rows, columns, entries)


def raw(level: Level, x: Fraction | int) -> Any:
    """An entry of the level's matrices."""
    q = level.flint.fmpq(*Fraction(x).as_integer_ratio())
    return q if level.exact else level.flint.arb(q)


def mapped(level: Level, a: Any, f: Callable[[Any], Any]) -> Any:
    return matrix(level, a.nrows(), a.ncols(), [f(x) for x in a.entries()])


def identity(level: Level, n: int) -> Any:
    return matrix(level, n, n, [int(i == j) for i in range(n) for j in range(n)])


def zeros(level: Level, m: int, n: int) -> Any:
    return matrix(level, m, n, [0] * (m * n))


def column(level: Level, a: Any, j: int) -> Any:
    return matrix(level, a.nrows(), 1, [a[i, j] for i in range(a.nrows())])


@worded
def diagonal(level: Level, a: Any) -> Any:
    """As a column."""
    n = min(a.nrows(), a.ncols())
    return matrix(level, n, 1, [a[i, i] for i in range(n)])


@worded
def vec(level: Level, a: Any) -> Any:
    """Column under column."""
    entries = [a[i, j] for j in range(a.ncols()) for i in range(a.nrows())]
    return matrix(level, len(entries), 1, entries)


def unvec(level: Level, x: Any, rows: int, columns: int) -> Any:
    """A column of so many columns, one under the other."""
    return matrix(level, columns, rows, x.entries()).transpose()


@worded
def kronecker(level: Level, a: Any, b: Any) -> Any:
    charge(level, a.nrows() * a.ncols() * b.nrows() * b.ncols(), a, b)
    rows, columns = a.nrows() * b.nrows(), a.ncols() * b.ncols()
    p, q = b.nrows(), b.ncols()
    entries = [a[i // p, j // q] * b[i % p, j % q] for i in range(rows) for j in range(columns)]
    return matrix(level, rows, columns, entries)


@worded
def khatri_rao(level: Level, a: Any, b: Any) -> Any:
    """Of each pair of columns the Kronecker product."""
    charge(level, a.nrows() * a.ncols() * b.nrows(), a, b)
    p, n = b.nrows(), b.ncols()
    entries = [a[i // p, j] * b[i % p, j] for i in range(a.nrows() * p) for j in range(n)]
    return matrix(level, a.nrows() * p, n, entries)


@worded
def summed(level: Level, a: Any) -> Any:
    """The sum of all entries, a number."""
    charge(level, a.nrows() * a.ncols(), a)
    return level.number(sum(a.entries(), raw(level, 0)))


@worded
def smallest(level: Level, a: Any) -> Any:
    """Of all entries, a number."""
    return extreme(level.smaller, [level.number(x) for x in a.entries()])


@worded
def largest(level: Level, a: Any) -> Any:
    return extreme(level.larger, [level.number(x) for x in a.entries()])


def extreme(pick: Callable[[Any, Any], Any], numbers: list[Any]) -> Any:
    found = numbers[0]
    for x in numbers[1:]:
        found = pick(found, x)
    return found


def charge(level: Level, products: int, *matrices: Any) -> None:
    """So many products of entries of these matrices; rational ones are as long as they are."""
    words = 1.0
    if level.exact:
        longest = max((x.height_bits() for m in matrices for x in m.entries()), default=0)
        words = (1 + longest / 64) ** 1.5
    level.charge(products * words)
