"""An eigenvalue of a symmetric matrix of balls that others are near, or equal to.

Rotations (Jacobi) from the vectors of doubles make Q with C = Q^T A Q nearly diagonal. Weyl: the
k-th eigenvalue of C is within |C - diag C|_F of the k-th entry of its diagonal. Ostrowski: it is
that of A times a factor between 1 - d and 1 + d, d = |Q^T Q - I|_F.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.records.tower import Level, NoExactForm

# The rest doubles its digits with each sweep, from those of a double.
DOUBLE_BITS = 40


def clustered(level: Level, a: Any, k: int) -> Any:
    """The k-th smallest, k >= 0."""
    n, arb, arb_mat = a.nrows(), level.flint.arb, level.flint.arb_mat
    one = arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    Q = _rotated(level, a.mid())
    turned = Q.transpose()
    C, d = turned * a * Q, _length(arb, (turned * Q - one).entries())
    rest = _length(arb, [C[i, j] for i in range(n) for j in range(n) if i != j])
    if not d < 1:
        raise NoExactForm
    low = _nth([C[i, i].lower() for i in range(n)], k) - rest
    high = _nth([C[i, i].upper() for i in range(n)], k) + rest
    return low.union(high) / arb(1, d.upper())


def _length(arb: Any, entries: list[Any]) -> Any:
    return sum((x * x for x in entries), arb(0)).nonnegative_part().sqrt()


def _nth(ends: list[Any], k: int) -> Any:
    """Of exact numbers the k-th smallest."""
    above = {i: sum(bool(x > y) for y in ends) for i, x in enumerate(ends)}
    return ends[sorted(above, key=lambda i: above[i])[k]]


def _rotated(level: Level, a: Any) -> Any:
    """Columns that are nearly the eigenvectors of A, nearly orthonormal."""
    n, arb, arb_mat = a.nrows(), level.flint.arb, level.flint.arb_mat
    doubles = np.array([[float(x) for x in row] for row in a.tolist()])
    if not np.isfinite(doubles).all():
        raise NoExactForm
    start = np.linalg.eigh((doubles + doubles.T) / 2)[1]
    Q = arb_mat(n, n, [arb(float(x)) for x in start.ravel()])
    # Nearly orthonormal columns are made so to all digits.
    bits = DOUBLE_BITS
    while bits < level.bits:
        Q = (Q * (3 * _one(arb_mat, n) - Q.transpose() * Q) * arb(0.5)).mid()
        bits *= 2
    bits = DOUBLE_BITS
    while bits < level.bits:
        level.charge(30 * n**3)
        Q = (Q * _sweep(level, (Q.transpose() * a * Q).mid())).mid()
        bits *= 2
    return Q


def _one(arb_mat: Any, n: int) -> Any:
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def _sweep(level: Level, a: Any) -> Any:
    """The product of one rotation for each pair, which makes its entry 0."""
    n, arb, arb_mat = a.nrows(), level.flint.arb, level.flint.arb_mat
    rows = a.tolist()
    turns = _one(arb_mat, n).tolist()
    for i in range(n):
        for j in range(i + 1, n):
            if rows[i][j].is_zero():
                continue
            c, s = _rotation(arb, rows[i][i], rows[i][j], rows[j][j])
            for x in (rows, turns):
                for row in x:
                    row[i], row[j] = (
                        (c * row[i] - s * row[j]).mid(),
                        (s * row[i] + c * row[j]).mid(),
                    )
            first, second = rows[i], rows[j]
            rows[i] = [(c * x - s * y).mid() for x, y in zip(first, second, strict=True)]
            rows[j] = [(s * x + c * y).mid() for x, y in zip(first, second, strict=True)]
    return arb_mat(n, n, [x for row in turns for x in row])


def _rotation(arb: Any, p: Any, q: Any, r: Any) -> tuple[Any, Any]:
    """cos and sin of the angle that takes [[p, q], [q, r]] to a diagonal matrix."""
    theta = (r - p) / (2 * q)
    size = abs(theta) + (theta * theta + 1).sqrt()
    t = (1 / size if theta >= 0 else -1 / size).mid()
    c = (1 / (t * t + 1).sqrt()).mid()
    return c, (t * c).mid()
