"""Eigenvalues of a symmetric matrix: of balls, and of rationals where they are rational.

The smallest one of a large matrix is sought alone. A Rayleigh quotient is an upper bound. A number
c is a lower bound where A - c I has a factorisation L D L^T with positive D, which takes a fraction
of the time of all eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cmp_to_key
from typing import Any

import numpy as np

from deqcheck.linalg.exact_clusters import clustered
from deqcheck.linalg.exact_entries import charge
from deqcheck.records.tower import Again, Exhausted, Level, NoExactForm
from deqcheck.records.tower.rationals import Rationals

# Up to this order eigenvalues are sought among the rationals, by their polynomial.
POLYNOMIAL_ORDER = 12
# Bits of its coefficients: those of data of ordinary scale have some two thousand. Roots that are
# thousands of powers of ten apart are isolated by nobody in any time, and not interrupted.
LONGEST_COEFFICIENT = 10_000
# From this order on the smallest eigenvalue is sought alone.
LARGE_ORDER = 12
# To which roots of polynomials are isolated.
ISOLATING_BITS = 256
# Steps of inverse iteration from the vector that doubles give, and how near its shift is.
STEPS, SHIFT_BITS = 3, 36


def in_balls(level: Level, a: Any, k: int, every: Callable[[], list[Any]]) -> Any:
    """The k-th smallest, k >= 0; `every` gives all of them."""
    if a.nrows() == 1:
        return a[0, 0]
    rough = None
    if k == 0 and a.nrows() >= LARGE_ORDER:
        with suppress(NoExactForm):
            rough = smallest_eigenvalue(level, a)
    # Iteration does not converge where others are near.
    if rough is not None and rough.rel_accuracy_bits() > level.bits // 4:
        return rough
    try:
        with suppress(NoExactForm):
            return _nth(every(), k)
        return clustered(level, a, k)
    except (NoExactForm, Exhausted):
        return clustered(level, a, k) if rough is None else rough


def spectrum(level: Level, node: Again) -> list[Any]:
    """Balls do not find equal eigenvalues, or only roughly; a polynomial has them."""
    if level.exact:
        raise NoExactForm
    found = None
    with suppress(NoExactForm):
        found = _eigenvalues(level, node.at(level))
    if found is not None and not _rough(level, found):
        return found
    try:
        return _roots(polynomial(Rationals(), node))
    except (NoExactForm, Exhausted):
        if found is None:
            raise NoExactForm from None
        return found


def polynomial(level: Level, node: Again) -> Any:
    """The characteristic one, with integer coefficients."""
    a = node.at(level)
    n = a.nrows()
    if n > POLYNOMIAL_ORDER:
        raise NoExactForm
    charge(level, n**4, a)
    found = a.charpoly().numer()
    if found.height_bits() > LONGEST_COEFFICIENT:
        raise NoExactForm
    return found


def _eigenvalues(level: Level, a: Any) -> list[Any]:
    """Of any square matrix of balls."""
    level.charge(25 * a.nrows() ** 3)
    try:
        return list(a.eig(multiple=True))
    except (ValueError, ArithmeticError):
        raise NoExactForm from None


def _rough(level: Level, numbers: list[Any]) -> bool:
    """Whether one of them has lost most of its digits, relative to the largest."""
    largest = max((abs(x) for x in numbers), key=lambda x: float(x.mid()))
    least = largest.upper() * level.flint.arb(2) ** -(level.bits // 4)
    return any(not part.rad() < least for x in numbers for part in (x.real, x.imag))


def _roots(found: Any) -> list[Any]:
    """All of an integer polynomial, as balls, however many are equal."""
    return [root for root, times in found.complex_roots() for _ in range(times)]


def _nth(numbers: list[Any], k: int) -> Any:
    """The k-th smallest real part."""
    each = [x.real for x in numbers]
    low = sorted((x.lower() for x in each), key=_ordered)[k]
    high = sorted((x.upper() for x in each), key=_ordered)[k]
    return low.union(high)


@cmp_to_key
def _ordered(one: Any, other: Any) -> int:
    """Ends of balls are exact, so that they can be ordered. As rationals they would not fit in any
    memory: exponents of arb are integers of any size."""
    return bool(one > other) - bool(one < other)


def rational_root(level: Level, found: Any, k: int) -> Any:
    """The k-th smallest root of a polynomial with real roots only, if it is rational."""
    with level.flint.ctx.workprec(ISOLATING_BITS):
        roots = []
        for factor, times in found.factor()[1]:
            linear = factor.degree() == 1
            own = level.flint.fmpq(-factor[0], factor[1]) if linear else None
            for root, _ in factor.complex_roots():
                roots += [(root.real, own)] * times
        for i, (one, _) in enumerate(roots):
            for other, _ in roots[i + 1 :]:
                if one.overlaps(other) and one is not other:
                    raise NoExactForm
        roots.sort(key=lambda each: _ordered(each[0].mid()))
    _, own = roots[k]
    if own is None:
        raise NoExactForm
    return own


def smallest_eigenvalue(level: Level, a: Any) -> Any:
    """A ball; no exact form where the factorisation does not show that nothing is below it."""
    n = a.nrows()
    level.charge((STEPS + 2) * n**3)
    try:
        vector, quotient = _refined(level, a)
    except ZeroDivisionError:
        raise NoExactForm from None
    off = a * vector - vector * quotient
    apart = (_square(off) / _square(vector)).nonnegative_part().sqrt()
    # Some eigenvalue is within `apart` of the quotient; pivots near 0 need room for their radii.
    size = abs(quotient) + _norm(a)
    room = size * level.flint.arb(2) ** (-(3 * level.bits) // 4)
    low = (quotient - 2 * apart - room).lower()
    if not _positive_definite(level, a, low):
        raise NoExactForm
    return low.union(quotient.upper())


def _refined(level: Level, a: Any) -> tuple[Any, Any]:
    """A vector near the lowest eigenvector, and its Rayleigh quotient."""
    n = a.nrows()
    middle = a.mid()
    doubles = np.array([[float(x) for x in row] for row in middle.tolist()])
    if not np.isfinite(doubles).all():
        raise NoExactForm
    start = np.linalg.eigh((doubles + doubles.T) / 2)[1][:, 0]
    arb, arb_mat = level.flint.arb, level.flint.arb_mat
    vector = arb_mat(n, 1, [arb(float(x)) for x in start])
    # Nearer to the eigenvalue than to the others, but not so near that the solution has no digits.
    shift = (_quotient(middle, vector) - _norm(middle) * arb(2) ** -SHIFT_BITS).mid()
    shifted = middle - shift * arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    for _ in range(STEPS):
        longer = shifted.solve(vector).mid()
        vector = (longer * (1 / _square(longer).sqrt())).mid()
    return vector, _quotient(a, vector)


def _quotient(a: Any, v: Any) -> Any:
    return (v.transpose() * (a * v))[0, 0] / _square(v)


def _square(v: Any) -> Any:
    return (v.transpose() * v)[0, 0]


def _norm(a: Any) -> Any:
    return sum((abs(x) for x in a.entries()), a[0, 0] * 0)


def _positive_definite(level: Level, a: Any, shift: Any) -> bool:
    """Whether every pivot of A - shift I is positive for certain (then all eigenvalues are)."""
    n = a.nrows()
    level.charge(n**3)
    rows = [[a[i, j] - (shift if i == j else 0) for j in range(i + 1)] for i in range(n)]
    for k in range(n):
        pivot = rows[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, n):
            share = rows[i][k] / pivot
            for j in range(k + 1, i + 1):
                rows[i][j] -= share * rows[j][k]
    return True
