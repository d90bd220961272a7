"""Algebraic numbers by a polynomial that vanishes there: enough to prove that two are equal."""

from __future__ import annotations

from typing import Any

from deqcheck.records.tower.node import Level, NoExactForm

# Of a polynomial: resultants of larger ones take too long.
LARGEST_DEGREE = 36


class Annihilators(Level):
    """A number is a squarefree integer polynomial that vanishes there; which of its roots it is,
    balls must tell."""

    bits = -1

    def __init__(self, budget: float | None = None):
        super().__init__(budget)
        self._ring = self.flint.fmpz_mpoly_ctx.get(("x", "y"), "lex")

    def number(self, x: Any) -> Any:
        return self.flint.fmpz_poly([-x.p, x.q])

    def polynomial(self, found: Any) -> Any:
        """Without repeated roots."""
        if found.degree() > LARGEST_DEGREE:
            raise NoExactForm
        common = found.gcd(found.derivative())
        return found if common.degree() == 0 else found // common

    def _resultant(self, first: Any, second: Any) -> Any:
        """Of two polynomials in x and y, by y: a polynomial in x."""
        found = first.resultant(second, "y")
        coefficients = [0] * (max((m[0] for m in found.monoms()), default=0) + 1)
        for (power, _), c in found.terms():
            coefficients[power] = c
        result = self.flint.fmpz_poly(coefficients)
        if result.is_zero():
            raise NoExactForm
        return self.polynomial(result)

    def _product_allowed(self, a: Any, b: Any) -> None:
        if a.degree() * b.degree() > LARGEST_DEGREE:
            raise NoExactForm
        self.charge(1e3 * (a.degree() * b.degree()) ** 3)

    def _in_y(self, a: Any) -> Any:
        y = self._ring.gens()[1]
        return sum((c * y**i for i, c in enumerate(a.coeffs())), self._ring.from_dict({}))

    def plus(self, a: Any, b: Any) -> Any:
        """b(x - y) and a(y) have a common root y where x is the sum."""
        self._product_allowed(a, b)
        x, y = self._ring.gens()
        shifted = sum((c * (x - y) ** i for i, c in enumerate(b.coeffs())), 0 * x)
        return self._resultant(self._in_y(a), shifted)

    def times(self, a: Any, b: Any) -> Any:
        """y^n b(x/y) and a(y), but for the factor 0."""
        if self._only_zero(a) or self._only_zero(b):
            return self.flint.fmpz_poly([0, 1])
        if self._may_vanish(a) or self._may_vanish(b):
            # With the root 0 the resultant vanishes identically: 0 or the product of the others.
            rest = self.times(self._nonzero(a), self._nonzero(b))
            return self.polynomial(rest * self.flint.fmpz_poly([0, 1]))
        self._product_allowed(a, b)
        x, y = self._ring.gens()
        n = b.degree()
        scaled = sum((c * x**i * y ** (n - i) for i, c in enumerate(b.coeffs())), 0 * x)
        return self._resultant(self._in_y(a), scaled)

    def over(self, a: Any, b: Any) -> Any:
        """The divisor is not 0: a root 0 of its polynomial is another number's."""
        kept = self._nonzero(b)
        if kept.degree() < 1:
            raise NoExactForm
        return self.times(a, self.flint.fmpz_poly(kept.coeffs()[::-1]))

    def minus(self, a: Any) -> Any:
        return self.flint.fmpz_poly([-c if i % 2 else c for i, c in enumerate(a.coeffs())])

    def size(self, a: Any) -> Any:
        return self.polynomial(a * self.minus(a))

    def root(self, a: Any) -> Any:
        spread = [0] * (2 * a.degree() + 1)
        spread[::2] = a.coeffs()
        return self.polynomial(self.flint.fmpz_poly(spread))

    def exp(self, a: Any) -> Any:
        raise NoExactForm

    def log(self, a: Any) -> Any:
        raise NoExactForm

    def smaller(self, a: Any, b: Any) -> Any:
        return self.polynomial(a * b)

    def larger(self, a: Any, b: Any) -> Any:
        return self.polynomial(a * b)

    def _may_vanish(self, a: Any) -> bool:
        return bool(a[0] == 0)

    def _only_zero(self, a: Any) -> bool:
        return bool(a.degree() == 1 and a[0] == 0)

    def _nonzero(self, a: Any) -> Any:
        """Without the root 0, which a squarefree polynomial has once at most."""
        return a // self.flint.fmpz_poly([0, 1]) if self._may_vanish(a) else a

    def separation(self, a: Any) -> Any:
        """Every root but 0 is larger than this (Cauchy, for the reversed polynomial); 0 where 0 is
        no root, so that nothing is below it."""
        if not self._may_vanish(a):
            return self.flint.arb(0)
        c = [abs(x) for x in self._nonzero(a).coeffs()]
        return self.flint.arb(self.flint.fmpq(c[0], c[0] + max(c[1:], default=0)))
