"""How much stronger a claim could be before the same numbers refute it.

Stronger by the factor f > 1 means: a decaying bound r becomes r^f (its rate times f), a contraction
factor 1 - x becomes 1 - f x, an upper bound is divided and a lower bound multiplied by f (the other
way round where it is negative), and the right side of an identity is multiplied by f.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from deqcheck.records.measured import Measured, exp, log

UPPER, LOWER = ("<=", "<"), (">=", ">")


class Form(Enum):
    """What is made stronger: the rate of a decaying bound, the distance from 1, or the value."""

    RATE = "rate"
    DISTANCE = "distance"
    VALUE = "value"

    @classmethod
    def of(cls, relation: str, decays: bool = False, contracts: bool = False) -> Form:
        if relation in UPPER and (decays or contracts):
            return cls.RATE if decays else cls.DISTANCE
        return cls.VALUE


def stronger(right: Measured, relation: str, factor: float, form: Form) -> Measured:
    """The right side of the stronger claim."""
    if form is Form.RATE:
        return exp(factor * log(right))
    if form is Form.DISTANCE:
        return 1 - factor * (1 - right)
    grows = np.asarray(right.value) > 0
    if relation in UPPER:
        grows = ~grows
    if relation == "==":
        grows = np.ones_like(grows)
    return right * Measured(np.where(grows, factor, 1 / factor))


def caught_beyond(left: Measured, relation: str, right: Measured, form: Form) -> np.ndarray:
    """Elementwise: whatever is stronger by more than this factor is violated; inf: nothing is."""
    with np.errstate(all="ignore"):
        factor = _factor(left, relation, right, form)
    known = np.isfinite(left.error) & np.isfinite(right.error) & ~np.isnan(factor)
    return np.where(known, factor, np.inf)


def caught_once(left: Measured, relation: str, right: Measured) -> float:
    """The same for the values of two single numbers, in plain floats."""
    if not (math.isfinite(left.error) and math.isfinite(right.error)):
        return math.inf
    if right.value > 0:
        above, below = (right.high, left.low) if relation in UPPER else (left.high, right.low)
        reachable = below > 0
    else:
        above, below = (right.low, left.high) if relation in LOWER else (left.low, right.high)
        reachable = below < 0 and (relation not in UPPER + LOWER or above < 0)
    factor = above / below if reachable else math.inf
    return math.inf if math.isnan(factor) else factor


def _factor(left: Measured, relation: str, right: Measured, form: Form) -> np.ndarray:
    l_low, l_high = np.asarray(left.low), np.asarray(left.high)
    r_low, r_high = np.asarray(right.low), np.asarray(right.high)
    if form is Form.RATE:
        reachable = (l_low > 0) & (r_high < 1) & (r_high > 0)
        return np.where(reachable, np.log(l_low) / np.log(r_high), np.inf)
    if form is Form.DISTANCE:
        return np.where(r_high < 1, (1 - l_low) / (1 - r_high), np.inf)
    positive = np.asarray(right.value) > 0
    if relation in UPPER:
        above = np.where(l_low > 0, r_high / l_low, np.inf)
        below = np.where((l_low < 0) & (r_high < 0), l_low / r_high, np.inf)
    elif relation in LOWER:
        above = np.where(r_low > 0, l_high / r_low, np.inf)
        below = np.where((l_high < 0) & (r_low < 0), r_low / l_high, np.inf)
    else:
        above = np.where(r_low > 0, l_high / r_low, np.inf)
        below = np.where(r_high < 0, l_low / r_high, np.inf)
    return np.where(positive, above, below)
