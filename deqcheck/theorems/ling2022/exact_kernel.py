"""The population kernel computed again, in balls: Definition 1 and the limit (14)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.exact_arccos import Q, clipped
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Level, NoExactForm

# Each doubles the digits, from those of a double to more than there are.
NEWTON = 7


class ExactKernel:
    """`even`: the samples are scaled to the norm sqrt(d)."""

    def __init__(self, X: np.ndarray, s2: float, even: bool):
        self._d, self._s2, self._even = len(X), Fraction(s2), even
        self._gram = exact.gram(exact.transpose(exact.array(X)))
        self._layers = [exact.array(np.zeros((X.shape[1], X.shape[1])))]

    def layer(self, count: int) -> Again:
        """K^(l)."""
        while len(self._layers) <= count:
            self._layers.append(Again(self._next, self._layers[-1], self._xi))
        return self._layers[count]

    @cached_property
    def K(self) -> Again:
        return Again(self._limit, self._xi, self.cosine)

    @cached_property
    def cosine(self) -> Again:
        """c = sigma_w^2 Q(c) + (1 - sigma_w^2) cos, of which the right side contracts."""
        return Again(self._cosines, self._xi)

    @cached_property
    def _xi(self) -> Again:
        return Again(self._inner, self._gram)

    def _inner(self, level: Level, gram: Any) -> Any:
        n, d = gram.nrows(), self._d
        scale = [_root(level, gram[i, i]) if self._even else None for i in range(n)]
        entries = [
            gram[i, j] / d if scale[i] is None else _cosine(level, gram, scale, i, j)
            for i in range(n)
            for j in range(n)
        ]
        return exact.matrix(level, n, n, entries)

    def _next(self, level: Level, K: Any, xi: Any) -> Any:
        s2, n = exact.raw(level, self._s2), K.nrows()
        Lambda = s2 * K + xi
        scale = [_root(level, Lambda[i, i]) for i in range(n)]
        entries = [
            scale[i] * scale[j] * Q(level, _cosine(level, Lambda, scale, i, j))
            for i in range(n)
            for j in range(n)
        ]
        return exact.matrix(level, n, n, entries)

    def _cosines(self, level: Level, xi: Any) -> Any:
        scale = [_root(level, xi[i, i]) for i in range(xi.nrows())]
        entries = [
            self._settled(level, _cosine(level, xi, scale, i, j))
            for i in range(xi.nrows())
            for j in range(xi.nrows())
        ]
        return exact.matrix(level, xi.nrows(), xi.nrows(), entries)

    def _settled(self, level: Level, cosine: Any) -> Any:
        s2 = exact.raw(level, self._s2)
        if cosine == 1 or level.exact:
            return cosine if cosine == 1 or s2 == 0 else _missing()
        target = (1 - s2) * cosine
        arb = level.flint.arb
        # Of parallel samples it may be above 1.
        c = clipped(level, cosine.mid())
        for _ in range(NEWTON):
            slope = 1 - s2 * (1 - c.acos() / arb.pi())
            c = clipped(level, (c + (s2 * Q(level, c) + target - c) / slope).mid())
        away = abs(s2 * Q(level, c) + target - c).upper() / (1 - s2)
        return arb(c, away.upper())

    def _limit(self, level: Level, xi: Any, cosine: Any) -> Any:
        scale = [_root(level, xi[i, i]) for i in range(xi.nrows())]
        share = 1 / (1 - exact.raw(level, self._s2))
        entries = [
            share * scale[i] * scale[j] * Q(level, cosine[i, j])
            for i in range(xi.nrows())
            for j in range(xi.nrows())
        ]
        return exact.matrix(level, xi.nrows(), xi.nrows(), entries)


def _cosine(level: Level, a: Any, scale: list[Any], i: int, j: int) -> Any:
    return exact.raw(level, 1) if i == j else a[i, j] / (scale[i] * scale[j])


def _root(level: Level, x: Any) -> Any:
    """Of an entry; rational only where it is a square of one."""
    if not level.exact:
        return x.nonnegative_part().sqrt()
    if x == 1:
        return x
    raise NoExactForm


def _missing() -> Any:
    raise NoExactForm


def off_diagonal(level: Level, a: Any) -> Any:
    """Its entries, as a column."""
    n = a.nrows()
    return exact.matrix(
        level, n * n - n, 1, [a[i, j] for i in range(n) for j in range(n) if i != j]
    )
