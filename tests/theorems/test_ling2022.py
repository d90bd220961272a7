"""The statements of Ling et al.: judged right, and a broken version of each bound is caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import judge
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, given
from deqcheck.records.tower import flint
from deqcheck.records.tower.balls import Balls
from deqcheck.records.verdict import Outcome, Status
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022 import lem4
from deqcheck.theorems.ling2022.common import unique, worst
from deqcheck.theorems.ling2022.condition import EQ10, Condition
from deqcheck.theorems.ling2022.condition import condition as condition_of
from deqcheck.theorems.ling2022.condition1 import Condition1
from deqcheck.theorems.ling2022.definition import definition
from deqcheck.theorems.ling2022.exact_kernel import ExactKernel
from deqcheck.theorems.ling2022.kernel import population_kernel
from deqcheck.theorems.ling2022.lem2 import Lemma2
from deqcheck.theorems.ling2022.lem3 import Lemma3
from deqcheck.theorems.ling2022.lem4 import Lemma4
from deqcheck.theorems.ling2022.pl import PolyakLojasiewicz
from deqcheck.theorems.ling2022.thm1 import Theorem1, Theorem1Flow, Theorem1Plus
from deqcheck.theorems.ling2022.thm3 import Theorem3
from deqcheck.theorems.ling2022.thm4 import Theorem4
from tests import make_ling2022_arrays
from tests.theorems.breaking import broken
from tests.theorems.ling2022_problems import F1, relu_deq

DESCENT = GradientDescent(step=1.489e-5, steps=60)
SKEWED = {"X": [[2, 1], [1, 2]], "y": [2, 4], "W": np.zeros((2, 2)), "U": np.eye(2)}


def f1(train: Any = DESCENT, **arrays: Any) -> Problem:
    return relu_deq(2, 2, 2, train=train, **{**F1, **arrays})


def paired() -> Problem:
    """Two copies of each unit with opposite output weights: yhat(0) = 0 with |a(0)| = 1."""
    W1, U1 = np.array([[0.1, -0.2], [0.05, 0.15]]), np.array([[1, 0.2], [-0.1, 1]])
    X = np.array([[1, 0.3], [0.2, 1]])
    p = relu_deq(
        4, 2, 2, W=np.tile(W1, (2, 2)) / 2, U=1000 * np.vstack([U1, U1]),
        a=[0.5, 0.5, -0.5, -0.5], X=np.sqrt(2) * X / np.linalg.norm(X, axis=0), y=[1, -0.5],
        train=GradientFlow(horizon=2e-7),
    )  # fmt: skip
    return replace(p, record_points=30)


@pytest.fixture(scope="module")
def population() -> Problem:
    p = relu_deq(8, 3, 5, 0.5, sphere=True, seed=3)
    p.model.sigma_w2 = 0.08
    return p


def test_f1_is_confirmed_with_the_published_tightness() -> None:
    fixed = {"delta": 3 / 16}
    p = f1(replace(DESCENT, steps=200))
    verdict = judge(Theorem1, p, constants=fixed)
    assert verdict.outcome is Outcome.CONFIRMED
    rate = verdict.conclusions[-1].curve
    assert rate is not None
    assert rate.rate_tightness == pytest.approx(0.247, abs=0.002)
    ratios = [h.ratio for h in verdict.hypotheses if h.equation in ("(7)", "(8)", "(9)")]
    assert ratios == pytest.approx([1.0235, 2.342, 1.0233], abs=5e-4)


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (Theorem1, "bounded", "norm_W < 1", "norm_W < 0.0884"),
        (Theorem1, "eigenvalue", "lambda_0/2", "1.01*lambda_0"),
        (Theorem1, "gradient", "lambda_0*loss", "2.1*lambda_0*loss"),
        (Theorem1, "decay", "step*lambda_0/2", "2.2*step*lambda_0"),
        (Theorem1Plus, "eigenvalue", "0.667", "1.01"),
        (Theorem1Plus, "moved_w", "0.625*delta", "0.0005*delta"),
        (Theorem1Plus, "moved_u", "0.625*delta", "0.00001*delta"),
        (Theorem1Plus, "moved_a", "0.625*delta", "0.05*delta"),
        (Theorem1Plus, "decay", "0.4", "1.1"),
    ],
)
def test_a_broken_bound_of_descent_is_refuted(
    statement: type, name: str, old: str, new: str
) -> None:
    p = f1()
    assert judge(statement, p).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), p).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("eigenvalue", "lambda_0/2", "1.001*lambda_0"), ("decay", "lambda_0*t", "4.5*lambda_0*t")],
)
def test_a_broken_bound_of_the_flow_is_refuted(name: str, old: str, new: str) -> None:
    p = paired()
    verdict = judge(Theorem1Flow, p)
    assert verdict.outcome is Outcome.CONFIRMED
    assert all(h.ratio >= 7 for h in verdict.hypotheses if h.equation in ("(7)", "(8)"))
    assert np.exp(condition_of(p.start).log_ratios(verdict.constants["delta"])[2]) < 0.05
    assert judge(broken(Theorem1Flow, name, old, new), p).outcome is Outcome.REFUTED


@pytest.mark.parametrize(("statement", "limit"), [(Theorem1, 1.491e-5), (Theorem1Plus, 1.265e-4)])
def test_steps_from_both_sides_of_the_limit(statement: type, limit: float) -> None:
    fixed = {"delta": 3 / 16}
    for factor, outcome in ((0.999, Outcome.CONFIRMED), (1.001, Outcome.NOT_APPLICABLE)):
        p = f1(GradientDescent(step=factor * limit, steps=10))
        assert judge(statement, p, constants=fixed).outcome is outcome


def test_delta_is_chosen_for_the_condition_and_the_step_together() -> None:
    """With small labels the window is wide: the best delta for the condition allows only tiny
    steps, and another one allows this step."""
    p = f1(GradientDescent(step=1.3e-5, steps=5), y=1e-3 * F1["y"])
    condition = condition_of(p.start)
    assert condition.step(EQ10, condition.best).high < 1.3e-5
    verdict = judge(Theorem1, p)
    assert verdict.outcome is Outcome.CONFIRMED
    low, high = condition.window()
    assert low < verdict.constants["delta"] < high
    limit = Theorem1().admissible_step(p)
    assert limit is not None
    beyond = f1(GradientDescent(step=1.01 * limit.high, steps=5), y=1e-3 * F1["y"])
    assert judge(Theorem1, beyond).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("statement", [Theorem1, Theorem1Plus])
def test_just_below_the_admissible_step_some_delta_is_found(statement: type) -> None:
    for seed in range(3):
        p = relu_deq(12, 2, 3, 0.2, seed=seed, scale=(300.0, 1e-3))
        assert condition_of(p.start).window() is not None
        limit = statement().admissible_step(p)
        for factor, outcome in ((0.99, Outcome.CONFIRMED), (1.01, Outcome.NOT_APPLICABLE)):
            train = GradientDescent(step=factor * limit.value, steps=5)
            assert judge(statement, replace(p, train=train)).outcome is outcome


@pytest.mark.parametrize("delta", [0.1816, 0.1890, 0.0, -0.1, 0.95])
def test_a_delta_outside_the_window_is_not_covered(delta: float) -> None:
    verdict = judge(Theorem1, f1(), constants={"delta": delta})
    assert verdict.outcome is Outcome.NOT_APPLICABLE


def test_output_weights_beyond_proposition_f_are_named_as_the_obstacle() -> None:
    p = f1(a=np.array([0.6, 0.8]))
    verdict = judge(Theorem1, p)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    (named,) = verdict.remarks
    assert named.name.startswith("a(0)")
    assert named.decision is Decision.VIOLATED
    assert named.right.value == pytest.approx((1 - np.sqrt(2) / 16) / (2 * np.sqrt(2)))
    assert "Proposition F" in Theorem1().obstacle(p)
    assert Theorem1().obstacle(f1()) == ""
    # Below the bound there may be other reasons, but not this one.
    small = replace(p, theta0={**p.theta0, "a": 1e-9 * p.theta0["a"]})
    assert Theorem1().obstacle(small) == ""
    assert any("holds for no delta" in note for note in verdict.notes)


@pytest.mark.parametrize(
    "arrays",
    [
        {"W": (1 + 1e-9) * np.eye(2), "U": -np.eye(2)},
        {"W": 2 * np.array([[0.0, 1.0], [-1.0, 0.0]])},
        {"U": np.array([[32.0, 0.0], [0.0, -32.0]]), "X": np.sqrt(2) * np.ones((2, 2))},
    ],
    ids=["just above 1", "norm 2", "lambda_0 = 0"],
)
@pytest.mark.parametrize("statement", [Theorem1, Theorem1Plus])
def test_instances_outside_the_theory_are_not_covered(arrays: dict, statement: type) -> None:
    assert judge(statement, f1(**arrays)).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (Lemma2, "derivative", "formula ==", "1.0001*formula =="),
        (PolyakLojasiewicz, "identity", "gradient^2", "1.0001*gradient^2"),
        (PolyakLojasiewicz, "by_h", "2*lambda_min_H", "40*lambda_min_H"),
        (PolyakLojasiewicz, "ordered", "sigma_min_Z^2", "10000*sigma_min_Z^2"),
        (PolyakLojasiewicz, "by_gram", "2*sigma_min_Z^2", "10000*sigma_min_Z^2"),
        (Lemma3, "by_kernel", "K_formula ==", "1.0001*K_formula =="),
        (Lemma3, "by_cosine", "K_formula ==", "1.0001*K_formula =="),
        (Theorem3, "diagonal", "sigma_w2^l", "sigma_w2^(l+1)"),
        (Theorem3, "below", "sigma_w2^l", "sigma_w2^(2*l)"),
        (Theorem3, "rising", "> 0", "> sigma_w2^(l-1)"),
        (Theorem3, "upper", "sigma_w2^l", "sigma_w2^(2*l)"),
        (Theorem3, "lower", "sigma_w2^l", "sigma_w2^(l-1)"),
        (Theorem3, "definite", "> 0", "> 2"),
        (Lemma4, "reproduced", "G_formula ==", "1.0001*G_formula =="),
        (Lemma4, "product", "product ==", "1.0001*product =="),
        (Lemma4, "columns", "2*l", "3*l"),
    ],
)
def test_a_broken_lemma_is_refuted(
    population: Problem, statement: type, name: str, old: str, new: str
) -> None:
    assert judge(statement, population).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), population).outcome is Outcome.REFUTED


def test_a_broken_printed_bound_is_refuted(population: Problem) -> None:
    assert judge(Theorem3, population, edition="printed").outcome is Outcome.CONFIRMED
    wrong = broken(Theorem3, "loose", "sigma_w2^l", "sigma_w2^(6*l)")
    assert judge(wrong, population, edition="printed").outcome is Outcome.REFUTED


def test_a_remark_decides_nothing(population: Problem) -> None:
    wrong = broken(PolyakLojasiewicz, "schur", "shortest^2", "40*shortest^2")
    verdict = judge(wrong, population)
    assert verdict.outcome is Outcome.CONFIRMED
    assert [r.decision for r in verdict.remarks] == [Decision.VIOLATED]
    assert judge(PolyakLojasiewicz, population).remarks[0].decision is Decision.HOLDS


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("equal_h", "2*lambda_min_H", "2.001*lambda_min_H"),
        ("equal", "== sigma_min_Z^2", "== 1.001*sigma_min_Z^2"),
        ("equal_gram", "2*sigma_min_Z^2", "2.001*sigma_min_Z^2"),
    ],
)
def test_a_broken_equality_is_refuted(name: str, old: str, new: str) -> None:
    p = relu_deq(4, 1, 3, a=np.zeros(4))
    assert judge(PolyakLojasiewicz, p).outcome is Outcome.CONFIRMED
    assert judge(broken(PolyakLojasiewicz, name, old, new), p).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("statement", "printed", "corrected"),
    [
        (Lemma2, Outcome.REFUTED, Outcome.CONFIRMED),
        (PolyakLojasiewicz, Outcome.REFUTED, Outcome.CONFIRMED),
        (Lemma3, Outcome.REFUTED, Outcome.CONFIRMED),
        (Lemma4, Outcome.REFUTED, Outcome.CONFIRMED),
    ],
)
def test_editions(
    population: Problem, statement: type, printed: Outcome, corrected: Outcome
) -> None:
    assert judge(statement, population, edition="printed").outcome is printed
    assert judge(statement, population).outcome is corrected


def test_a_kink_beside_the_start_does_not_refute_the_gradient() -> None:
    """The derivative is taken on the pattern of the start, however near the next one is."""
    for margin in (1e-4, 1e-6, 1e-8, 1e-10, 1e-13):
        p = relu_deq(1, 1, 1, W=[[0]], U=[[margin]], X=[[1]], a=[1], y=[1])
        assert judge(Lemma2, p).outcome is Outcome.CONFIRMED


def test_the_gradient_has_no_limit_of_size() -> None:
    assert judge(Lemma2, relu_deq(64, 40, 5)).outcome is Outcome.CONFIRMED
    p = relu_deq(40, 600, 3)
    verdict = judge(PolyakLojasiewicz, p, edition="printed")
    assert verdict.outcome is Outcome.NOT_CHECKED
    assert "14400000 entries" in verdict.unchecked[0]


def test_the_gradient_asks_only_for_an_invertible_jacobian() -> None:
    """|W| = 2 with I - W monotone."""
    p = relu_deq(2, 3, 4, W=[[0, 2], [-2, 0]])
    assert judge(Lemma2, p).outcome is Outcome.CONFIRMED
    assert judge(PolyakLojasiewicz, p).outcome is Outcome.CONFIRMED


def test_an_unknown_lambda_0_leaves_the_second_term_of_the_step() -> None:
    """Equal samples: lambda_0 is 0 within its bar, and 2/lambda_0 is anything."""
    p = f1(GradientDescent(step=1.0, steps=2), X=np.sqrt(2) * np.ones((2, 2)))
    verdict = judge(Theorem1, p)
    terms = {h.equation: h.decision for h in verdict.hypotheses if "term" in h.equation}
    assert terms["(10), second term"] is Decision.VIOLATED


@pytest.mark.parametrize("statement", [Theorem1, Theorem1Plus])
def test_a_start_at_the_optimum_stays_there(statement: type) -> None:
    p = f1(GradientDescent(step=1e-9, steps=4), y=np.zeros(2))
    assert judge(statement, p).outcome is Outcome.CONFIRMED
    wrong = broken(statement, "rest", "gap <=", "gap + 1e-300 <=")
    assert judge(wrong, p).outcome is Outcome.REFUTED


def test_uniqueness_beyond_contraction_is_noted() -> None:
    train = GradientDescent(step=0.01, steps=3)
    p = relu_deq(1, 1, 1, W=[[-2]], U=[[1]], X=[[1]], a=[1], train=train)
    verdict = judge(Theorem1, p)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert "unique nevertheless: the largest eigenvalue" in verdict.notes[0]


def test_pl_counterexample_has_the_published_numbers() -> None:
    verdict = judge(PolyakLojasiewicz, relu_deq(2, 2, 2, **SKEWED, a=[1, 1]), edition="printed")
    assert verdict.outcome is Outcome.REFUTED
    claim = next(c for c in verdict.conclusions if c.name == "PL inequality with H")
    assert (claim.left.value, claim.right.value) == pytest.approx((10, 74))


def test_lemma3_counterexample_has_the_published_numbers() -> None:
    p = relu_deq(3, 3, 3, X=np.sqrt(3) * np.eye(3), sigma_w2=0.08)
    kernel, statement = population_kernel(p.model), Lemma3("printed")
    by_kernel = statement._by_kernel(kernel, definition(kernel, 6))
    assert by_kernel[1][0, 1] == pytest.approx(0.3572901933983, abs=1e-12)
    assert statement._by_cosine(kernel)[1][0, 1] == pytest.approx(0.3437746770785, abs=1e-12)
    # The printed (13) lags behind but has the right limit; the printed denominator has not.
    assert statement._by_cosine(kernel)[-1][0, 1] == pytest.approx(kernel.K[0, 1], abs=1e-5)
    assert abs(by_kernel[-1][0, 1] - kernel.K[0, 1]) > 5e-4


def test_the_deterministic_bound_is_an_equality_for_one_unit() -> None:
    p = relu_deq(1, 1, 1, W=[[0.5]], U=[[1]], X=[[1]])
    verdict = judge(Theorem4, p)
    assert verdict.outcome is Outcome.CONFIRMED
    assert verdict.conclusions[0].ratio == pytest.approx(1, abs=1e-9)
    wrong = broken(Theorem4, "deterministic", "<= norm_W^l*(2", "<= norm_W^(1.01*l)*(2")
    assert judge(wrong, p).outcome is Outcome.REFUTED


def test_without_memory_one_layer_is_the_equilibrium() -> None:
    p = relu_deq(4, 2, 3, W=np.zeros((4, 4)))
    verdict = judge(Theorem4, p)
    assert verdict.outcome is Outcome.CONFIRMED
    assert verdict.conclusions[0].left.value == 0


def test_units_that_are_never_active_are_zero_in_every_layer() -> None:
    p = relu_deq(2, 2, 1, W=[[0.5, 0.1], [0.2, 0.3]], U=[[-1], [-2]], X=[[1, 2]])
    (claim,) = judge(Theorem4, p).conclusions
    assert (claim.left.value, claim.right.value) == (0, 0)
    assert claim.decision is Decision.HOLDS


def test_the_deterministic_bound_holds_on_many_instances() -> None:
    for seed in range(40):
        p = relu_deq(5, 3, 2, 0.1 + 0.02 * seed, seed=seed)
        assert judge(Theorem4, p).outcome is Outcome.CONFIRMED


def test_proposition_f_is_nearly_tight_and_a_stronger_cap_is_refuted() -> None:
    p = relu_deq(1, 1, 1, W=[[0]], U=[[50]], X=[[1]], a=[1])
    verdict = judge(Condition1, p)
    assert verdict.outcome is Outcome.NOT_MET
    assert 1 <= verdict.remarks[0].ratio < 1.1
    wrong = broken(Condition1, "cap", "4*n*c_u^2", "5*n*c_u^2")
    assert judge(wrong, p).remarks[0].decision is Decision.VIOLATED


@pytest.mark.parametrize("q", [0.3, 0.7, 0.95])
def test_the_cap_is_asked_wherever_the_map_contracts(q: float) -> None:
    verdict = judge(Condition1, relu_deq(4, 2, 3, q))
    assert [c.name for c in verdict.remarks] == [Condition1.cap.name]
    assert {"ratio_7", "ratio_8", "ratio_9"} <= set(verdict.quantities) and verdict.notes


@pytest.mark.parametrize(("c", "count"), [([0, 0], 1), ([0, -1], 2), ([0, 0, 1], 0)])
def test_how_many_equilibria_a_sample_has(c: list[float], count: int) -> None:
    """z = relu(2 z + c): 0 alone for c = 0, 0 and -c for c < 0, none for c > 0."""
    p = relu_deq(1, len(c), 2, W=[[2]], U=[[1, 0]], X=[c, [1.0] * len(c)])
    (claim,) = unique(p)
    assert (claim.left.value, claim.left.error, claim.right.value) == (count, 0, 1)


def test_without_an_equilibrium_condition_1_is_not_met() -> None:
    p = relu_deq(1, 1, 1, W=[[2]], U=[[1]], X=[[1]])
    assert judge(Condition1, p).outcome is Outcome.NOT_MET


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("eq7", "4/delta", "4.2/delta"), ("eq8", "4*(2", "10*(2"), ("eq9", "4*(c_w", "4.2*(c_w")],
)
def test_condition_1_is_met_or_not(name: str, old: str, new: str) -> None:
    assert judge(Condition1, f1()).outcome is Outcome.MET
    assert judge(broken(Condition1, name, old, new), f1()).outcome is Outcome.NOT_MET
    assert judge(Condition1, f1(U=30 * np.eye(2))).outcome is Outcome.NOT_MET
    assert judge(Condition1, f1(W=-1.5 * np.eye(2))).outcome is Outcome.NOT_MET


def test_the_shipped_arrays_are_those_of_the_script() -> None:
    for name, content in make_ling2022_arrays.arrays().items():
        with np.load(make_ling2022_arrays.FOLDER / f"{name}.npz") as shipped:
            assert set(shipped) == set(content)
            for key, array in content.items():
                assert np.allclose(shipped[key], array, rtol=1e-15, atol=0)


ANTIPODES = np.sqrt(2) * np.array([[1, -1], [0, 0]])


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize("statement", [Lemma3, Theorem3])
def test_population_statements_need_their_assumptions(statement: type, edition: str) -> None:
    assert judge(statement, relu_deq(3, 2, 2, sphere=True)).outcome is Outcome.NOT_CHECKED
    twice = np.abs(ANTIPODES)
    parallel, agree = "no two samples are parallel", "no two samples agree"
    needs = {
        (Lemma3, "printed"): (parallel, parallel, "sigma_w^2 below 1/8"),
        (Theorem3, "printed"): (parallel, parallel, "sigma_w^2 below 1/8"),
        (Lemma3, "corrected"): (None, None, None),
        (Theorem3, "corrected"): (agree, None, None),
    }[statement, edition]
    for p, name in (
        (relu_deq(3, 2, 2, sigma_w2=0.05), "the samples have norm sqrt(d)"),
        (relu_deq(3, 2, 2, X=twice, sigma_w2=0.05), needs[0]),
        (relu_deq(3, 2, 2, X=ANTIPODES, sigma_w2=0.05), needs[1]),
        (relu_deq(3, 2, 2, sphere=True, sigma_w2=0.3), needs[2]),
    ):
        verdict = judge(statement, p, edition=edition)
        failing = [h for h in verdict.hypotheses if h.decision is Decision.VIOLATED]
        assert [h.name for h in failing] == ([] if name is None else [name])
        assert verdict.outcome is (Outcome.CONFIRMED if name is None else Outcome.NOT_APPLICABLE)
        if name in (parallel, agree):
            assert "samples 1 and 2" in failing[0].note


def test_norms_within_the_tolerance_do_not_break_an_identity() -> None:
    for s2 in (0.0, 0.05):
        for edition in ("printed", "corrected"):
            p = relu_deq(1, 1, 1, X=[[1 + 9e-13]], sigma_w2=s2)
            assert judge(Lemma3, p, edition=edition).outcome is Outcome.CONFIRMED
            # Within the bar of the tolerance: exact numbers tell.
            p = relu_deq(1, 1, 1, X=[[1.0000000000009934]], sigma_w2=s2)
            exact = Outcome.CONFIRMED if flint() else Outcome.UNDECIDED
            assert judge(Lemma3, p, edition=edition).outcome is exact


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e4, 1e9])
def test_lemma4_knows_the_scales_of_its_blocks(scale: float) -> None:
    p = relu_deq(8, 3, 5, 0.5, seed=3, sigma_w2=0.08)
    for name in ("U", "W"):
        other = replace(p, theta0={**p.theta0, name: scale * p.theta0[name]})
        if name == "U" or scale < 1:
            assert judge(Lemma4, other).outcome is Outcome.CONFIRMED


def test_lemma4_as_printed_has_the_projected_q() -> None:
    """(I - V V^T) z_j in M_3 and h'_3, and not z_j itself: they differ from the second layer on."""
    p = relu_deq(12, 2, 3, 0.5, seed=2, sigma_w2=0.08)
    z = [Z[:, 1] for Z in lem4.layers_of(p, 2)]
    V = np.linalg.qr(np.stack([Z[:, k] for Z in lem4.layers_of(p, 1) for k in (0, 1)], axis=1))[0]
    q = z[1] - V @ (V.T @ z[1])
    parts = lem4.representation(p, 2, 0, 1, printed=True)
    assert parts is not None
    third = np.sqrt(12 / 0.08) * p.theta0["W"] @ q / np.linalg.norm(q)
    assert parts.M[:, 3] == pytest.approx(third, rel=1e-12)
    assert parts.h2[3] == pytest.approx(np.sqrt(0.08 / 12) * np.linalg.norm(q), rel=1e-12)


def test_ratios_and_window_know_what_lambda_0_is_unsure_of() -> None:
    """The numbers at both ends of the bars lie inside."""

    def at(lam: Measured, r0: Measured) -> Condition:
        return Condition(Measured(0.1), Measured(1.0), Measured(0.0), Measured(1.0), r0, lam)

    found = at(Measured(0.5, 0.05), Measured(1e-3, 2e-4))
    ratios, window = found.ratios(found.best), found.measured_window()
    assert window is not None
    for lam in (0.45, 0.5, 0.55):
        for r0 in (8e-4, 1e-3, 1.2e-3):
            sure = at(Measured(lam), Measured(r0))
            for ratio, log in zip(ratios, sure.log_ratios(found.best), strict=True):
                assert ratio.low <= np.exp(log) <= ratio.high
            edges = sure.window()
            assert edges is not None
            for edge, bar in zip(edges, window, strict=True):
                assert bar.low <= edge <= bar.high
    # Not by being wide: the bars end where the numbers do.
    hardest, easiest = at(Measured(0.45), Measured(1.2e-3)), at(Measured(0.55), Measured(8e-4))
    for bar, ends in zip(window, zip(hardest.window(), easiest.window(), strict=True), strict=True):
        assert bar.error == pytest.approx(max(abs(e - bar.value) for e in ends), rel=1e-6, abs=0)
    exact = at(Measured(0.5), Measured(0.0))
    assert exact.ratios(exact.best)[0].value == np.inf
    assert exact.measured_window()[0].value == 0


def test_layers_that_agree_with_their_mean_are_near_no_bound() -> None:
    """On samples of one line a layer of Theorem 5's proof is 0 <= 0; nothing else is lost by it."""
    data = {"X": [[1.0, 0.5]], "y": [0.3, -0.2]}
    init = {"W": [[0.0, 0.5], [0.0, 0.0]], "U": [[1.0], [1.0]], "a": [0.0, 0.0]}
    report = dq.run(dq.problem("relu-deq", data, init, sigma_w2=0.1))
    assert report.status == Status.COMPLETED
    # The samples have not the norm sqrt(d).
    assert report["ling2022/thm5-mean"].outcome == "not applicable"


@pytest.mark.parametrize(
    # (1 - 1/4)^2, and (1 - 0.4/2)^4.
    ("theorem", "bound"), [(Theorem1, 0.5625), (Theorem1Plus, 0.4096)]
)  # fmt: skip
def test_the_rate_of_a_run_at_rest_from_both_sides(
    theorem: type[Theorem1 | Theorem1Plus], bound: float
) -> None:
    """For step 1/2, lambda_0 = 1 and k = 2."""
    sides = {"gap_0": Measured(1.0), "step": Measured(0.5), "lambda_0": Measured(1.0), "k": 2}
    for gap, decision in ((bound - 1e-4, Decision.HOLDS), (bound + 1e-4, Decision.VIOLATED)):
        assert theorem.rest(gap=Measured(gap), **sides).judge().decision is decision


def test_of_identities_one_that_is_exactly_false_is_told() -> None:
    same = Check("the same", "x == y")
    near, off = same(x=Measured(1.0, 1e-3), y=1.0005), same(x=given(1), y=given(2))
    assert worst([near, off]) is off and worst([off, near]) is off


def test_cosines_of_the_limit_have_the_digits_that_are_asked_for() -> None:
    library = pytest.importorskip("flint")
    kernel = ExactKernel(np.array([[1.0, 0.6], [0.0, 0.8]]), 0.3, True)
    with library.ctx.workprec(128):
        ball = kernel.cosine.at(Balls(128, 1e12))[0, 1]
        assert ball.rad() < 1e-33
