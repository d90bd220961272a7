"""The arithmetic of a single Measured in plain floats: the same numbers as for arrays, sooner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

EPS = 2.0**-52
# Smallest positive double: covers gradual underflow of products and quotients.
TINY = 5e-324

# Of a radius that is itself made of a few rounded operations, and the rounding of subnormals.
WIDER, SUBNORMAL = 1 + 8 * EPS, 4 * TINY

# Value and error.
Pair = tuple[float, float]
# Dekker's product splits at the middle bit; between these sizes nothing of it is lost.
SPLITTER = 2.0**27 + 1
SPLIT_LOW, SPLIT_HIGH = 1e-140, 1e140


def lost_in_sum(a: Any, b: Any, total: Any) -> Any:
    """a + b - total, exactly (Knuth); floats or arrays. Not 0 where the sum overflows."""
    part = total - a
    return (a - (total - part)) + (b - part)


def lost_in_product(a: Any, b: Any, product: Any) -> Any:
    """a b - product, exactly for factors between SPLIT_LOW and SPLIT_HIGH (Dekker)."""
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(x: Any) -> tuple[Any, Any]:
    high = SPLITTER * x
    high = high - (high - x)
    return high, x - high


def settled(value: float, error: float) -> Pair:
    """Nothing is known where the value is undefined or the radius is not a number."""
    undefined = not math.isfinite(value) and not (math.isinf(value) and error == 0)
    return value, math.inf if undefined or math.isnan(error) else error


def outward(value: float, error: float, side: int) -> float:
    edge = value + side * error
    if error == 0 or lost_in_sum(value, side * error, edge) == 0:
        return edge
    return math.nextafter(edge, side * math.inf)


def plus(a: float, da: float, b: float, db: float) -> Pair:
    total = a + b
    if (a == 0 and da == 0) or (b == 0 and db == 0):
        return total, overflown(total, a, b, da + db) * WIDER
    if da == 0 and db == 0 and lost_in_sum(a, b, total) == 0:
        return total, 0.0
    return rounded(total, overflown(total, a, b, da + db))


def times(a: float, da: float, b: float, db: float) -> Pair:
    product = a * b
    if (a == 0 and da == 0) or (b == 0 and db == 0):
        # No term of the radius is left.
        return product, 0.0
    if da == 0 and db == 0 and exact_product(a, b, product):
        return product, 0.0
    error = overflown(product, a, b, _factor(abs(a), db) + _factor(abs(b), da) + _factor(da, db))
    return rounded(product, error)


def over(a: float, da: float, b: float, db: float) -> Pair:
    """b is not zero."""
    quotient, away = a / b, abs(b) - db
    if not away > 0:
        return rounded(quotient, math.inf)
    if a == 0 and da == 0:
        # Of whatever b is, as long as it is not 0.
        return quotient, 0.0
    if math.isinf(b):
        return rounded(quotient, 0.0)
    if da == 0 and db == 0 and exact_product(quotient, b, a):
        return quotient, 0.0
    return rounded(quotient, (da + _factor(abs(quotient), db)) / away)


def exact_product(a: float, b: float, product: float) -> bool:
    inside = SPLIT_LOW < abs(a) < SPLIT_HIGH and SPLIT_LOW < abs(b) < SPLIT_HIGH
    return inside and lost_in_product(a, b, product) == 0


def _factor(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def overflown(value: float, a: float, b: float, error: float) -> float:
    if math.isinf(value) and not (math.isinf(a) or math.isinf(b)):
        return math.inf
    return error


def rounded(value: float, error: float, ulps: float = 1.0) -> Pair:
    """With the rounding of the operation that gave the value, and of the radius."""
    if ulps == 0 or (error == 0 and math.isinf(value)):
        return value, error * WIDER
    return value, error * WIDER + (ulps * EPS * abs(value) + SUBNORMAL)


def image(
    f: Callable[[float], Any],
    x: float,
    error: float,
    plain: Callable[[float, float], Any],
    ulps: float,
) -> Pair:
    """Under an increasing function that rounds by so many units, unless `plain` of an exact number
    and its image: the radius spans the images of both ends."""
    value = float(f(x))
    if error == 0:
        radius = 0.0
        ulps = 0.0 if plain(x, value) else ulps
    else:
        radius = _span(float(f(outward(x, error, -1))), value, float(f(outward(x, error, 1))))
    return rounded(value, overflown(value, x, x, radius), ulps)


def extreme(pick: Callable[[Sequence[float]], float], of: Sequence[tuple[float, ...]]) -> Pair:
    """The least or largest of numbers, each with its ends; undefined if one of them is."""
    value, low, high = (
        math.nan if any(map(math.isnan, each)) else pick(each) for each in zip(*of, strict=True)
    )
    return value, 0.0 if low == high else _span(low, value, high)


def _span(low: float, value: float, high: float) -> float:
    below, above = abs(value - low), abs(high - value)
    return math.inf if math.isnan(below) or math.isnan(above) else max(below, above)
