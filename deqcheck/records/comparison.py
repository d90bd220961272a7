"""How two numbers compare: in doubles with their radii, and again in exact numbers."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from deqcheck.records import tower
from deqcheck.records.basis import weakest
from deqcheck.records.measured import Measured


class Decision(str, Enum):
    HOLDS = "holds"
    VIOLATED = "violated"
    UNDECIDED = "undecided"

    __str__ = str.__str__


# Two sides of an identity whose radii are wider than this, relative to their size, say nothing.
IDENTITY_RESOLUTION = 1e-6


def compare(left: Measured, relation: str, right: Measured) -> tuple[np.ndarray, np.ndarray]:
    """Elementwise (holds, violated), the error bars granted to the opponent of each answer."""
    if isinstance(left.value, float) and isinstance(right.value, float):
        return _compare_two(left, relation, right)
    l_low, l_high = np.asarray(left.low), np.asarray(left.high)
    r_low, r_high = np.asarray(right.low), np.asarray(right.high)
    if relation == "==":
        overlap = (l_low <= r_high) & (r_low <= l_high)
        holds, violated = overlap & _narrow(left, right, IDENTITY_RESOLUTION), ~overlap
    else:
        holds, violated = _ordered(l_low, l_high, relation, r_low, r_high)
    known = np.isfinite(left.error) & np.isfinite(right.error)
    # Two infinities of one sign are not compared: what overflowed is not known.
    known &= ~(np.isinf(left.value) & (left.value == right.value))
    return holds & known, violated & known


def _ordered(l_low: Any, l_high: Any, relation: str, r_low: Any, r_high: Any) -> tuple[Any, Any]:
    if relation == "<=":
        return l_high <= r_low, l_low > r_high
    if relation == "<":
        return l_high < r_low, l_low >= r_high
    if relation == ">=":
        return l_low >= r_high, l_high < r_low
    if relation == ">":
        return l_low > r_high, l_high <= r_low
    raise ValueError(f"unknown relation {relation}")


def _compare_two(left: Measured, relation: str, right: Measured) -> tuple[np.ndarray, np.ndarray]:
    """The same for single numbers, in plain floats."""
    x, y = left.value, right.value
    known = math.isfinite(left.error) and math.isfinite(right.error)
    known = known and not (math.isinf(x) and x == y)
    l_low, l_high, r_low, r_high = left.low, left.high, right.low, right.high
    if relation == "==":
        overlap = l_low <= r_high and r_low <= l_high
        narrow = left.error + right.error <= IDENTITY_RESOLUTION * max(abs(x), abs(y))
        holds, violated = overlap and narrow, not overlap
    else:
        holds, violated = _ordered(l_low, l_high, relation, r_low, r_high)
    # As arrays of no dimension are.
    return np.bool_(known and holds), np.bool_(known and violated)  # type: ignore[return-value]


def _narrow(left: Measured, right: Measured, resolution: float, size: float = 0.0) -> np.ndarray:
    """Where the bars are so narrow, relative to the sides or to the size of what they are made of,
    that their overlap says something."""
    scale = np.maximum(np.maximum(np.abs(left.value), np.abs(right.value)), size)
    radius = np.asarray(left.error + right.error)
    found: np.ndarray = radius <= resolution * scale
    return found


def with_equality(
    left: Measured, relation: str, right: Measured, resolution: float, size: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where the two sides are the same number, made of numbers of this size: `<=` holds where
    narrow bars overlap, violated is what is so anyway."""
    holds, violated = compare(left, relation, right)
    if size is not None and relation in ("<=", ">="):
        holds = holds | (~violated & _narrow(left, right, resolution, size))
    return holds, violated


def _decided(left: Measured, relation: str, right: Measured) -> Decision:
    """Of two numbers."""
    return decision_of(*compare(left, relation, right))


def decision_of(holds: np.ndarray, violated: np.ndarray) -> Decision:
    if violated:
        return Decision.VIOLATED
    return Decision.HOLDS if holds else Decision.UNDECIDED


# Why something is undecided, where exact numbers do not tell: none are known for it, its error bars
# are estimates that finer settings would narrow, or it is strict and its sides are known to be the
# same number. (Where exact numbers prove that they are, it is violated.)
NO_FORM, COARSE, EQUAL = tower.Answer.NO_FORM, "coarse", "equal"


def why_open(left: Measured, relation: str, right: Measured, size: float | None) -> str:
    """`size` as for `with_equality`."""
    if size is not None and relation in ("<", ">"):
        weak = with_equality(left, f"{relation}=", right, IDENTITY_RESOLUTION, size)
        if decision_of(*weak) is Decision.HOLDS:
            return EQUAL
    return COARSE if weakest(left.how, right.how) else NO_FORM


class Recomputed(NamedTuple):
    """The sides as they were computed again, the decision, and on which level it fell."""

    left: Measured
    right: Measured
    decision: Decision
    by: str
    # Whether more arithmetic may decide it.
    exhausted: bool = False


# Which signs of left - right an exact comparison accepts.
ACCEPTED = {"<=": (-1, 0), "<": (-1,), ">=": (0, 1), ">": (1,), "==": (0,)}


def computed_again(left: Measured, relation: str, right: Measured) -> Recomputed | None:
    """None where a side cannot be, or nothing came of it."""
    if left.again is None or right.again is None or tower.flint() is None:
        return None
    answer = tower.compared(left.again, right.again)
    if answer.left is None or answer.right is None:
        if not answer.exhausted:
            return None
        return Recomputed(left, right, Decision.UNDECIDED, tower.Answer.OPEN, True)
    sides = Measured(*answer.left, "exact"), Measured(*answer.right, "exact")
    if answer.sign is not None:
        holds = answer.sign in ACCEPTED[relation]
        return Recomputed(*sides, Decision.HOLDS if holds else Decision.VIOLATED, answer.by)
    # Balls never prove an identity, but may show it to more digits than it asks for.
    decision = _decided(sides[0], relation, sides[1])
    open_ = decision is Decision.UNDECIDED
    by = answer.by if open_ else f"ball {answer.bits}"
    return Recomputed(*sides, decision, by, open_ and answer.exhausted)
