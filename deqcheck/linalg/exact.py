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
from deqcheck.linalg.exact_entries import vec as vec
from deqcheck.linalg.exact_entries import zeros as zeros
from deqcheck.records.tower import Again, Exhausted, Level, NoExactForm, integer
from deqcheck.records.tower.annihilators import Annihilators
from deqcheck.records.tower.rationals import Rationals, Root

# A matrix of two others: as a node of nodes, or of matrices on one level.
Binary: TypeAlias = Callable[[Again, Again], Again]
AtLevel: TypeAlias = Callable[[Level, Any, Any], Any]
MINUS_ONE = integer(-1)
# The largest prime below 2^63.
PRIME = 9223372036854775783


def array(a: np.ndarray) -> Again:
    """A matrix of doubles as it is; a vector is a column."""
    columns = a.reshape(len(a), -1)
    return Again(lambda level: _of_doubles(level, columns))


def _of_doubles(level: Level, a: np.ndarray) -> Any:
    if not np.isfinite(a).all():
        raise NoExactForm
    rows = [[level.flint.fmpq(*float(x).as_integer_ratio()) for x in row] for row in a]
    exact = level.flint.fmpq_mat(*a.shape, [x for row in rows for x in row])
    return exact if level.exact else level.flint.arb_mat(exact)


def product(a: Again, b: Again) -> Again:
    return Again(_product, a, b)


def _product(level: Level, a: Any, b: Any) -> Any:
    charge(level, a.nrows() * a.ncols() * b.ncols(), a, b)
    return a * b


def plus(a: Again, b: Again) -> Again:
    return Again(lambda level, x, y: x + y, a, b)


def minus(a: Again, b: Again) -> Again:
    return Again(lambda level, x, y: x - y, a, b)


def transpose(a: Again) -> Again:
    return Again(lambda level, x: x.transpose(), a)


def scaled(c: Again, a: Again) -> Again:
    """A number times a matrix, which is rational only if both are."""
    return Again(lambda level, x: mapped(level, x, partial(mul, _entry_of(level, c))), a)


def _entry_of(level: Level, c: Again) -> Any:
    found = c.at(Rationals() if level.exact else level)
    if isinstance(found, Root):
        raise NoExactForm
    return found


def hadamard(a: Again, b: Again) -> Again:
    return Again(_hadamard, a, b)


def _hadamard(level: Level, a: Any, b: Any) -> Any:
    charge(level, a.nrows() * a.ncols(), a, b)
    entries = [x * y for x, y in zip(a.entries(), b.entries(), strict=True)]
    return matrix(level, a.nrows(), a.ncols(), entries)


def columns_scaled(a: Again, c: Again) -> Again:
    """Column j times the j-th entry of the column c."""
    return Again(_columns_scaled, a, c)


def _columns_scaled(level: Level, a: Any, c: Any) -> Any:
    m, n = a.nrows(), a.ncols()
    charge(level, m * n, a, c)
    return matrix(level, m, n, [a[i, j] * c[j, 0] for i in range(m) for j in range(n)])


def power(a: Again, n: int) -> Again:
    """n >= 1."""
    return Again(lambda level, x: _power(level, x, n), a)


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
    return Again(lambda level, x: mapped(level, x, partial(_positive, level)), a)


def _positive(level: Level, x: Any) -> Any:
    zero = level.flint.fmpq(0) if level.exact else level.flint.arb(0)
    if level.exact:
        return x if x > 0 else zero
    return x if x > 0 else zero if x <= 0 else x.max(zero)


def where_positive(a: Again, b: Again) -> Again:
    """b where a > 0, and 0 elsewhere."""
    return Again(_where_positive, a, b)


def _where_positive(level: Level, a: Any, b: Any) -> Any:
    zero = level.flint.fmpq(0) if level.exact else level.flint.arb(0)
    kept = []
    for x, y in zip(a.entries(), b.entries(), strict=True):
        if not (x > 0 or x <= 0):
            raise NoExactForm
        kept.append(y if x > 0 else zero)
    return matrix(level, b.nrows(), b.ncols(), kept)


def moduli(a: Again) -> Again:
    return Again(lambda level, x: mapped(level, x, abs), a)


def shortest_column(a: Again) -> Again:
    """The smallest length of a column, a number."""
    return Again(_shortest_column, a)


def _shortest_column(level: Level, a: Any) -> Any:
    squares = (level.number(_squares(level, column(level, a, j))) for j in range(a.ncols()))
    return level.root(extreme(level.smaller, list(squares)))


def stacked(a: Again, b: Again) -> Again:
    """One matrix on top of another."""
    return Again(_stacked, a, b)


def _stacked(level: Level, a: Any, b: Any) -> Any:
    return matrix(level, a.nrows() + b.nrows(), a.ncols(), [*a.entries(), *b.entries()])


def rationals(entries: list[list[Fraction]]) -> Again:
    """A matrix of numbers that are known."""
    rows, columns = len(entries), len(entries[0])
    return Again(
        lambda level: matrix(level, rows, columns, [raw(level, x) for row in entries for x in row])
    )


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
    return Again(lambda level: _rank(level, a))


def _rank(level: Level, node: Again) -> Any:
    exact = level if level.exact else Rationals()
    a = node.at(exact)
    found = _rank_modulo(exact, a)
    if found < min(a.nrows(), a.ncols()):
        charge(exact, _elimination(a), a)
        found = a.rank()
    return level.rational(Fraction(found))


def inverse(a: Again) -> Again:
    return Again(_inverse, a)


def _inverse(level: Level, a: Any) -> Any:
    n = a.nrows()
    charge(level, round(n**3 * (1 + n / 8)) if level.exact else 2 * n**3, a)
    try:
        return a.inv()
    except ZeroDivisionError:
        raise NoExactForm from None


def onto_row_space(a: Again) -> Again:
    """The orthogonal projector P = R^T (R R^T)^-1 R, with R the rows of an echelon form."""
    return Again(lambda level: _projector(level, a))


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
    found = _product(exact, turned, _product(exact, _inverse(exact, rows * turned), rows))
    return found if level.exact else level.flint.arb_mat(found)


def entry(a: Again, i: int, j: int = 0) -> Again:
    return Again(lambda level, x: level.number(x[i, j]), a)


def sum_of_squares(a: Again) -> Again:
    return Again(lambda level, x: level.number(_squares(level, x)), a)


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


def _norm1(level: Level, a: Any) -> Any:
    charge(level, a.nrows() * a.ncols(), a)
    columns = ([abs(a[i, j]) for i in range(a.nrows())] for j in range(a.ncols()))
    return extreme(level.larger, [level.number(sum(c[1:], c[0])) for c in columns])


def determinant(a: Again) -> Again:
    return Again(_determinant, a)


def _determinant(level: Level, a: Any) -> Any:
    charge(level, a.nrows() ** 3, a)
    return level.number(a.det())


def trace(a: Again) -> Again:
    return Again(lambda level, x: level.number(sum(x[i, i] for i in range(x.nrows()))), a)


def eigenvalue(a: Again, k: int) -> Again:
    """The k-th smallest eigenvalue of a symmetric matrix; a negative k counts from the largest."""
    return Again(lambda level: _eigenvalue(level, a, k))


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
    return Again(lambda level: _singular_value(level, a, k))


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
        if _rank_modulo(exact, a) >= k:
            return False
        charge(exact, _elimination(a), a)
    except (NoExactForm, Exhausted):
        return False
    return bool(a.rank() < k)


def _rank_modulo(exact: Level, a: Any) -> int:
    """The rank modulo a prime, which is no larger than the rank, and mostly is the same."""
    flint, (numerators, _) = exact.flint, a.numer_denom()
    return int(flint.nmod_mat(numerators, PRIME).rank())


def _elimination(a: Any) -> int:
    """Products of entries; each step makes them longer."""
    least = min(a.nrows(), a.ncols())
    return int(a.nrows() * a.ncols() * least * (1 + least // 8))


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
