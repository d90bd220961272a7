"""The arithmetic of a single Measured in plain floats: the same numbers as for arrays, sooner."""

from __future__ import annotations

import math

EPS = 2.0**-52
# Smallest positive double: covers gradual underflow of products and quotients.
TINY = 5e-324

# Value and error.
Pair = tuple[float, float]


def settled(value: float, error: float) -> Pair:
    """Nothing is known where the value is undefined or the radius is not a number."""
    undefined = not math.isfinite(value) and not (math.isinf(value) and error == 0)
    return value, math.inf if undefined or math.isnan(error) else error


def outward(value: float, error: float, side: int) -> float:
    edge = value + side * error
    # A difference that is 0 was not rounded.
    return edge if error == 0 or edge == 0 else math.nextafter(edge, side * math.inf)


def plus(a: float, da: float, b: float, db: float) -> Pair:
    total = a + b
    if (a == 0 and da == 0) or (b == 0 and db == 0):
        return total, _overflown(total, a, b, da + db) * (1 + 8 * EPS)
    return _rounded(total, _overflown(total, a, b, da + db))


def times(a: float, da: float, b: float, db: float) -> Pair:
    product = a * b
    if (a == 0 and da == 0) or (b == 0 and db == 0):
        # No term of the radius is left.
        return product, 0.0
    error = _overflown(product, a, b, _factor(abs(a), db) + _factor(abs(b), da) + _factor(da, db))
    return _rounded(product, error)


def over(a: float, da: float, b: float, db: float) -> Pair:
    """b is not zero."""
    quotient, away = a / b, abs(b) - db
    if not away > 0:
        return _rounded(quotient, math.inf)
    if a == 0 and da == 0:
        # Of whatever b is, as long as it is not 0.
        return quotient, 0.0
    if math.isinf(b):
        return _rounded(quotient, 0.0)
    return _rounded(quotient, (da + _factor(abs(quotient), db)) / away)


def _factor(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _overflown(value: float, a: float, b: float, error: float) -> float:
    brought = math.isinf(a) or math.isinf(b)
    return math.inf if math.isinf(value) and not brought else error


def _rounded(value: float, error: float) -> Pair:
    exact = math.isinf(value) and error == 0
    return value, error * (1 + 8 * EPS) + (0.0 if exact else EPS * abs(value) + 4 * TINY)
