"""What arithmetic does to arrays of numbers with error radii: `scalar` for many at once.

What is rare (exact numbers, infinities) is looked for first, and then taken care of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from deqcheck.records import scalar


class Numbers(Protocol):
    """A Measured."""

    @property
    def value(self) -> Any: ...

    @property
    def error(self) -> Any: ...


def times(a: Any, b: Any) -> Any:
    """Product with 0 * inf = 0: an exact zero factor removes the other side's uncertainty."""
    product = np.multiply(a, b)
    if not np.isnan(product).any():
        return product
    return np.where((np.asarray(a) == 0) | (np.asarray(b) == 0), 0.0, product)


def outward(value: np.ndarray, error: np.ndarray, side: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        edge = value + side * np.asarray(error)
        lost = scalar.lost_in_sum(value, side * np.asarray(error), edge)
    # value +- error is itself rounded, unless nothing is lost: step one double outward.
    kept = (np.asarray(error) == 0) | (lost == 0)
    found: np.ndarray = np.where(kept, edge, np.nextafter(edge, side * np.inf))
    return found


def overflown(value: Any, a: Numbers, b: Numbers, error: Any) -> Any:
    """An infinity that no operand brought is an overflow: nothing is known of it."""
    infinite = np.isinf(value)
    if not infinite.any():
        return error
    return np.where(infinite & ~(np.isinf(a.value) | np.isinf(b.value)), np.inf, error)


def exact_zero(x: Numbers) -> np.ndarray:
    found: np.ndarray = (np.asarray(x.value) == 0) & (np.asarray(x.error) == 0)
    return found


def ulps(a: Numbers, b: Numbers, lossless: Callable[[], Any]) -> Any:
    """What a sum or product of them rounds: nothing where one is exactly 0, or where both are exact
    and nothing is lost. Few are."""
    exact = np.asarray(a.error) == 0, np.asarray(b.error) == 0
    if not (exact[0].any() or exact[1].any()):
        return 1.0
    kept = exact_zero(a) | exact_zero(b)
    both = exact[0] & exact[1]
    if both.any():
        kept = kept | (both & lossless())
    return np.where(kept, 0.0, 1.0) if kept.any() else 1.0


def both_exact(a: Numbers, b: Numbers) -> np.ndarray:
    found: np.ndarray = (np.asarray(a.error) == 0) & (np.asarray(b.error) == 0)
    return found


def exact_product(a: Any, b: Any, product: Any) -> Any:
    if isinstance(a, float) and isinstance(b, float):
        return scalar.exact_product(a, b, product)
    inside = _splits(a) & _splits(b)
    return inside & (scalar.lost_in_product(a, b, product) == 0)


def _splits(x: Any) -> np.ndarray:
    found: np.ndarray = (np.abs(x) > scalar.SPLIT_LOW) & (np.abs(x) < scalar.SPLIT_HIGH)
    return found
