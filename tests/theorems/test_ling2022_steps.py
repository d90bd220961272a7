"""The steps of the proofs of Ling et al.: exact small numbers, edges, and broken versions."""

from __future__ import annotations

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import UsageError, judge
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.ling2022 import sec2_2
from deqcheck.theorems.ling2022.definition import expectation
from deqcheck.theorems.ling2022.eq11 import Expectation
from deqcheck.theorems.ling2022.lem3 import Lemma3
from deqcheck.theorems.ling2022.lem4_law import Lemma4Law, corrected_M, printed_M
from deqcheck.theorems.ling2022.pl import AlongRuns
from deqcheck.theorems.ling2022.sec2_2 import WellPosed, smallest_minor
from deqcheck.theorems.ling2022.sec3_2 import NormU
from deqcheck.theorems.ling2022.sec3_2_eq8 import WidthOf8
from deqcheck.theorems.ling2022.sec4 import SimpleCase
from deqcheck.theorems.ling2022.sec4_4 import Distance, Weyl
from deqcheck.theorems.ling2022.thm3_steps import Theorem3Steps
from deqcheck.theorems.ling2022.thm5_steps import FixedPair, Mean, Net, gram_matrices, mean
from tests.theorems.breaking import broken
from tests.theorems.ling2022_problems import relu_deq


@pytest.fixture(scope="module")
def population() -> Problem:
    return relu_deq(6, 3, 5, 0.8, sphere=True, seed=3, sigma_w2=0.08)


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (WellPosed, "contracts", "after <", "20*after <"),
        (WellPosed, "nearer", "after <", "20*after <"),
        (WellPosed, "minors", "> 0", "> 1"),
        (WellPosed, "invertible", "> 0", "> 1"),
        (Expectation, "formula", "Q/2", "Q/2.0001"),
        (Lemma3, "diagonal", "sigma_w2^l)", "sigma_w2^(l-1))"),
        (Theorem3Steps, "step", "2*sigma_w2^l", "sigma_w2^l/10"),
        (Theorem3Steps, "rest", "sigma_w2^l", "sigma_w2^(3*l)"),
        (Theorem3Steps, "apart", "< 1", "< 0.1"),
        (Mean, "diagonal", "== sigma_w2", "== 1.0001*sigma_w2"),
        (Mean, "between", "sigma_w2*largest", "sigma_w2*largest/3"),
        (Weyl, "weyl", "lambda_star - distance", "lambda_star + distance"),
        (WidthOf8, "cap", "<= (1", "<= 0.001*(1"),
    ],
)
def test_a_broken_step_is_refuted(
    population: Problem, statement: type, name: str, old: str, new: str
) -> None:
    assert judge(statement, population).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), population).outcome is Outcome.REFUTED


def test_a_broken_inequality_along_a_run_is_refuted() -> None:
    p = relu_deq(6, 2, 3, train=GradientDescent(step=0.01, steps=5))
    assert judge(AlongRuns, p).outcome is Outcome.CONFIRMED
    for name, old, new in (("by_h", "2*", "60*"), ("by_gram", "2*", "1000*")):
        assert judge(broken(AlongRuns, name, old, new), p).outcome is Outcome.REFUTED


def test_the_least_minor_of_a_small_matrix() -> None:
    """I - W = [[1/2, 1], [-1/4, 3/4]]: minors 1/2, 3/4 and 5/8; with -1 for 1, 1/8."""
    W = np.array([[0.5, -1.0], [0.25, 0.25]])
    assert smallest_minor(W).value == 0.5
    assert smallest_minor(W * np.array([[1, -1], [1, 1]])).value == pytest.approx(0.125, abs=1e-15)
    steep = smallest_minor(np.eye(3) * (1 - 2.0**-30))
    assert 0 < steep.low <= 2.0**-90 <= steep.high


@pytest.mark.parametrize("W", [[[0.5]], [[0.999999]], [[-0.9]], [[0.0]]])
@pytest.mark.parametrize("U", [1.0, -1.0, 1e-9, 1e9])
def test_one_unit_is_well_posed(W: list[list[float]], U: float) -> None:
    """Where the bounds of Banach are equalities the map contracts all the same."""
    p = relu_deq(1, 2, 1, W=W, U=[[U]], X=[[1.0, -2.0]])
    assert judge(WellPosed, p).outcome is Outcome.CONFIRMED


def test_without_a_contraction_nothing_is_claimed() -> None:
    for W in ([[1.0]], [[-2.0]]):
        p = relu_deq(1, 1, 1, W=W, U=[[1]], X=[[1]])
        assert judge(WellPosed, p).outcome is Outcome.NOT_APPLICABLE


def test_too_many_singular_values_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sec2_2, "LARGEST", 6**3 * 3 - 1)
    verdict = judge(WellPosed, relu_deq(6, 3, 2, 0.5))
    assert verdict.outcome is Outcome.NOT_CHECKED
    assert "3 matrices of order 6" in verdict.unchecked[0]
    monkeypatch.setattr(sec2_2, "LARGEST", 6**3 * 3)
    assert judge(WellPosed, relu_deq(6, 3, 2, 0.5)).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("x", [-1.0, -0.9999, 0.3, 1.0])
def test_the_expectation_in_20_digits(x: float) -> None:
    """By an integral over u of u times the mean of relu(v) given u."""
    with mp.workdps(20):
        spread = mp.sqrt((1 - mp.mpf(x)) * (1 + mp.mpf(x)))

        def inner(u: mp.mpf) -> mp.mpf:
            if spread == 0:
                return u * max(x * u, 0)
            t = x * u / spread
            return u * (x * u * mp.ncdf(t) + spread * mp.npdf(t))

        ends = [0, mp.mpf("0.1"), 1, 4, 10]
        wanted = mp.quad(lambda u: inner(u) * mp.npdf(u), ends)
        found = float(expectation(np.arccos(np.array(x))))
        assert abs(found - wanted) < 1e-15


def test_nearly_equal_samples_are_left_out_of_the_mean() -> None:
    X = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9]])
    X *= np.sqrt(2) / np.linalg.norm(X, axis=0)
    p = relu_deq(4, 2, 2, X=X, sigma_w2=0.08)
    verdict = judge(Mean, p)
    assert verdict.outcome is Outcome.CONFIRMED
    assert [c.name for c in verdict.conclusions] == ["on the diagonal"]


def test_the_mean_depends_on_the_diagonal() -> None:
    """The erratum of (iii): with the right entry off the diagonal alone the mean is off."""
    s2, e = 0.08, 0.5
    right = np.array([[1.0, 0.3], [0.3, 1.0]])
    off = mean(s2 * (right + e * np.eye(2)) + np.eye(2)) - mean(s2 * right + np.eye(2))
    th = np.arccos(s2 * 0.3 / (1 + s2))
    assert off[0, 1] == pytest.approx(s2 * e * np.sin(th) / np.pi, rel=2e-2)


def drawn(m: int = 12, n: int = 2, s2: float = 0.08) -> Problem:
    return relu_deq(m, n, 3, sphere=True, sigma_w2=s2, by_law=True, seed=5)


def test_the_two_matrices_of_lemma_4_differ_in_one_column() -> None:
    p = drawn()
    for layers in (1, 2):
        right, printed = corrected_M(p, layers), printed_M(p, layers)
        assert printed is not None and right.shape == printed.shape == (12, 2 * layers + 3)
        # Directions are the same up to their sign.
        apart = np.abs(np.abs(right) - np.abs(printed)).max(axis=0) > 1e-9
        assert list(np.flatnonzero(apart)) == [2 * layers - 1]


def test_draws_without_features_are_counted_as_anything() -> None:
    """One unit in eight is dead for both samples, and the corrected law does not mind."""
    p = drawn(m=2)
    assert judge(Lemma4Law, p, constants={"seeds": 60}).outcome is Outcome.CONSISTENT
    printed = judge(Lemma4Law, p, edition="printed", constants={"seeds": 60}).conclusions[0]
    assert printed.left.error > 0.1
    assert "of 60 draws" in printed.note and "60 of" not in printed.note


def test_the_norm_of_u_needs_both_terms() -> None:
    class RootAlone(NormU):
        def bound(self, p: Problem):
            return super().bound(p) / 4

    p = relu_deq(2, 1, 60, sphere=True, sigma_w2=0.02, by_law=True)
    assert judge(NormU, p, constants={"seeds": 20}).outcome is Outcome.CONSISTENT
    assert judge(RootAlone, p, constants={"seeds": 20}).outcome is Outcome.INCONSISTENT


def test_broken_probabilities_are_inconsistent() -> None:
    p = drawn(m=3, n=1)
    for statement, event in ((FixedPair, {"eps": 0.02}), (Net, {"eps": 0.02})):

        class Sure(statement):
            def probability(self, p: Problem):
                return super().probability(p) * 0 + 0.9

        fixed = {"seeds": 40, **event}
        assert judge(statement, p, constants=fixed).outcome is Outcome.CONSISTENT
        assert judge(Sure, p, constants=fixed).outcome is Outcome.INCONSISTENT


def test_the_default_width_of_the_simple_case_is_the_proven_one() -> None:
    for width, outcome in ((199, Outcome.NOT_APPLICABLE), (200, Outcome.CONSISTENT)):
        p = relu_deq(width, 1, 2, 0.0, sphere=True, sigma_w2=0.0, by_law=True)
        fixed = {"t": 0.5, "seeds": 8}
        assert judge(SimpleCase, p, constants=fixed).outcome is outcome
    # The samples of norm sqrt(d) have K^(1) = 1, and 288 log 2 = 199.6.


@pytest.mark.parametrize(
    ("statement", "constants", "said"),
    [
        (FixedPair, {"l": 0}, "l = 0"),
        (FixedPair, {"i": 1.5}, "i = 1.5"),
        (FixedPair, {"eps": 0}, "eps = 0 is not positive"),
        (Net, {"C": -1}, "C = -1 is negative"),
        (Lemma4Law, {"l": 99}, "l = 99"),
        (Distance, {"B": 0}, "B = 0 is not positive"),
    ],
)
def test_constants_that_make_no_sense_are_refused(
    statement: type, constants: dict[str, float], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        judge(statement, drawn(), constants=constants)


def test_gram_matrices_begin_with_nothing() -> None:
    p = replace(drawn(), theta0={"W": np.eye(2) / 2, "U": np.ones((2, 3)), "a": np.zeros(2)})
    G = gram_matrices(p, p.theta0, 2)
    C = np.maximum(np.ones((2, 3)) @ p.model.X, 0)
    assert not G[0].any()
    assert G[1] == pytest.approx(C.T @ C)
    assert G[2] == pytest.approx(2.25 * C.T @ C)


def test_one_sample_turns_weyl_into_an_equality() -> None:
    p = relu_deq(4, 1, 3, sphere=True, sigma_w2=0.1)
    assert judge(Weyl, p).conclusions[0].relation == "=="
    wrong = broken(Weyl, "single", "== distance", "== 1.001*distance")
    assert judge(wrong, p).conclusions[0].decision is Decision.VIOLATED
