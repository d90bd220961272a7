"""Balls: midpoint and radius, rounded outward. They decide all but equalities."""

from __future__ import annotations

from typing import Any

from deqcheck.records.tower.node import Level


class Balls(Level):
    """Midpoint and radius; the radius counts every rounding."""

    def __init__(self, bits: int, budget: float | None = None):
        super().__init__(budget)
        self.bits = bits

    def charge(self, work: float) -> None:
        super().charge(work * self.bits / 64)

    def number(self, x: Any) -> Any:
        return self.flint.arb(x)

    def plus(self, a: Any, b: Any) -> Any:
        return a + b

    def times(self, a: Any, b: Any) -> Any:
        return a * b

    def over(self, a: Any, b: Any) -> Any:
        return a / b

    def minus(self, a: Any) -> Any:
        return -a

    def size(self, a: Any) -> Any:
        return abs(a)

    def root(self, a: Any) -> Any:
        # The true number is not negative where a root is asked for.
        return a.nonnegative_part().sqrt()

    def exp(self, a: Any) -> Any:
        return a.exp()

    def log(self, a: Any) -> Any:
        return a.log()

    def smaller(self, a: Any, b: Any) -> Any:
        return a.min(b)

    def larger(self, a: Any, b: Any) -> Any:
        return a.max(b)
