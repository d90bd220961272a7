"""The rules of the arithmetic with error bars and of rates, each number by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deqcheck.records import scalar
from deqcheck.records.claim import Curve, Decision
from deqcheck.records.measured import Measured

EPS, TINY = 2.0**-52, 5e-324
INF = math.inf
# What a result may be enlarged by, for the rounding of the radius itself.
ROOM = 1 + 8 * EPS


def test_what_is_known() -> None:
    assert scalar.settled(2.0, 0.5) == (2.0, 0.5)
    assert scalar.settled(INF, 0.0) == (INF, 0.0)
    assert scalar.settled(INF, 1.0) == (INF, INF)
    assert scalar.settled(2.0, math.nan) == (2.0, INF)
    value, error = scalar.settled(math.nan, 0.0)
    assert math.isnan(value) and error == INF


def test_ends_are_rounded_outward() -> None:
    assert scalar.outward(1.0, 0.0, 1) == 1.0
    assert scalar.outward(1.0, 0.5, 1) == math.nextafter(1.5, INF)
    assert scalar.outward(1.0, 0.5, -1) == math.nextafter(0.5, -INF)


def test_sums() -> None:
    assert scalar.plus(3.0, 0.25, 4.0, 0.5) == (7.0, 0.75 * ROOM + EPS * 7 + 4 * TINY)
    # Adding an exact zero does not round.
    assert scalar.plus(0.0, 0.0, 4.0, 0.5) == (4.0, 0.5 * ROOM)
    assert scalar.plus(3.0, 0.25, 0.0, 0.0) == (3.0, 0.25 * ROOM)
    assert scalar.plus(0.0, 0.25, 4.0, 0.5) == (4.0, 0.75 * ROOM + EPS * 4 + 4 * TINY)
    assert scalar.plus(3.0, 0.25, 0.0, 0.5) == (3.0, 0.75 * ROOM + EPS * 3 + 4 * TINY)
    assert scalar.plus(1e308, 0.0, 1e308, 0.0) == (INF, INF)
    assert scalar.plus(INF, 0.0, 1.0, 0.0) == (INF, 0.0)
    assert scalar.plus(1.0, 0.0, -INF, 0.0) == (-INF, 0.0)


def test_products() -> None:
    error = (3 * 0.5 + 4 * 0.25 + 0.25 * 0.5) * ROOM + EPS * 12 + 4 * TINY
    assert scalar.times(3.0, 0.25, 4.0, 0.5) == (12.0, error)
    assert scalar.times(-3.0, 0.25, -4.0, 0.5) == (12.0, error)
    assert scalar.times(0.0, 0.0, 4.0, 0.5) == (0.0, 0.0)
    assert scalar.times(3.0, 0.25, 0.0, 0.0) == (0.0, 0.0)
    assert scalar.times(0.0, 0.25, 4.0, 0.0) == (0.0, 1.0 * ROOM + 4 * TINY)
    assert scalar.times(1e200, 0.0, 1e200, 0.0) == (INF, INF)
    assert scalar.times(INF, 0.0, 2.0, 0.0) == (INF, 0.0)


def test_quotients() -> None:
    error = (0.25 + 0.75 * 0.5) / 3.5 * ROOM + EPS * 0.75 + 4 * TINY
    assert scalar.over(3.0, 0.25, 4.0, 0.5) == (0.75, error)
    assert scalar.over(-3.0, 0.25, -4.0, 0.5) == (0.75, error)
    assert scalar.over(3.0, 0.25, 4.0, 4.0) == (0.75, INF)
    assert scalar.over(3.0, 0.25, 4.0, 5.0)[1] == INF
    assert scalar.over(3.0, 0.0, INF, 0.0) == (0.0, 4 * TINY)


def decaying(fall: float, bound: float, error: float, loose: float) -> Curve:
    k = np.arange(4)
    left = Measured(2 * np.exp(-fall * k), np.full(4, error))
    right = Measured(3 * np.exp(-bound * k), np.full(4, loose))
    flags = {"decays": True, "starts_equal": True}
    return Curve("c", left, "<=", right, k, 0.5 * k, **flags)


def test_the_tightness_of_a_rate_and_its_radius() -> None:
    """promised/fall, (loose + noise ratio)/fall, with the relative errors of both ends."""
    error, loose = 1e-6, 2e-6
    judged = decaying(0.5, 0.2, error, loose).judge()
    assert judged.decision is Decision.HOLDS and judged.curve is not None
    assert judged.curve.rate_tightness == pytest.approx(0.4, rel=1e-12, abs=0)
    k = np.array([1, 2, 3])
    noise = error / (2 * np.exp(-0.5 * k)) + error / 2
    slack = loose / (3 * np.exp(-0.2 * k)) + loose / 3
    radius = (slack + noise * 0.4) / (0.5 * k)
    # The largest of the upper ends, and the largest of the lower ends, are that far away.
    assert judged.curve.rate_error == pytest.approx(
        max(radius.max(), radius.min()), rel=1e-6, abs=0
    )


def test_a_rate_is_read_off_only_where_the_fall_is_known() -> None:
    """To one hundredth of it."""
    noise = np.exp(0.5) / 2 + 0.5
    inside, outside = (0.01 * 0.5 / noise * factor for factor in (0.9, 1.1))
    two = slice(0, 2)
    for error, known in ((inside, True), (outside, False)):
        c = decaying(0.5, 0.2, error, 1e-9)
        left, right = (Measured(x.value[two], x.error[two]) for x in (c.left, c.right))
        short = Curve("c", left, "<=", right, c.k[two], c.t[two], decays=True, starts_equal=True)
        facts = short._rate_tightness(np.array([False, True]))
        assert (facts[0] is not None) == known


def test_resolutions() -> None:
    """Identities to 1e-6, curves to three digits of the bound."""
    for width, decision in ((0.9e-6, Decision.HOLDS), (1.1e-6, Decision.UNDECIDED)):
        k = np.arange(1)
        same = Measured(np.array([4.0]), np.array([4.0 * width]))
        curve = Curve("c", same, "==", Measured(np.array([4.0])), k, k * 1.0)
        assert curve.judge().decision is decision
    left = Measured(np.full(2, 1e-9), np.array([0.0, 2.0]))
    for bound, resolved in ((1999.0, False), (2001.0, True)):
        curve = Curve("c", left, "<=", Measured(np.full(2, bound)), np.arange(2), np.arange(2.0))
        assert curve._resolved()[1] == resolved


def test_the_bars_of_both_sides_count() -> None:
    """For what is resolved, and for what has fallen below it."""
    k, value = np.arange(3), np.array([1.0, 1e-9, 1e-9])
    bound = np.array([2.0, 1e-8, 1e-8])
    for left, right in ((1e-7, 0.0), (0.0, 1e-7)):
        bars = (np.array([0.0, e, e]) for e in (left, right))
        sides = (Measured(x, e) for x, e in zip((value, bound), bars, strict=True))
        curve = Curve("c", next(sides), "<=", next(sides), k, k * 1.0)
        assert curve._resolved().tolist() == [True, False, False]
        assert curve.judge().decision is Decision.HOLDS
    for left, right in ((0.1, 0.0), (0.0, 0.1)):
        bars = (np.array([0.0, e, e]) for e in (left, right))
        sides = (Measured(x, e) for x, e in zip((value, bound), bars, strict=True))
        # A bar that wide hides more than a small bound.
        curve = Curve("c", next(sides), "<=", next(sides), k, k * 1.0)
        assert curve.judge().decision is Decision.UNDECIDED


def test_the_step_that_is_told_where_nothing_is_resolved() -> None:
    k, value = np.arange(4), np.array([3.0, 5.0, 7.0, 9.0])
    unknown = Curve(
        "c", Measured(value), "<=", Measured(value + 1, np.full(4, INF)), k, k * 1.0
    ).judge()
    assert unknown.left.value == 3.0 and unknown.decision is Decision.UNDECIDED
