"""The rules of the arithmetic with error bars and of rates, each number by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deqcheck.records import scalar
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured, sqrt

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
    assert scalar.outward(1.0, 0.1, 1) == math.nextafter(1.0 + 0.1, INF)
    assert scalar.outward(1.0, 0.1, -1) == math.nextafter(1.0 - 0.1, -INF)
    # These sums are doubles: nothing was rounded.
    assert scalar.outward(1.0, 0.5, 1) == 1.5
    assert scalar.outward(1.0, 0.5, -1) == 0.5


def test_an_exact_operation_has_no_bar_and_a_rounded_one_covers_what_it_lost() -> None:
    draw = random.Random(0)
    numbers = [n / 8 for n in range(-20, 21)]
    numbers += [draw.gauss(0, 1) * 10.0 ** draw.randint(-90, 90) for _ in range(40)]
    for a, b in product(numbers, numbers):
        tried = [
            (scalar.plus, Fraction(a) + Fraction(b)),
            (scalar.times, Fraction(a) * Fraction(b)),
        ]
        if b:
            tried.append((scalar.over, Fraction(a) / Fraction(b)))
        for act, truth in tried:
            value, error = act(a, 0.0, b, 0.0)
            off = abs(Fraction(value) - truth)
            assert off <= Fraction(error) and (error == 0) == (off == 0), (act, a, b)


def test_a_factor_too_small_to_be_split_is_not_called_exact() -> None:
    """2^-1040 3 and 2^-30 times 5 would need more bits than are left down there."""
    assert scalar.times(3 * 2.0**-1040, 0.0, 5 * 2.0**-35, 0.0)[1] > 0
    assert scalar.times(1e200, 0.0, 4.0, 0.0)[1] > 0


def test_a_root_of_a_square_is_exact() -> None:
    assert sqrt(Measured(2.25)).exact and not sqrt(Measured(2.0)).exact
    both = sqrt(Measured(np.array([2.25, 2.0]), np.zeros(2)))
    assert both.error[0] == 0 and both.error[1] > 0
    assert sqrt(Measured(2.25, 1e-9)).error > 0


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
        facts = short._rate_tightness(*2 * (np.array([False, True]),))
        assert (facts[0] is not None) == known


def test_a_rate_may_count_other_points_on_another_machine() -> None:
    """The largest quotient is that of the last point, which is resolved or not by a hair: wherever
    its bar lies, up to ten times what is resolved, either answer is within the bar of the other."""
    k = np.arange(4)
    right = Measured(np.exp(-np.array([0.0, 1.0, 2.0, 3.2])))

    def told(share: float) -> tuple[float, float]:
        error = np.array([0.0, 0.0, 0.0, share * 1e-3 * right.value[-1]])
        left = Measured(np.exp(-2.0 * k), error)
        curve = Curve("c", left, "<=", right, k, k * 1.0, decays=True, starts_equal=True)
        facts = curve.judge().curve
        assert facts is not None and facts.rate_tightness is not None
        assert facts.rate_error is not None
        return facts.rate_tightness, facts.rate_error

    (first, near), (second, far) = told(0.9), told(1.1)
    assert first == pytest.approx(3.2 / 6) and second == pytest.approx(0.5)
    assert near < 2e-3 and first - second <= far < first - second + 2e-3
    value, error = told(9.9)
    assert value == second and error >= first - second
    # What is further from being resolved would not be counted elsewhere.
    assert told(10.1) == (second, pytest.approx(0.0, abs=1e-12))


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


def claim(left: float, relation: str, right: float) -> Judged:
    return Claim("c", Measured(left), relation, Measured(right)).judge()


def test_ratios_are_above_one_where_there_is_room() -> None:
    assert claim(2.0, "<=", 5.0).ratio == claim(5.0, ">=", 2.0).ratio == 2.5
    assert claim(5.0, "<", 2.0).ratio == 0.4
    assert claim(-1.0, "<=", 5.0).ratio is None and claim(-5.0, "<=", -1.0).ratio is None
    assert claim(5.0, ">=", -1.0).ratio is None
    assert claim(0.0, ">=", 2.0).ratio is None and claim(2.0, "<=", 0.0).ratio is None


def test_how_much_stronger_a_claim_could_be() -> None:
    assert claim(3.0, "<=", 4.0).caught == pytest.approx(4 / 3, rel=1e-12)
    assert claim(1.0, "<=", 1.0).caught == 1.0
    # One that is violated could not be stronger.
    assert claim(4.0, "<=", 3.0).caught is None


def test_identities_count_both_bars() -> None:
    for left, right in ((3e-6, 0.0), (0.0, 3e-6)):
        sides = Measured(1.0, left), Measured(1.0, right)
        assert Claim("c", sides[0], "==", sides[1]).judge().decision is Decision.UNDECIDED


def test_a_contraction_is_resolved_by_its_distance_from_one() -> None:
    k = np.arange(1)
    for factor, resolved in ((0.5, True), (1 - 1e-9, False)):
        left, right = Measured(np.array([0.1]), np.array([1e-6])), Measured(np.array([factor]))
        curve = Curve("c", left, "<=", right, k, k * 1.0, contracts=True)
        assert curve._resolved().tolist() == [resolved]


def test_what_is_small_is_small_against_the_first_bound() -> None:
    """Bars of 1.5e-3 against a bound that begins at 2: less than a thousandth of it."""
    k = np.arange(2)
    left = Measured(np.array([1.0, 1e-9]), np.array([0.0, 1.5e-3]))
    curve = Curve("c", left, "<=", Measured(np.array([2.0, 1e-8])), k, k * 1.0)
    assert curve.judge().decision is Decision.HOLDS
    wide = Measured(np.array([1.0, 1e-9]), np.array([0.0, 2.5e-3]))
    curve = Curve("c", wide, "<=", Measured(np.array([2.0, 1e-8])), k, k * 1.0)
    assert curve.judge().decision is Decision.UNDECIDED


def test_curves_of_one_point_and_curves_without_resolution() -> None:
    one = Curve(
        "c", Measured(np.ones(1)), "<=", Measured(np.ones(1)), np.arange(1), np.zeros(1),
        starts_equal=True,
    ).judge()  # fmt: skip
    assert one.curve is not None and one.curve.first == 0
    k, value = np.arange(3), np.array([1e-3, 2e-3, 3e-3])
    blurred = Curve(
        "c", Measured(value, np.full(3, 0.1)), "<=", Measured(np.full(3, 50.0)), k, k * 1.0
    ).judge()
    assert blurred.decision is Decision.HOLDS and blurred.left.value == 3e-3


@pytest.mark.parametrize("equal", [True, False])
def test_the_points_that_are_compared_are_counted(equal: bool) -> None:
    """Up to the last at which the bound is above the bars, without a first one that is equal."""
    k = np.arange(5)
    right = Measured(np.array([1.0, 0.5, 0.25, 1e-9, 1e-10]))
    first = 1.0 if equal else 0.9
    left = Measured(np.array([first, 0.4, 0.1, 0.0, 0.0]), np.full(5, 1e-6))
    judged = Curve("c", left, "<=", right, k, k * 1.0, decays=True, starts_equal=equal).judge()
    assert judged.curve is not None and judged.curve.horizon == 2
    assert judged.curve.points == (2 if equal else 3)


def test_a_bound_below_the_bar_of_what_it_bounds_is_lost() -> None:
    k = np.arange(3)
    left = Measured(np.array([1.0, 0.1, 1e-4]), np.array([0.0, 1e-9, 1e-6]))
    right = Measured(np.array([1.0, 0.5, 1e-7]))
    curve = Curve("c", left, "<=", right, k, k * 1.0, decays=True, starts_equal=True)
    assert curve._above_error().tolist() == [True, True, False]
    # So is one below its own bar, where little is known of what it bounds.
    unsure = Measured(np.array([1.0, 0.5, 1e-3]), np.array([0.0, 0.0, 1e-2]))
    assert replace(curve, right=unsure)._above_error().tolist() == [True, True, False]


def test_the_radius_of_a_rate_reaches_to_both_sides() -> None:
    """The quotient at k = 1 is the largest, but that at k = 2 is known far better."""
    k = np.arange(3)
    left = Measured(np.array([1.0, 0.5, 0.25]), np.array([0.0, 1e-3, 0.0]))
    right = Measured(np.array([1.0, 0.9, 0.85]))
    curve = Curve("c", left, "<=", right, k, k * 1.0, decays=True, starts_equal=True)
    value, error = curve._rate_tightness(*2 * (np.array([False, True, True]),))
    first, second = -math.log(0.9) / math.log(2), -math.log(0.85) / math.log(4)
    noise = 1e-3 / 0.5 * first / math.log(2)
    assert value == pytest.approx(first, rel=1e-12)
    lower = max(first - noise, second)
    assert error == pytest.approx(max(noise, first - lower), rel=1e-9, abs=1e-15)
