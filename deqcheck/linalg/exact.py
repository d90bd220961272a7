"""Matrices that are computed again: rational ones (fmpq_mat), else of balls (arb_mat).

Each function takes and gives nodes of the tower (`records.tower`): a matrix, or a number made of
one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any, TypeAlias

import numpy as np

from deqcheck.linalg.entries import finite
from deqcheck.linalg.exact_eigen import in_balls, polynomial, rational_root, spectrum
from deqcheck.linalg.exact_entries import charge as charge
from deqcheck.linalg.exact_entries import column as column
from deqcheck.linalg.exact_entries import diagonal as diagonal
from deqcheck.linalg.exact_entries import extreme as extreme
from deqcheck.linalg.exact_entries import identity as identity
from deqcheck.linalg.exact_entries import khatri_rao as khatri_rao
from deqcheck.linalg.exact_entries import kronecker as kronecker
from deqcheck.linalg.exact_entries import largest as largest
from deqcheck.linalg.exact_entries import mapped as mapped
from deqcheck.linalg.exact_entries import matrix as matrix
from deqcheck.linalg.exact_entries import raw as raw
from deqcheck.linalg.exact_entries import smallest as smallest
from deqcheck.linalg.exact_entries import summed as summed
from deqcheck.linalg.exact_entries import unvec as unvec_on
from deqcheck.linalg.exact_entries import vec as vec
from deqcheck.linalg.exact_entries import zeros as zeros
from deqcheck.linalg.exact_solve import elimination, rank_modulo
from deqcheck.linalg.exact_solve import inverse as inverse
from deqcheck.linalg.exact_solve import onto_row_space as onto_row_space
from deqcheck.linalg.exact_solve import rank as rank
from deqcheck.linalg.exact_solve import solution as solution
from deqcheck.records.tower import Again, Exhausted, Level, NoExactForm, integer, worded
from deqcheck.records.tower.annihilators import Annihilators
from deqcheck.records.tower.rationals import Rationals, Root

# A matrix of two others: as a node of nodes, or of matrices on one level.
Binary: TypeAlias = Callable[[Again, Again], Again]
AtLevel: TypeAlias = Callable[[Level, Any, Any], Any]
MINUS_ONE = integer(-1)


def array(a: np.ndarray) -> Again:
    """A matrix of doubles as it is; a vector is a column."""
    columns = a.reshape(len(a), -1)
    return Again(lambda level: _of_doubles(level, columns)).called("array", entries=columns)


def chosen(a: np.ndarray) -> Again:
    """A matrix that a check is free to choose, as drawn points are."""
    return array(a).called("chosen", value=a)


def _of_doubles(level: Level, a: np.ndarray) -> Any:
    if not finite(a):
        raise NoExactForm
    rows = [[level.flint.fmpq(*float(x).as_integer_ratio()) for x in row] for row in a]
    exact = level.flint.fmpq_mat(*a.shape, [x for row in rows for x in row])
    return exact if level.exact else level.flint.arb_mat(exact)


def product(a: Again, b: Again) -> Again:
    return Again(_product, a, b)


@worded
def _product(level: Level, a: Any, b: Any) -> Any:
    charge(level, a.nrows() * a.ncols() * b.ncols(), a, b)
    return a * b


def plus(a: Again, b: Again) -> Again:
    return Again(lambda level, x, y: x + y, a, b).called("sum")


def minus(a: Again, b: Again) -> Again:
    return Again(lambda level, x, y: x - y, a, b).called("difference")


def transpose(a: Again) -> Again:
    return Again(lambda level, x: x.transpose(), a).called("transpose")


def scaled(c: Again, a: Again) -> Again:
    """A number times a matrix, which is rational only if both are."""
    node = Again(lambda level, x: mapped(level, x, partial(mul, _entry_of(level, c))), a)
    return node.called("scaled", c, a)


def _entry_of(level: Level, c: Again) -> Any:
    found = c.at(Rationals() if level.exact else level)
    if isinstance(found, Root):
        raise NoExactForm
    return found


def hadamard(a: Again, b: Again) -> Again:
    return Again(_hadamard, a, b)


@worded
def _hadamard(level: Level, a: Any, b: Any) -> Any:
    charge(level, a.nrows() * a.ncols(), a, b)
    entries = [x * y for x, y in zip(a.entries(), b.entries(), strict=True)]
    return matrix(level, a.nrows(), a.ncols(), entries)


def columns_scaled(a: Again, c: Again) -> Again:
    """Column j times the j-th entry of the column c."""
    return Again(_columns_scaled, a, c)


@worded
def _columns_scaled(level: Level, a: Any, c: Any) -> Any:
    m, n = a.nrows(), a.ncols()
    charge(level, m * n, a, c)
    return matrix(level, m, n, [a[i, j] * c[j, 0] for i in range(m) for j in range(n)])


def power(a: Again, n: int) -> Again:
    """n >= 1."""
    return Again(lambda level, x: _power(level, x, n), a).called("power", n=n)


def _power(level: Level, a: Any, n: int) -> Any:
    found = a
    for _ in range(n - 1):
        found = _product(level, found, a)
    return found


def gram(a: Again) -> Again:
    """a a^T."""
    return product(a, transpose(a))


def total(parts: list[Again]) -> Again:
    """The sum of several matrices."""
    found = parts[0]
    for part in parts[1:]:
        found = plus(found, part)
    return found


def relu(a: Again) -> Again:
    """Of each entry its positive part."""
    return Again(lambda level, x: mapped(level, x, partial(_positive, level)), a).called("relu")


def _positive(level: Level, x: Any) -> Any:
    zero = level.flint.fmpq(0) if level.exact else level.flint.arb(0)
    if level.exact:
        return x if x > 0 else zero
    return x if x > 0 else zero if x <= 0 else x.max(zero)


def where_positive(a: Again, b: Again) -> Again:
    """b where a > 0, and 0 elsewhere."""
    return Again(_where_positive, a, b)


@worded
def _where_positive(level: Level, a: Any, b: Any) -> Any:
    zero = level.flint.fmpq(0) if level.exact else level.flint.arb(0)
    kept = []
    for x, y in zip(a.entries(), b.entries(), strict=True):
        if not (x > 0 or x <= 0):
            raise NoExactForm
        kept.append(y if x > 0 else zero)
    return matrix(level, b.nrows(), b.ncols(), kept)


def moduli(a: Again) -> Again:
    return Again(lambda level, x: mapped(level, x, abs), a).called("moduli")


def shortest_column(a: Again) -> Again:
    """The smallest length of a column, a number."""
    return Again(_shortest_column, a)


@worded
def _shortest_column(level: Level, a: Any) -> Any:
    squares = (level.number(_squares(level, column(level, a, j))) for j in range(a.ncols()))
    return level.root(extreme(level.smaller, list(squares)))


def stacked(a: Again, b: Again) -> Again:
    """One matrix on top of another."""
    return Again(_stacked, a, b)


@worded
def _stacked(level: Level, a: Any, b: Any) -> Any:
    return matrix(level, a.nrows() + b.nrows(), a.ncols(), [*a.entries(), *b.entries()])


def rationals(entries: list[list[Fraction]]) -> Again:
    """A matrix of numbers that are known."""
    rows, columns = len(entries), len(entries[0])
    return Again(
        lambda level: matrix(level, rows, columns, [raw(level, x) for row in entries for x in row])
    ).called("array", entries=entries)


def unvec(a: Again, rows: int, columns: int) -> Again:
    """A column of so many columns, one under the other."""
    node = Again(lambda level, x: unvec_on(level, x, rows, columns), a)
    return node.called("unvec", rows=rows, columns=columns)


def columns(a: Again, first: int, last: int) -> Again:
    """Those from the first to the last, without the last."""
    return Again(lambda level, x: columns_of(level, x, first, last), a).called(
        "columns", first=first, last=last
    )


def columns_of(level: Level, a: Any, first: int, last: int) -> Any:
    entries = [a[i, j] for i in range(a.nrows()) for j in range(first, last)]
    return matrix(level, a.nrows(), last - first, entries)


def column_of(a: Again, j: int) -> Again:
    return Again(lambda level, x: column(level, x, j), a).called("column", j=j)


def entry(a: Again, i: int, j: int = 0) -> Again:
    return Again(lambda level, x: level.number(x[i, j]), a).called("entry", i=i, j=j)


def sum_of_squares(a: Again) -> Again:
    return Again(lambda level, x: level.number(_squares(level, x)), a).called("sum_of_squares")


def _squares(level: Level, a: Any) -> Any:
    charge(level, a.nrows() * a.ncols(), a)
    total = level.flint.fmpq(0) if level.exact else level.flint.arb(0)
    for x in a.entries():
        total += x * x
        if level.exact:
            # Each sample has its own denominator.
            charge(level, 1, level.flint.fmpq_mat(1, 1, [total]))
    return total


def inner(a: Again, b: Again) -> Again:
    """The sum of the products of entries."""
    return Again(summed, hadamard(a, b))


def frobenius(a: Again) -> Again:
    return Again("root", sum_of_squares(a))


def norm1(a: Again) -> Again:
    """The largest column sum of absolute values."""
    return Again(_norm1, a)


@worded
def _norm1(level: Level, a: Any) -> Any:
    charge(level, a.nrows() * a.ncols(), a)
    columns = ([abs(a[i, j]) for i in range(a.nrows())] for j in range(a.ncols()))
    return extreme(level.larger, [level.number(sum(c[1:], c[0])) for c in columns])


def determinant(a: Again) -> Again:
    return Again(_determinant, a)


@worded
def _determinant(level: Level, a: Any) -> Any:
    charge(level, a.nrows() ** 3, a)
    return level.number(a.det())


def trace(a: Again) -> Again:
    node = Again(lambda level, x: level.number(sum(x[i, i] for i in range(x.nrows()))), a)
    return node.called("trace")


def eigenvalue(a: Again, k: int) -> Again:
    """The k-th smallest eigenvalue of a symmetric matrix; a negative k counts from the largest."""
    return Again(lambda level: _eigenvalue(level, a, k)).called("eigenvalue", a, k=k)


def spectral_radius(a: Again) -> Again:
    """The largest modulus of an eigenvalue of any square matrix."""
    return Again(lambda level: extreme(level.larger, _moduli(level, a)))


def smallest_modulus(a: Again) -> Again:
    """Of an eigenvalue of any square matrix."""
    return Again(lambda level: extreme(level.smaller, _moduli(level, a)))


def largest_real_part(a: Again) -> Again:
    """Of an eigenvalue of any square matrix."""
    return Again(lambda level: _largest_real_part(level, a))


def _moduli(level: Level, node: Again) -> list[Any]:
    a = node.at(level)
    if a.nrows() == 1:
        return [level.number(abs(a[0, 0]))]
    return [abs(x) for x in spectrum(level, node)]


def _largest_real_part(level: Level, node: Again) -> Any:
    a = node.at(level)
    if a.nrows() == 1:
        return level.number(a[0, 0])
    return extreme(level.larger, [x.real for x in spectrum(level, node)])


def singular_value(a: Again, k: int) -> Again:
    """The k-th largest, counted from 1: 0 for a matrix of smaller rank, on every level."""
    return Again(lambda level: _singular_value(level, a, k)).called("singular_value", a, k=k)


def norm2(a: Again) -> Again:
    return singular_value(a, 1)


def _singular_value(level: Level, node: Again, k: int) -> Any:
    a = node.at(level)
    if k > min(a.nrows(), a.ncols()) or _rank_below(level, node, k):
        return level.rational(Fraction(0))
    return level.root(_eigenvalue(level, Again(_gram, node), -k))


def _gram(level: Level, a: Any) -> Any:
    wide = a.nrows() < a.ncols()
    return _product(level, a, a.transpose()) if wide else _product(level, a.transpose(), a)


def _rank_below(level: Level, node: Again, k: int) -> bool:
    """Balls cannot tell a 0; the rationals can, where the matrix is one of them."""
    exact = level if level.exact else Rationals()
    try:
        a = node.at(exact)
        if rank_modulo(exact, a) >= k:
            return False
        charge(exact, elimination(a), a)
    except (NoExactForm, Exhausted):
        return False
    return bool(a.rank() < k)


def _eigenvalue(level: Level, node: Again, k: int) -> Any:
    a = node.at(level)
    k = k % a.nrows()
    if not level.exact:
        return in_balls(level, a, k, lambda: spectrum(level, node))
    if a.nrows() == 1:
        return level.number(a[0, 0])
    found = polynomial(level, node)
    if isinstance(level, Annihilators):
        return level.polynomial(found)
    return level.number(rational_root(level, found, k))
