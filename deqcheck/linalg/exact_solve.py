"""Systems, inverses and ranks that are computed again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from deqcheck.linalg.exact_entries import charge, matrix
from deqcheck.records.tower import Again, Level, NoExactForm, worded
from deqcheck.records.tower.rationals import Rationals

# The largest prime below 2^63.
PRIME = 9223372036854775783


@worded
def solution(level: Level, a: Any, b: Any) -> Any:
    """Of a x = b."""
    n = a.nrows()
    charge(level, n * n * (n + b.ncols()) * (1 + n // 8 if level.exact else 2), a, b)
    try:
        return a.solve(b)
    except ZeroDivisionError:
        raise NoExactForm from None


def rank(a: Again) -> Again:
    """Rational matrices have one that is known."""
    return Again(lambda level: _rank(level, a)).called("rank", a)


def _rank(level: Level, node: Again) -> Any:
    exact = level if level.exact else Rationals()
    a = node.at(exact)
    found = rank_modulo(exact, a)
    if found < min(a.nrows(), a.ncols()):
        charge(exact, elimination(a), a)
        found = a.rank()
    return level.rational(Fraction(found))


def inverse(a: Again) -> Again:
    return Again(_inverse, a)


@worded
def _inverse(level: Level, a: Any) -> Any:
    n = a.nrows()
    charge(level, round(n**3 * (1 + n / 8)) if level.exact else 2 * n**3, a)
    try:
        return a.inv()
    except ZeroDivisionError:
        raise NoExactForm from None


def onto_row_space(a: Again) -> Again:
    """The orthogonal projector P = R^T (R R^T)^-1 R, with R the rows of an echelon form."""
    return Again(lambda level: _projector(level, a)).called("onto_row_space", a)


def _projector(level: Level, node: Again) -> Any:
    """Balls cannot tell a rank."""
    exact = level if level.exact else Rationals()
    a = node.at(exact)
    charge(exact, a.nrows() * a.ncols() * min(a.nrows(), a.ncols()), a)
    echelon, rank = a.rref()
    rows = matrix(
        exact, rank, a.ncols(), [echelon[i, j] for i in range(rank) for j in range(a.ncols())]
    )
    turned = rows.transpose()
    found = turned * (_inverse(exact, rows * turned) * rows)
    return found if level.exact else level.flint.arb_mat(found)


def rank_modulo(exact: Level, a: Any) -> int:
    """The rank modulo a prime, which is no larger than the rank, and mostly is the same."""
    flint, (numerators, _) = exact.flint, a.numer_denom()
    return int(flint.nmod_mat(numerators, PRIME).rank())


def elimination(a: Any) -> int:
    """Products of entries; each step makes them longer."""
    least = min(a.nrows(), a.ncols())
    return int(a.nrows() * a.ncols() * least * (1 + least // 8))
