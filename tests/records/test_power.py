"""The factor beyond which a stronger claim is caught is just that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, measured

VALUES = st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-6)
RADII = st.sampled_from([0.0, 1e-12, 1e-6, 1e-2])


@given(VALUES, VALUES, RADII, st.sampled_from(["<=", "<", ">=", ">", "=="]))
def test_a_stronger_claim_is_violated_just_beyond_the_factor(left, right, radius, relation):
    claim = Claim("c", Measured(left, radius * abs(left)), relation, Measured(right))
    if relation == "==":
        claim = Claim("c", claim.left, relation, Measured(left * (1 + radius / 2)))
    judged = claim.judge()
    assume(judged.decision is not Decision.VIOLATED)
    if judged.caught is None:
        # No factor can turn the sign of a bound.
        assert relation != "==" and (left <= 0 < right or right < 0 <= left)
        return
    assert judged.caught >= 1
    assert claim.stronger(1.000001 * judged.caught).judge().decision is Decision.VIOLATED
    if judged.caught > 1.00001:
        weaker = claim.stronger(0.999999 * judged.caught).judge()
        assert weaker.decision is not Decision.VIOLATED


def curve(rate: float, bound: float, error: float = 1e-12, **form: bool) -> Curve:
    k = np.arange(21)
    left, right = np.exp(-rate * k), np.exp(-bound * k)
    if form.get("contracts"):
        left, right = np.full(21, 1 - rate), np.full(21, 1 - bound)
    return Curve("c", Measured(left, error), "<=", measured(right), k, k * 1.0, **form)


@pytest.mark.parametrize("form", ["decays", "contracts"])
def test_a_rate_is_caught_where_it_exceeds_the_measured_one(form):
    subject = curve(0.2, 0.05, **{form: True})
    caught = subject.judge().caught
    assert caught == pytest.approx(4, rel=1e-6)
    assert subject.stronger(1.0001 * caught).judge().decision is Decision.VIOLATED
    assert subject.stronger(0.9999 * caught).judge().decision is not Decision.VIOLATED


def test_a_violated_claim_and_an_unknown_one_have_no_such_factor():
    assert Claim("c", Measured(2), "<=", Measured(1)).judge().caught is None
    assert Claim("c", Measured(1, np.inf), "<=", Measured(2)).judge().caught is None
    assert curve(0.1, 0.2, decays=True).judge().caught is None


def test_the_radius_of_a_rate_tightness_covers_what_the_error_bars_allow():
    exact = curve(0.2, 0.1, 0.0, decays=True).judge().curve
    noisy = curve(0.2 * (1 + 1e-5), 0.1, 1e-5, decays=True).judge().curve
    assert abs(exact.rate_tightness - noisy.rate_tightness) <= noisy.rate_error < 1e-3


def test_a_value_that_reaches_zero_has_no_rate_there():
    k = np.arange(4)
    left = Measured(np.array([1.0, 0.5, 0.0, 0.0]), np.array([0.0, 1e-9, 1e-9, 0.0]))
    judged = Curve("c", left, "<=", measured(0.75**k), k, k * 1.0, decays=True).judge()
    assert judged.decision is Decision.HOLDS
    assert judged.curve.rate_tightness == pytest.approx(np.log(0.75) / np.log(0.5))
    assert judged.caught == pytest.approx(np.log(0.5) / np.log(0.75))
