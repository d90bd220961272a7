"""A number (or an array of numbers) with an absolute error radius.

Arithmetic widens outward: the radius of a result covers the radii of the operands and the rounding
of the operation itself. NaN never survives as a value with a finite radius.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from deqcheck.records import many, scalar
from deqcheck.records.basis import weakest
from deqcheck.records.scalar import EPS as EPS
from deqcheck.records.scalar import TINY
from deqcheck.records.tower.node import Again, integer, rational, valued

# exp, log and pow of the platform's libm are trusted to this many units in the last place.
LIBM_ULPS = 4.0

Number: TypeAlias = "float | int | Measured"


@dataclass(frozen=True, eq=False, init=False, slots=True)
class Measured:
    """`value`, known up to the absolute radius `error`; `how` says where the radius comes from.

    `again` computes the same real number once more, better. Only those who know the number exactly
    give it (a radius of 0 is no proof); single numbers carry it through the operations on them. It
    serves the judgement of a claim and is not kept longer: it is never pickled.
    """

    value: Any
    error: Any
    how: str
    again: Again | None = field(repr=False)

    # numpy leaves mixed arithmetic to this class.
    __array_ufunc__ = None

    def __init__(self, value: Any, error: Any = 0.0, how: str = "", again: Again | None = None):
        plain = type(value) is float and type(error) is float
        if not (plain and math.isfinite(value) and not math.isnan(error)):
            value, error = _settled(value, error)
        _set_value(self, value)
        _set_error(self, error)
        _set_how(self, how)
        _set_again(self, again)

    def __reduce__(self) -> tuple[Any, ...]:
        return Measured, (self.value, self.error, self.how)

    def forgetting(self) -> Measured:
        """The number alone, without what computes it again."""
        return self if self.again is None else Measured(self.value, self.error, self.how)

    @property
    def low(self) -> Any:
        if isinstance(self.value, float):
            return scalar.outward(self.value, self.error, -1)
        return many.outward(self.value, self.error, -1)

    @property
    def high(self) -> Any:
        if isinstance(self.value, float):
            return scalar.outward(self.value, self.error, +1)
        return many.outward(self.value, self.error, +1)

    @property
    def exact(self) -> bool:
        return bool(np.all(np.asarray(self.error) == 0))

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        raise TypeError("a Measured is neither true nor false; judge a claim about it")

    def __getitem__(self, index: Any) -> Measured:
        return Measured(self.value[index], self.error[index], self.how)

    def widened(self, extra: Any, how: str = "") -> Measured:
        return Measured(self.value, self.error + np.asarray(extra), how or self.how)

    def __neg__(self) -> Measured:
        return Measured(-self.value, self.error, self.how, _one("minus", self))

    def __abs__(self) -> Measured:
        return Measured(abs(self.value), self.error, self.how, _one("size", self))

    def __add__(self, other: Number) -> Measured:
        b = other if isinstance(other, Measured) else measured(other)
        if isinstance(self.value, float) and isinstance(b.value, float):
            found, radius = scalar.plus(self.value, self.error, b.value, b.error)
            return Measured(found, radius, _how(self, b), _both("plus", self, b))
        with np.errstate(all="ignore"):
            total = self.value + b.value
            # Adding an exact zero does not round, nor does a sum of which nothing is lost.
            lost = partial(scalar.lost_in_sum, self.value, b.value, total)
            ulps = many.ulps(self, b, lambda: lost() == 0)
        error = many.overflown(total, self, b, self.error + b.error)
        return _rounded(total, error, ulps, _how(self, b))

    def __sub__(self, other: Number) -> Measured:
        return self + (-measured(other))

    def __mul__(self, other: Number) -> Measured:
        b = other if isinstance(other, Measured) else measured(other)
        if isinstance(self.value, float) and isinstance(b.value, float):
            found, radius = scalar.times(self.value, self.error, b.value, b.error)
            return Measured(found, radius, _how(self, b), _both("times", self, b))
        with np.errstate(all="ignore"):
            error = (
                many.times(abs(self.value), b.error)
                + many.times(abs(b.value), self.error)
                + many.times(self.error, b.error)
            )
            product = self.value * b.value
            ulps = many.ulps(self, b, partial(many.exact_product, self.value, b.value, product))
            return _rounded(product, many.overflown(product, self, b, error), ulps, _how(self, b))

    def __truediv__(self, other: Number) -> Measured:
        b = other if isinstance(other, Measured) else measured(other)
        if isinstance(self.value, float) and isinstance(b.value, float) and b.value != 0:
            found, radius = scalar.over(self.value, self.error, b.value, b.error)
            return Measured(found, radius, _how(self, b), _both("over", self, b))
        with np.errstate(all="ignore"):
            away = np.abs(b.value) - b.error
            quotient = np.divide(self.value, b.value)
            error = np.where(
                np.isinf(b.value),
                0.0,
                (self.error + many.times(np.abs(quotient), b.error)) / away,
            )
            error = np.where(away > 0, error, np.inf)
            kept = many.exact_zero(self) & (away > 0)
            kept |= many.both_exact(self, b) & many.exact_product(quotient, b.value, self.value)
            ulps = np.where(kept, 0.0, 1.0)
        return _rounded(quotient, error, ulps, _how(self, b))

    def __pow__(self, power: Number) -> Measured:
        if isinstance(power, int) and power >= 0:
            return _integer_power(self, power)
        p = measured(power)
        whole = isinstance(p.value, float) and p.error == 0 and p.value.is_integer()
        if whole and p.value >= 0:
            return _integer_power(self, int(p.value))
        return exp(log(self) * p)

    def __radd__(self, other: Number) -> Measured:
        return measured(other) + self

    def __rsub__(self, other: Number) -> Measured:
        return measured(other) - self

    def __rmul__(self, other: Number) -> Measured:
        return measured(other) * self

    def __rtruediv__(self, other: Number) -> Measured:
        return measured(other) / self

    def __rpow__(self, other: Number) -> Measured:
        return measured(other) ** self


# How a frozen record is written, by the slots themselves: these are made more often than anything.
_set_value, _set_error, _set_how, _set_again = (
    Measured.__dict__[name].__set__ for name in ("value", "error", "how", "again")
)


def _settled(value: Any, error: Any) -> tuple[Any, Any]:
    """As floats, or arrays of one shape; nothing is known where a value is undefined."""
    if isinstance(value, (float, int)) and isinstance(error, (float, int)):
        return scalar.settled(float(value), float(error))
    value, error = np.asarray(value, dtype=float), np.asarray(error, dtype=float)
    if error.shape != value.shape:
        error = np.full(value.shape, error)
    if not np.isfinite(value).all() or np.isnan(error).any():
        undefined = ~np.isfinite(value) & ~(np.isinf(value) & (error == 0))
        error = np.where(undefined | np.isnan(error), np.inf, error)
    return (value, error) if value.ndim else (float(value), float(error))


def _how(a: Measured, b: Measured) -> str:
    """An estimate does not become a bound by being computed with."""
    return weakest(a.how, b.how) if a.how or b.how else ""


def _one(operation: str, x: Measured) -> Again | None:
    """The same operation on what computes the number again, if it can be."""
    return None if x.again is None else Again(operation, x.again)


def _both(operation: str, a: Measured, b: Measured) -> Again | None:
    return None if a.again is None or b.again is None else Again(operation, a.again, b.again)


def measured(x: Any, error: Any = 0.0, how: str = "") -> Measured:
    """`x` as a Measured; plain numbers have no radius, and whole ones are what they are."""
    if isinstance(x, Measured):
        return x
    if isinstance(x, int) and not error:
        return Measured(float(x), 0.0, how, integer(x))
    return Measured(x, error, how)


def given(x: float | Fraction, of: Again | None = None) -> Measured:
    """A number of the instance, which is this double and no other, or any rational number; `of`
    tells what it is the value of."""
    if isinstance(x, float):
        if not math.isfinite(x):
            return Measured(x)
        return Measured(float(x), again=rational(x) if of is None else valued(of, x))
    exact = Fraction(x)
    near = float(exact)
    error = 0.0 if Fraction(near) == exact else EPS * abs(near) + TINY
    return Measured(near, error, again=rational(exact) if of is None else valued(of, exact))


def chosen(x: float | Fraction) -> Measured:
    """A number that a check is free to choose: what it claims is about this one."""
    return given(x, rational(x).called("chosen", value=Fraction(x)))


def vanishing(x: float) -> Measured:
    """What rounding may make of a number that is 0: exact numbers have none of it."""
    return Measured(x, again=integer(0))


def enclosure(x: Measured) -> list[str] | None:
    """The ends of a single number as rational ones, if they are."""
    finite = np.isfinite((x.low, x.high)).all()
    return [str(Fraction(x.low)), str(Fraction(x.high))] if finite else None


def between(low: float, high: float, how: str = "") -> Measured:
    """Anything from low to high (whose sum and difference are exact, as those of counts are)."""
    return Measured((low + high) / 2, (high - low) / 2, how)


def counted(low: int, high: int) -> Measured:
    """A number of things, of which the least and the most is known."""
    return given(low) if low == high else between(low, high)


def nonnegative(x: Measured) -> Measured:
    """A single number that cannot be negative: of its interval what is left of 0 is cut off."""
    if x.low >= 0 or x.high < 0 or not np.isfinite(x.error):
        return x
    return Measured(x.high / 2, x.high / 2, x.how, x.again)


def _rounded(value: Any, error: Any, ulps: Any = 1.0, how: str = "") -> Measured:
    """Add the rounding of the operation that gave `value` (and of the radius arithmetic)."""
    with np.errstate(all="ignore"):
        rounding = ulps * EPS * np.abs(value) + 4 * TINY
        if np.ndim(ulps) or not np.isfinite(value).all():
            exact = (np.isinf(value) & (np.asarray(error) == 0)) | (np.asarray(ulps) == 0)
            rounding = np.where(exact, 0.0, rounding)
        return Measured(value, np.asarray(error) * (1 + 8 * EPS) + rounding, how)


def _integer_power(x: Measured, n: int) -> Measured:
    if n == 0:
        return measured(np.ones_like(x.value)) if np.ndim(x.value) else measured(1)
    result = x
    for _ in range(n - 1):
        result = result * x
    return result


def _monotone(
    f: Callable[[Any], Any], x: Measured, plain: Callable[[Any, Any], Any], name: str
) -> Measured:
    """An increasing function, `name` in the tower: the radius spans the images of both ends, and
    `plain` tells of a number and its image where that is not rounded."""
    with np.errstate(all="ignore"):
        if isinstance(x.value, float):
            image = scalar.image(f, x.value, x.error, plain, LIBM_ULPS)
            return Measured(*image, x.how, _one(name, x))
        value = f(x.value)
        error = np.maximum(np.abs(f(x.high) - value), np.abs(value - f(x.low)))
        error = np.where(np.asarray(x.error) == 0, 0.0, error)
        ulps = np.where((np.asarray(x.error) == 0) & plain(x.value, value), 0.0, LIBM_ULPS)
    found = _rounded(value, many.overflown(value, x, x, error), ulps, x.how)
    return Measured(found.value, found.error, x.how, _one(name, x)) if x.again else found


def exp(x: Number) -> Measured:
    return _monotone(np.exp, measured(x), lambda v, _: v == 0, "exp")


def log(x: Number) -> Measured:
    return _monotone(np.log, measured(x), lambda v, _: v == 1, "log")


def log1p(x: Number) -> Measured:
    return _monotone(np.log1p, measured(x), lambda v, _: v == 0, "log1p")


def sqrt(x: Number) -> Measured:
    m = measured(x)
    if isinstance(m.value, float):
        image = scalar.image(_root, m.value, m.error, _exact_root, LIBM_ULPS)
        return Measured(*image, m.how, _one("root", m))
    return _monotone(lambda v: np.sqrt(np.maximum(v, 0.0)), m, _exact_root, "root")


def _root(v: float) -> float:
    """A true value that is nonnegative may have a radius that reaches below zero."""
    return math.sqrt(max(v, 0.0))


def _exact_root(v: Any, root: Any) -> Any:
    return (v == 0) | many.exact_product(root, root, v)


def cosh(x: Number) -> Measured:
    e = exp(abs(measured(x)))
    return (e + 1 / e) / 2


def minimum(*xs: Number) -> Measured:
    return _extreme(np.minimum, xs, "smaller")


def maximum(*xs: Number) -> Measured:
    return _extreme(np.maximum, xs, "larger")


def _extreme(pick: Any, xs: tuple[Number, ...], name: str) -> Measured:
    """min and max are monotone in each argument, so both ends are picked among the ends."""
    ms = [measured(x) for x in xs]
    again = ms[0].again
    for m in ms[1:]:
        again = Again(name, again, m.again) if again and m.again else None
    if all(isinstance(m.value, float) for m in ms):
        found = scalar.extreme(
            min if pick is np.minimum else max, [(m.value, m.low, m.high) for m in ms]
        )
        return Measured(*found, weakest(*(m.how for m in ms)), again)
    value, low, high = ms[0].value, ms[0].low, ms[0].high
    for m in ms[1:]:
        value, low, high = pick(value, m.value), pick(low, m.low), pick(high, m.high)
    with np.errstate(invalid="ignore"):
        error = np.where(low == high, 0.0, np.maximum(high - value, value - low))
    return Measured(value, error, weakest(*(m.how for m in ms)), again)


def stack(xs: list[Measured]) -> Measured:
    """Scalars to one array."""
    value, error = np.array([x.value for x in xs]), np.array([x.error for x in xs])
    return Measured(value, error, weakest(*(x.how for x in xs)))
