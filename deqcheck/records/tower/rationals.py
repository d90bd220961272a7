"""Rationals and the square roots of rationals: they decide whatever stays there."""

from __future__ import annotations

from math import isqrt
from typing import Any

from deqcheck.frozen import dataclass
from deqcheck.records.tower.node import Level, NoExactForm

# A rational of more bits than this is better handled as a ball.
LONGEST = 40_000


@dataclass(frozen=True)
class Root:
    """sign * sqrt(square), irrational."""

    sign: int
    square: Any


class Rationals(Level):
    """Rationals and square roots of rationals; what leaves them has no form here."""

    bits = 0

    def number(self, x: Any) -> Any:
        return x

    def _bounded(self, x: Any) -> Any:
        q = x.square if isinstance(x, Root) else x
        if q.height_bits() > LONGEST:
            raise NoExactForm
        return x

    def _rooted(self, sign: int, square: Any) -> Any:
        """sign * sqrt(square), as a rational where it is one."""
        if sign == 0 or square == 0:
            return self.flint.fmpq(0)
        p, q = int(square.p), int(square.q)
        if isqrt(p) ** 2 == p and isqrt(q) ** 2 == q:
            return self.flint.fmpq(sign * isqrt(p), isqrt(q))
        return self._bounded(Root(sign, square))

    @staticmethod
    def _square(a: Any) -> Any:
        return a.square if isinstance(a, Root) else a * a

    @staticmethod
    def sign(a: Any) -> int:
        return a.sign if isinstance(a, Root) else (a > 0) - (a < 0)

    def plus(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Root) and not isinstance(b, Root):
            return self._bounded(a + b)
        if self.sign(a) == 0:
            return b
        if self.sign(b) == 0:
            return a
        if isinstance(a, Root) and isinstance(b, Root):
            # sqrt(p) + sqrt(q) = (1 + sqrt(q/p)) sqrt(p).
            share = self._rooted(a.sign * b.sign, b.square / a.square)
            if not isinstance(share, Root):
                return self.times(1 + share, a)
        raise NoExactForm

    def times(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Root) and not isinstance(b, Root):
            return self._bounded(a * b)
        sign = self.sign(a) * self.sign(b)
        return self._rooted(sign, self._square(a) * self._square(b))

    def over(self, a: Any, b: Any) -> Any:
        if self.sign(b) == 0:
            raise NoExactForm
        if not isinstance(a, Root) and not isinstance(b, Root):
            return self._bounded(a / b)
        sign = self.sign(a) * self.sign(b)
        return self._rooted(sign, self._square(a) / self._square(b))

    def minus(self, a: Any) -> Any:
        return Root(-a.sign, a.square) if isinstance(a, Root) else -a

    def size(self, a: Any) -> Any:
        return self.minus(a) if self.sign(a) < 0 else a

    def root(self, a: Any) -> Any:
        if isinstance(a, Root) or a < 0:
            raise NoExactForm
        return self._rooted(1, a)

    def exp(self, a: Any) -> Any:
        if self.sign(a) != 0:
            raise NoExactForm
        return self.flint.fmpq(1)

    def log(self, a: Any) -> Any:
        if isinstance(a, Root) or a != 1:
            raise NoExactForm
        return self.flint.fmpq(0)

    def compared(self, a: Any, b: Any) -> int:
        """The sign of a - b."""
        signs = self.sign(a), self.sign(b)
        if signs[0] != signs[1]:
            return 1 if signs[0] > signs[1] else -1
        squares = self._square(a), self._square(b)
        return signs[0] * (int(squares[0] > squares[1]) - int(squares[0] < squares[1]))

    def smaller(self, a: Any, b: Any) -> Any:
        return a if self.compared(a, b) <= 0 else b

    def larger(self, a: Any, b: Any) -> Any:
        return b if self.compared(a, b) <= 0 else a
