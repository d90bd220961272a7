"""The arc-cosine kernel of the ReLU computed again, in balls."""

from __future__ import annotations

from typing import Any

from deqcheck.linalg import exact
from deqcheck.records.tower import Again, Level, NoExactForm


def Q(level: Level, x: Any) -> Any:
    """(sqrt(1 - x^2) + (pi - arccos x) x)/pi: 1 at 1, and 0 at -1."""
    if x == 1 or x == -1:
        return exact.raw(level, int(x == 1))
    if level.exact:
        raise NoExactForm
    x, pi = clipped(level, x), level.flint.arb.pi()
    return (((1 - x) * (1 + x)).nonnegative_part().sqrt() + (pi - arccos(level, x)) * x) / pi


def arccos(level: Level, x: Any) -> Any:
    """2 arcsin(sqrt((1 - x)/2)), which has a value also where the ball of x reaches beyond 1, as
    that of the cosine of parallel samples does."""
    half = ((1 - x) / 2).nonnegative_part().sqrt()
    return 2 * half.asin() if x > 0 else x.acos()


def clipped(level: Level, x: Any) -> Any:
    one = level.flint.arb(1)
    return x.min(one).max(-one)


def gram(X: Again) -> Again:
    """E[relu(w.x_i) relu(w.x_j)] over w ~ N(0, I), for the columns x_i of X, none of them 0."""
    return Again(_gram, X)


def _gram(level: Level, X: Any) -> Any:
    if level.exact:
        raise NoExactForm
    products, n = X.transpose() * X, X.ncols()
    lengths = [products[i, i].sqrt() for i in range(n)]
    entries = []
    for i in range(n):
        for j in range(n):
            entries.append(_entry(level, products, lengths, i, j))
    return exact.matrix(level, n, n, entries)


def _entry(level: Level, products: Any, lengths: list[Any], i: int, j: int) -> Any:
    if i == j:
        return products[i, i] / 2
    size = lengths[i] * lengths[j]
    return size * Q(level, products[i, j] / size) / 2
