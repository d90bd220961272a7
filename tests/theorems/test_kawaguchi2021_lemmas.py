"""Kawaguchi's lemmas and the other losses: judged right, and broken versions are caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.judging import judge
from deqcheck.linalg import exact
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.smoothed_hinge import SmoothedHinge
from deqcheck.models.delm import trust
from deqcheck.models.delm.state import DelmState
from deqcheck.models.problem import Objective, Params, Problem
from deqcheck.records import tower
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.kawaguchi2021 import prop1, thm2
from deqcheck.theorems.kawaguchi2021.appendix_b import AppendixB, Split
from deqcheck.theorems.kawaguchi2021.chains import settled, stationary
from deqcheck.theorems.kawaguchi2021.cor2 import Corollary2
from deqcheck.theorems.kawaguchi2021.gradient import Gradient
from deqcheck.theorems.kawaguchi2021.hessian import _difference
from deqcheck.theorems.kawaguchi2021.metric import Metric, steepest
from deqcheck.theorems.kawaguchi2021.norms import Norms
from deqcheck.theorems.kawaguchi2021.pl import WholeLossPL
from deqcheck.theorems.kawaguchi2021.prop1 import Proposition1
from deqcheck.theorems.kawaguchi2021.thm1 import Theorem1
from deqcheck.theorems.kawaguchi2021.times import Times
from tests.conftest import delm_problem
from tests.theorems.breaking import broken

Builder = Callable[..., Problem]
SCALAR = {"Phi": [[1.0]], "Y": [[1.0]], "A": [[0.0]], "B": [[0.0]]}


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (Proposition1, "rate", "gamma^(l+1)", "gamma^(2*l+2)"),
        (Proposition1, "equality", "gamma^(l+1)", "gamma^(l+2)"),
        (Norms, "inverse", "1/(1-gamma)", "1/(1-gamma^2)"),
        (Norms, "sums", "1-gamma", "1-gamma^2"),
        (Norms, "resolvent", "2*min_S", "min_S"),
        (Norms, "below", "1 + gamma", "1 - gamma"),
        (Norms, "effective", "(1-gamma)*norm1_Z", "4*norm1_Z"),
        (Gradient, "energy", "gradient^2", "gradient^2*1.001"),
        (Metric, "printed_floor", "1/(m*(1+gamma)^2)", "1/(1-gamma)^2"),
        (WholeLossPL, "here", "kappa*lambda_min_D", "100*kappa*lambda_min_D"),
        (WholeLossPL, "drawn", "kappa*lambda_min_D", "100*kappa*lambda_min_D"),
    ],
)
def test_a_broken_lemma_is_refuted(
    delm: Builder, statement: type, name: str, old: str, new: str
) -> None:
    Phi = np.array([[1.0, 2, 3, -1], [0.5, 1, -1, 2], [1, 0.2, 2, 1]])
    p = delm(3, 4, 2, 0.6, Phi=Phi)
    assert judge(statement, p).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), p).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (Norms, "equal", "1/(1-gamma)", "1/(1-gamma^2)"),
        (Metric, "dense", "== lambda_min_dense", "== lambda_min_dense*1.001"),
        (Metric, "sharp_floor", "m*(1+gamma^2)", "(1-gamma)^2"),
        (Metric, "star_floor", ">= star", ">= 10*star"),
    ],
)
def test_a_broken_remark_fails_and_refutes_nothing(
    delm: Builder, statement: type, name: str, old: str, new: str
) -> None:
    p = delm(3, 4, 2, 0.6)
    right, wrong = judge(statement, p), judge(broken(statement, name, old, new), p)
    assert right.outcome is wrong.outcome is Outcome.CONFIRMED
    assert all(one.decision is Decision.HOLDS for one in right.remarks)
    assert [one.decision for one in wrong.remarks].count(Decision.VIOLATED) == 1


def test_a_wrong_gradient_of_a_wide_model_is_refuted(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = delm(21, 30, 1, 0.5)
    assert judge(Gradient, p).outcome is Outcome.CONFIRMED
    right = p.model.objective

    def wrong(theta: Params) -> Objective:
        found = right(theta)
        return found._replace(gradient={n: 1.0001 * g for n, g in found.gradient.items()})

    monkeypatch.setattr(p.model, "objective", wrong)
    p = replace(p, seed=1)
    judged = judge(Gradient, p).conclusions
    failing = {one.name for one in judged if one.decision is Decision.VIOLATED}
    assert failing == {"column by column", "along a direction", "squared norm of the gradient"}


@pytest.mark.parametrize("m", [3, 21])
def test_weights_too_large_for_differences_are_not_checked(delm: Builder, m: int) -> None:
    """A step that such entries can see is longer than what softmax varies on."""
    for size, outcome in ((1e3, Outcome.CONFIRMED), (1e15, Outcome.NOT_CHECKED)):
        p = delm(m, 3, 1, 0.9, A=np.full((m, m), size))
        verdict = judge(Gradient, p)
        assert verdict.outcome is outcome
        assert bool(verdict.unchecked) is (outcome is Outcome.NOT_CHECKED)


@pytest.mark.parametrize("size", [1.0, 1e7])
def test_outputs_that_move_too_far_for_differences_are_not_checked(
    delm: Builder, size: float
) -> None:
    """log(1 + e^q) over a step of q from -60 to 60 has the slope 1/2, not that at q = 0.5."""
    p = delm(1, 2, 1, 0.5, loss=Logistic(tau=0.0), Phi=[[size, -0.3 * size]], Y=[[1.0, 0]],
             A=[[0.0]], B=[[0.25 / size]])  # fmt: skip
    verdict = judge(Gradient, p)
    differences = [c.note for c in verdict.conclusions if "differences" in c.name]
    if size == 1:
        assert (verdict.outcome, differences) == (Outcome.CONFIRMED, ["A", "B"])
    else:
        # With so small a Z, A moves no output.
        assert (verdict.outcome, differences) == (Outcome.NOT_CHECKED, ["A"])
        assert len(verdict.unchecked) == 1 and "in B is" in verdict.unchecked[0]


def test_a_wrong_gradient_is_refuted(delm: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    p = delm(3, 6, 1)
    right = p.model.explicit_gradient
    monkeypatch.setattr(
        p.model, "explicit_gradient", lambda t: {n: g * 1.0001 for n, g in right(t).items()}
    )
    assert judge(Gradient, p).outcome is Outcome.REFUTED


def test_a_wrong_metric_is_refuted(delm: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    p = delm(3, 6, 1)
    from deqcheck.theorems.kawaguchi2021 import metric

    right = metric.times_D
    monkeypatch.setattr(metric, "times_D", lambda s, Q: right(s, Q) * 1.001)
    verdict = judge(Metric, p)
    assert verdict.conclusions[0].decision is Decision.VIOLATED


@pytest.mark.parametrize("scale", [0.99, 1.01])
def test_another_step_is_not_the_trust_region_step(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, scale: float
) -> None:
    p = delm(3, 4, 1, train=GradientFlow(horizon=0.01))
    p = replace(p, record_points=4)
    assert judge(thm2.Theorem2, p).outcome is Outcome.CONFIRMED
    right = trust.Curved.of

    def wrong(state: DelmState) -> trust.Curved:
        found = right(state)
        return replace(found, velocity=scale * found.velocity)

    monkeypatch.setattr(trust.Curved, "of", wrong)
    judged = judge(thm2.Theorem2, replace(p, seed=1)).conclusions
    assert {c.name for c in judged if c.decision is Decision.VIOLATED} == {
        "stationary with multiplier 1/(2 delta)",
        "velocity of the training outputs",
        "velocity of the output at any x",
        "stationary along the flow",
        "velocity along the flow",
    }


def test_large_equal_weights_cancel_and_refute_nothing(delm: Builder) -> None:
    """Z is a multiple of 1^T, so that Z J_k = 0 and S_t = I; in floating point it is not."""
    p = delm(3, 3, 1, 0.3, B=np.full((1, 3), 1.4e34))
    assert p.start.curved.M.max() > 1e20
    for statement in (thm2.Theorem2, AppendixB):
        assert judge(statement, p).outcome not in (Outcome.REFUTED, Outcome.CONFIRMED)
    assert delm(3, 3, 1, 0.3).start.curved.cancelled < 1.5


def test_delta_bar_is_exact(delm: Builder) -> None:
    state = delm(4, 9, 1).start
    for share, sign in ((0.999, 1), (1.001, -1)):
        smallest = np.linalg.eigvalsh(thm2.TrustRegion.at(state, share).G)[0]
        assert np.sign(smallest) == sign


def test_the_trust_region_needs_second_derivatives(delm: Builder) -> None:
    # y q = 1 exactly: the squared hinge has no second derivative there.
    p = delm(1, 1, 1, 0.5, loss=SmoothedHinge(), Phi=[[1.0]], Y=[[1.0]], A=[[0.0]], B=[[0.5]])
    assert judge(thm2.Theorem2, p).outcome is not Outcome.CONFIRMED


def test_appendix_b_numbers() -> None:
    S = np.array([[0.9, 0.9], [0.1, 0.1]])
    assert stationary(S) == pytest.approx([0.9, 0.1])
    sizes = [
        np.linalg.norm(np.linalg.solve((np.eye(2) - g * S).T, [1.0, -1.0])) for g in (0.9, 0.99)
    ]
    assert sizes == pytest.approx([10.3, 112], rel=5e-3)


def test_a_chain_that_hardly_moves_keeps_its_digits() -> None:
    """S = [[1 - a, b], [a, 1 - b]] with a = 1e-18: pi = (b, a)/(a + b), and x_0 - x_1 for
    (I - S^T) x = q, pi . q = 0, is (q_0 - q_1)/(a + b). The diagonal has no digit of a left."""
    a, b = 1e-18, 3e-18
    S = np.array([[1 - a, b], [a, 1 - b]])
    assert stationary(S) == pytest.approx([0.75, 0.25], rel=1e-14)
    x = settled(S, np.array([1.0, -3.0]), 0)
    assert x[0] - x[1] == pytest.approx(4 / (a + b), rel=1e-14)


@pytest.mark.parametrize("size", [10.0, 40.0, 200.0])
def test_weights_near_the_identity_change_nothing(delm: Builder, size: float) -> None:
    p = delm(3, 6, 1, A=size * np.eye(3))
    for edition in ("printed", "corrected"):
        assert judge(AppendixB, p, edition=edition).outcome is Outcome.CONFIRMED


def test_weights_that_underflow_are_not_checked(delm: Builder) -> None:
    p = delm(3, 6, 1, A=1000 * np.eye(3))
    for edition in ("printed", "corrected"):
        verdict = judge(AppendixB, p, edition=edition)
        assert verdict.outcome is Outcome.NOT_CHECKED
        assert "softmax(A) has an entry of 0" in verdict.unchecked[0]


def test_nearly_doubly_stochastic_weights_are_left_to_exact_numbers(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the rows sum to 1 exactly is beyond rounding, unless the entries tell."""
    A = np.zeros((3, 3))
    A[0, 1] = 1e-17
    p = delm(3, 6, 1, A=A)
    if tower.flint() is not None:
        assert judge(AppendixB, p, edition="printed").outcome is Outcome.REFUTED
    monkeypatch.setattr(tower, "flint", lambda: None)
    assert judge(AppendixB, p, edition="printed").outcome is Outcome.UNDECIDED


def test_doubly_stochastic_weights_save_the_printed_decomposition(delm: Builder) -> None:
    p = delm(3, 6, 1, A=np.zeros((3, 3)))
    assert judge(AppendixB, p, edition="printed").outcome is Outcome.CONFIRMED


def test_times_are_kept_and_a_tenth_of_them_is_not(delm: Builder) -> None:
    p = delm(1, 1, 1, 0.5, train=GradientFlow(horizon=1.0), **SCALAR)
    assert judge(Times, p).outcome is Outcome.CONFIRMED
    hasty = broken(Times, "reached", "log(1/eps)", "log(1/eps)/10")
    assert judge(hasty, p).outcome is Outcome.REFUTED


LOGISTIC = {"Phi": [[1.0, 1, 0, 0], [0, 0, 1, 1]], "Y": [[1.0, 0, 1, 0]]}


def test_corollary_2_and_a_faster_rate(delm: Builder) -> None:
    p = delm(2, 4, 1, 0.5, loss=Logistic(R=1.0), train=GradientFlow(horizon=4.0),
             A=np.zeros((2, 2)), B=[[0.05, -0.05]], **LOGISTIC)  # fmt: skip
    for edition in ("printed", "corrected"):
        assert judge(Corollary2, p, edition=edition).outcome is Outcome.CONFIRMED
    fast = broken(Corollary2, "dependent", "-2*kappa", "-3*kappa")
    assert judge(fast, p).outcome is Outcome.REFUTED


def test_the_corollary_is_judged_until_the_ball_is_left(delm: Builder) -> None:
    p = delm(2, 3, 1, 0.5, loss=Logistic(R=1.0), train=GradientFlow(horizon=1.0),
             Phi=[[1.0, 2, -1], [0, 1, -1]], Y=[[1.0, 1, 0]],
             A=np.zeros((2, 2)), B=np.zeros((1, 2)))  # fmt: skip
    verdict = judge(Corollary2, p, edition="printed")
    assert verdict.outcome is Outcome.CONFIRMED
    left = verdict.hypotheses[-1]
    assert left.curve is not None
    assert left.curve.last_t == pytest.approx(0.282, abs=0.01)


def test_a_start_outside_the_ball_is_a_failed_hypothesis(delm: Builder) -> None:
    p = delm(2, 4, 1, 0.5, loss=Logistic(R=1.0), train=GradientFlow(horizon=1.0),
             A=np.zeros((2, 2)), B=[[2.0, -2.0]], **LOGISTIC)  # fmt: skip
    for edition in ("printed", "corrected"):
        assert judge(Corollary2, p, edition=edition).outcome is Outcome.NOT_APPLICABLE


def test_without_curvature_the_corollary_says_that_the_loss_does_not_rise(delm: Builder) -> None:
    p = delm(2, 4, 1, 0.5, loss=Logistic(), train=GradientFlow(horizon=1.0),
             A=np.zeros((2, 2)), B=[[0.3, -0.2]], **LOGISTIC)  # fmt: skip
    for edition in ("printed", "corrected"):
        verdict = judge(Corollary2, p, edition=edition)
        assert verdict.outcome is Outcome.CONFIRMED
        assert any("does not fall" in note for note in verdict.notes)
        assert judge(Times, p, edition=edition).outcome is Outcome.NOT_APPLICABLE


def test_a_drawn_point_without_a_gap_is_not_the_worst(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All margins above 1: zero loss, zero gradient, and nothing to compare."""
    p = delm(1, 1, 1, 0.5, loss=SmoothedHinge(), Phi=[[1.0]], Y=[[1.0]], A=[[0.0]], B=[[0.1]])
    verdict = judge(WholeLossPL, p)
    states = [p.model.at({"A": p.theta0["A"], "B": np.array([[b]])}) for b in (0.1, 3.0)]
    assert states[1].gap.value == 0
    drawn = next(one for one in verdict.conclusions if one.name.startswith("worst of"))
    assert drawn.right.value > 0


def test_saturated_weights_have_a_norm_of_at_most_1_plus_gamma(delm: Builder) -> None:
    """S_11 = 0 in floating point: ||U||_1 = 1 + gamma to the last digit."""
    A = np.array([[0.0, 0.0], [1000.0, 0.0]])
    verdict = judge(Norms, delm(2, 3, 1, 0.5, A=A))
    assert verdict.outcome is Outcome.CONFIRMED


@pytest.mark.parametrize("size", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("m", [1, 2, 37])
def test_a_row_of_equal_weights_meets_the_norm_of_Z(delm: Builder, m: int, size: float) -> None:
    verdict = judge(Norms, delm(m, 3, 1, 0.05, A=np.zeros((m, m)), B=np.full((1, m), size)))
    assert verdict.outcome is Outcome.CONFIRMED


def test_an_unproven_constant_is_undecided_with_the_trajectory_constant(delm: Builder) -> None:
    # One sample with both labels: no hyperplane separates them.
    Phi = np.array([[1.0, 1.0, -0.5], [0.3, 0.3, 1.0]])
    p = delm(2, 3, 1, 0.5, loss=SmoothedHinge(), train=GradientFlow(horizon=0.2), Phi=Phi,
             Y=[[1.0, -1, 1]], A=np.zeros((2, 2)), B=np.zeros((1, 2)))  # fmt: skip
    assert not p.model.outer.separable
    verdict = judge(Theorem1, p)
    assert verdict.outcome is Outcome.UNDECIDED
    bounds = [c for c in verdict.conclusions if c.curve]
    assert all(c.decision is Decision.HOLDS for c in bounds)


def test_the_cubed_hinge_has_no_rate(delm: Builder) -> None:
    p = delm(1, 1, 1, 0.5, loss=SmoothedHinge(k=3), train=GradientFlow(horizon=10.0), **SCALAR)
    verdict = judge(Theorem1, p)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert any("fails for every kappa" in note for note in verdict.notes)


def test_the_gradients_of_the_square_loss_differ_by_the_hessian_exactly(delm: Builder) -> None:
    pytest.importorskip("flint")
    p = delm(3, 4, 2)
    found = _difference(p, p.start)
    assert tower.compared(exact.frobenius(found.exact), tower.rational(0)).sign == 0
    assert 0 < np.abs(found.array).max() <= found.radius < 1e-11


def test_how_fast_the_state_moves_with_nothing_read_out(delm: Builder) -> None:
    """With B = 0 it moves by dB U^-1 alone."""
    state = delm(4, 6, 2, B=np.zeros((2, 4))).start
    smallest = np.linalg.svd(state.U, compute_uv=False)[-1]
    assert steepest(state) == pytest.approx(1 / smallest, rel=1e-12)


def test_of_one_feature_there_is_no_rest() -> None:
    """I - P_1 = 0: exactly, whatever rounding made of it."""
    split = Split(delm_problem(m=1, n=3, my=1).start)
    assert split.limit.value == 0 and split.limit.error == 0


def test_of_iterates_that_are_too_far_the_first_is_shown(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them, in the third and in the fifth iterate, of other samples."""
    p, right = delm(), prop1._distances

    def further(*given: Any) -> np.ndarray:
        found = right(*given)
        found[2, 1], found[4, 0] = 100.0, 200.0
        return found

    monkeypatch.setattr(prop1, "_distances", further)
    Phi = np.array([[1.0, -2.0, 3.0], [-1.0, 1.0, 0.5], [0.5, 1.0, -1.0], [2.0, 1.0, 1.0]])
    s = Proposition1()
    (claim,) = s._iterated(s.rate, p.start, Phi, p.model.gamma)
    assert claim.note == "l = 2" and claim.left.value == 100.0
