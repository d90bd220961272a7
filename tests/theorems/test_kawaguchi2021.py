"""Kawaguchi's statements: judged right, and a broken version of each bound is caught."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import UsageError, judge
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.smoothed_hinge import SmoothedHinge
from deqcheck.losses.square import Square
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.kawaguchi2021.cor1 import Corollary1
from deqcheck.theorems.kawaguchi2021.gd import GradientDescentRate, curvature
from deqcheck.theorems.kawaguchi2021.thm1 import Theorem1

Builder = Callable[..., Problem]
SCALAR = {"Phi": [[1.0]], "Y": [[1.0]], "A": [[0.0]], "B": [[0.0]]}


class TooFast(Corollary1):
    """A rate one and a half times too large."""

    def kappa(self, p: Problem) -> Measured:
        return 1.5 * super().kappa(p)


def test_an_equality_is_confirmed_and_a_faster_rate_is_refuted(delm: Builder) -> None:
    p = delm(1, 1, 1, 0.5, train=GradientFlow(horizon=1.0), **SCALAR)
    honest = judge(Corollary1, p)
    assert honest.outcome is Outcome.CONFIRMED
    tight = [c.curve.rate_tightness for c in (*honest.conclusions, *honest.remarks) if c.curve]
    assert tight[1:] == pytest.approx([1.0, 1.0], rel=1e-6)
    broken = judge(TooFast, p)
    assert broken.outcome is Outcome.REFUTED
    lambda_T = broken.conclusions[2]
    assert lambda_T.curve is not None and lambda_T.curve.first_violation is not None
    assert lambda_T.curve.first_violation.t == lambda_T.curve.t[1]


def test_one_percent_too_fast_is_caught_as_well(delm: Builder) -> None:
    class OnePercent(Theorem1):
        def kappa(self, p: Problem) -> Measured:
            return 1.01 * super().kappa(p)

    p = delm(1, 1, 1, 0.5, train=GradientFlow(horizon=1.0), **SCALAR)
    assert judge(OnePercent, p).outcome is Outcome.REFUTED


@pytest.mark.parametrize("statement", [Theorem1, Corollary1])
def test_flow_statements_do_not_apply_to_gradient_descent(delm: Builder, statement: type) -> None:
    p = delm(train=GradientDescent(step=1e-3, steps=20))
    verdict = judge(statement, p)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.hypotheses[0].decision is Decision.VIOLATED


def test_a_pl_constant_of_the_case_is_proven_or_excluded_by_a_point(delm: Builder) -> None:
    """2 sigma_pos(Phi)^2 is the best one for the square loss: along the flattest direction nothing
    larger serves."""
    p = delm(train=GradientFlow(horizon=0.1))
    best = p.model.outer.pl.kappa.value
    for factor, outcome in ((0.5, Outcome.CONFIRMED), (1.001, Outcome.NOT_APPLICABLE)):
        fixed = {"kappa": factor * best}
        assert judge(Theorem1, p, constants=fixed).outcome is outcome


# L0 = 2 max(0, 1 - w)^2: |grad|^2/(2 L0) = 4 for every w < 1, and 2/|w|^2 = 2 is what is proven.
TWICE = {"Phi": [[1.0, 1.0]], "Y": [[1.0, 1.0]], "A": [[0.0]], "B": [[0.0]]}


@pytest.mark.parametrize(
    ("kappa", "outcome"),
    [(1.9, Outcome.CONFIRMED), (3.0, Outcome.UNDECIDED), (4.1, Outcome.NOT_APPLICABLE)],
)
def test_a_pl_constant_that_may_be_true_is_left_open(
    delm: Builder, kappa: float, outcome: Outcome
) -> None:
    p = delm(1, 2, 1, 0.5, loss=SmoothedHinge(), train=GradientFlow(horizon=0.05), **TWICE)
    verdict = judge(Theorem1, p, constants={"kappa": kappa})
    assert verdict.outcome is outcome
    polyak = next(h for h in verdict.hypotheses if h.name == "PL inequality of the outer loss")
    if outcome is not Outcome.CONFIRMED:
        assert (polyak.right.low, polyak.right.high) == pytest.approx((2, 4), rel=1e-9)


@pytest.mark.parametrize(
    ("kappa", "outcome"),
    [(0.05, Outcome.CONFIRMED), (0.1, Outcome.UNDECIDED), (0.21, Outcome.NOT_APPLICABLE)],
)
def test_a_pl_constant_fails_at_the_edge_of_the_ball(
    delm: Builder, kappa: float, outcome: Outcome
) -> None:
    """One feature, labels 1, 0, 1, R = 4: proven is 0.0530, and |grad|^2/(2 gap) falls to 0.2086 as
    w goes to -4."""
    w = np.linspace(-4, 4, 4001)
    p = 1 / (1 + np.exp(-w))
    gap = -2 * np.log(p) - np.log(1 - p)
    gap, slope = gap - gap.min(), 3 * p - 2
    steep = gap > 1e-3
    assert (slope[steep] ** 2 / (2 * gap[steep])).min() == pytest.approx(0.2086, rel=1e-3)
    three = {"Phi": [[1.0, 1, 1]], "Y": [[1.0, 0, 1]], "A": [[0.0]], "B": [[0.0]]}
    problem = delm(1, 3, 1, 0.5, loss=Logistic(R=4.0), train=GradientFlow(horizon=0.1), **three)
    assert judge(Theorem1, problem, constants={"kappa": kappa}).outcome is outcome


@pytest.mark.parametrize("kappa", [0.0, -1.0])
def test_a_pl_constant_that_is_none_is_refused(delm: Builder, kappa: float) -> None:
    with pytest.raises(UsageError, match="expected a number > 0"):
        judge(Theorem1, delm(), constants={"kappa": kappa})


def test_no_constant_serves_where_none_exists(delm: Builder) -> None:
    p = delm(1, 1, 1, 0.5, loss=SmoothedHinge(k=3), train=GradientFlow(horizon=0.1), **SCALAR)
    assert judge(Theorem1, p, constants={"kappa": 1e-9}).outcome is Outcome.NOT_APPLICABLE


def test_the_theorem_is_judged_until_the_ball_is_left(delm: Builder) -> None:
    """And Corollary 1, which has none, to the end."""
    p = delm(2, 3, 1, 0.5, loss=Square(R=0.2), train=GradientFlow(horizon=1.0),
             Phi=[[1.0, 0, 1], [0, 1, 1]], Y=[[1.0, -1, 0.5]],
             A=np.zeros((2, 2)), B=np.zeros((1, 2)))  # fmt: skip
    for edition, radius in (("printed", 0.1), ("corrected", 0.2)):
        verdict = judge(Theorem1, p, edition=edition)
        assert verdict.outcome is Outcome.CONFIRMED
        ball = verdict.hypotheses[-1]
        assert ball.curve is not None and ball.curve.value.high[-1] < radius
        ends = {c.curve.last_t for c in verdict.conclusions if c.curve}
        assert ends == {ball.curve.last_t} and ball.curve.last_t < 0.1
        whole = judge(Corollary1, p, edition=edition)
        assert whole.outcome is Outcome.CONFIRMED
        assert {c.curve.last_t for c in whole.conclusions if c.curve} == {1.0}


def test_rank_deficient_features_need_the_corrected_edition(delm: Builder) -> None:
    Phi = [[1, 0, 2, -1, 1], [0, 1, 1, 1, -2], [1, 1, 3, 0, -1]]
    p = delm(3, 5, 1, 0.5, Phi=Phi, train=GradientFlow(horizon=1.0))
    printed = judge(Corollary1, p, edition="printed")
    assert printed.outcome is Outcome.NOT_APPLICABLE
    assert (printed.hypotheses[1].left.value, printed.hypotheses[1].right.value) == (2, 3)
    assert judge(Corollary1, p).outcome is Outcome.CONFIRMED


def test_descent_counterexample_names_its_first_step(delm: Builder) -> None:
    train = GradientDescent(step=0.1875, steps=30)
    p = delm(1, 1, 1, 0.5, train=train, **SCALAR)
    verdict = judge(GradientDescentRate, p, edition="printed")
    assert verdict.outcome is Outcome.REFUTED
    curve = verdict.conclusions[2]
    assert (curve.left.value, curve.right.value) == pytest.approx((0.25, np.exp(-3)))
    assert curve.curve is not None and curve.curve.first_violation is not None
    assert curve.curve.first_violation.k == 1


@pytest.mark.parametrize(
    ("factor", "outcome"), [(1.2784, Outcome.CONFIRMED), (1.2785, Outcome.REFUTED)]
)
def test_descent_threshold_from_both_sides(delm: Builder, factor: float, outcome: Outcome) -> None:
    # The bound fails for 1.27846 < step * 8 < 2, the root of x - 1 = exp(-x).
    p = delm(1, 1, 1, 0.5, train=GradientDescent(step=factor / 8, steps=40), **SCALAR)
    assert judge(GradientDescentRate, p, edition="printed").outcome is outcome


def test_a_step_beyond_the_curvature_is_not_covered(delm: Builder) -> None:
    p = delm(1, 1, 1, 0.5, train=GradientDescent(step=0.26, steps=20), **SCALAR)
    assert judge(GradientDescentRate, p).outcome is Outcome.NOT_APPLICABLE


def test_a_broken_contraction_factor_is_caught(delm: Builder) -> None:
    class Broken(GradientDescentRate):
        def kappa(self, p: Problem) -> Measured:
            return 1.5 * super().kappa(p)

    p = delm(1, 1, 1, 0.5, train=GradientDescent(step=0.1, steps=30), **SCALAR)
    assert judge(Broken, p).outcome is Outcome.REFUTED


def test_the_curvature_bound_covers_the_hessian_along_every_step(delm: Builder) -> None:
    """beta against second differences of the loss along the segments, in the step's direction and
    in random ones."""
    r = np.random.default_rng(0)
    for seed in range(4):
        train = GradientDescent(step=2e-3, steps=12)
        p = delm(3, 6, 2, 0.7, seed=seed, scale=1.0, train=train)
        run = train.run(p, GradientDescentRate.tracks)
        beta = curvature(p, run)
        theta = p.theta0
        for k in range(12):
            g = p.model.objective(theta).gradient
            for _ in range(6):
                s = r.uniform(0, 1) * train.step
                here = {n: theta[n] - s * g[n] for n in theta}
                v = {n: r.normal(size=theta[n].shape) for n in theta}
                size = np.sqrt(sum((x**2).sum() for x in v.values()))
                h = 1e-4 / size
                up, mid, down = (
                    p.model.objective({n: here[n] + sign * h * v[n] for n in v}).gap
                    for sign in (1, 0, -1)
                )
                assert abs(up - 2 * mid + down) / 1e-8 <= beta.high[k]
            theta = {n: theta[n] - train.step * g[n] for n in theta}


def test_a_loss_that_leaves_its_infimum_is_no_loss_at_rest() -> None:
    for gap, decision in ((1e-3, Decision.VIOLATED), (0.0, Decision.HOLDS)):
        assert Theorem1.at_rest(gap=Measured(gap), gap_0=Measured(0.0)).judge().decision is decision
