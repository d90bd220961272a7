"""Hieu's statements: judged right, and a broken version of each bound is caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck import judging
from deqcheck.case import build_problem, read_case
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import UsageError
from deqcheck.linalg.minimax import Optimum, minimise_largest
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.tower import compared, flint, rational
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.search import search
from deqcheck.theorems.base import Check, Statement
from deqcheck.theorems.hieu2022 import (
    contraction,
    derivatives,
    gradients,
    implicit,
    induction,
    lemmas33,
    radii,
    universal,
)
from deqcheck.theorems.hieu2022 import monotone as monotone_operators
from deqcheck.theorems.hieu2022.common import WORDS
from deqcheck.theorems.hieu2022.conditions import ConditionOne, ConditionTwo
from deqcheck.theorems.hieu2022.contraction import Contraction
from deqcheck.theorems.hieu2022.derivatives import (
    KernelDynamics,
    LossDerivative,
    MapDerivative,
    StateDerivative,
)
from deqcheck.theorems.hieu2022.gradients import GradientNorms
from deqcheck.theorems.hieu2022.implicit import ImplicitFunction
from deqcheck.theorems.hieu2022.lemmas33 import (
    EquilibriumLipschitz,
    EquilibriumSize,
    Sensitivities,
    WeightLipschitz,
)
from deqcheck.theorems.hieu2022.monotone import SplittingConverges
from deqcheck.theorems.hieu2022.onestep import OneStep
from deqcheck.theorems.hieu2022.path import PathCondition
from deqcheck.theorems.hieu2022.pl import PolyakLojasiewicz
from deqcheck.theorems.hieu2022.prop5 import ParametersStay
from deqcheck.theorems.hieu2022.smooth import Quadratic
from deqcheck.theorems.hieu2022.steps import StepSizes
from deqcheck.theorems.hieu2022.thm331 import Theorem331
from deqcheck.theorems.hieu2022.thm335 import Theorem335
from deqcheck.theorems.hieu2022.universal import WeightTied
from deqcheck.theorems.hieu2022.wellposed import MonotoneWeights, Splitting, monotone_parts

Builder = Callable[..., Problem]
Judge = Callable[..., Verdict]
CASES = Path(__file__).parents[2] / "cases" / "hieu2022"
# n, d, N, m, seed of the verified instances, and the largest label scales for Theorem 3.3.1,
# repair A, repair B and the path condition.
INSTANCES = {
    "inst0": ((8, 5, 3, 1.0, 0), (6.069e-4, 3.419e-5, 4.835e-5, 1.538e-3)),
    "inst1": ((6, 4, 4, 0.5, 1), (7.786e-5, 3.092e-6, 4.373e-6, 2.882e-4)),
    "inst2": ((10, 6, 5, 2.0, 2), (9.932e-5, 3.893e-6, 5.505e-6, 3.446e-4)),
    "inst3": ((4, 2, 2, 0.2, 3), (3.568e-6, 6.628e-8, 9.373e-8, 2.986e-5)),
}


@pytest.fixture
def judge() -> Judge:
    def call(
        p: Problem,
        statement: type[Statement],
        edition: str = "corrected",
        constants: Mapping[str, float] | None = None,
    ) -> Verdict:
        # A run that is made once is no run to be repeated by another method.
        made = p.train.run(p) if isinstance(p.train, SimpleNamespace) else None
        return judging.judge(statement, p, made, edition=edition, constants=constants)

    return call


def named(judged: tuple[Judged, ...], name: str) -> Judged:
    return next(j for j in judged if j.name == name)


def small_labels(monotone: Builder, name: str, which: int, share: float, **more: Any) -> Problem:
    sizes, scales = INSTANCES[name]
    return monotone(*sizes, labels=share * scales[which], u=np.zeros(sizes[0]), **more)


def broken(statement: type[Statement], **formulas: str) -> type[Statement]:
    """The statement with other formulas for some of its checks."""
    changed = {}
    for attribute, formula in formulas.items():
        old = getattr(statement, attribute)
        changed[attribute] = Check(old.name, formula, old.equation, old.decays, old.contracts)
    return type("Broken", (statement,), changed)


# Every check that is a conclusion, with a version that is false: rates, not constants, where the
# check is one.
FLOW_BREAKS = [
    (Theorem331, "rate", "gap/gap_0 <= exp(-2.5*lambda0^2*t)"),
    (Theorem331, "kept", "sigma >= lambda0*(1 + 1e-6)"),
    (Theorem331, "within_symmetric", "distance <= 1e-6*R"),
    (Theorem331, "within_skew", "distance <= 1e-6*R"),
    (Theorem331, "within_inputs", "distance <= 1e-4*R"),
    (Theorem331, "within_outputs", "distance <= 1e-2*R"),
    (PathCondition, "rate", "gap/gap_0 <= exp(-2.5*lambda0^2*t)"),
    (PathCondition, "kept", "sigma >= lambda0*(1 + 1e-6)"),
    (PathCondition, "short", "length < R/50"),
    (PolyakLojasiewicz, "rate", "gap/gap_0 <= exp(-40*mu*t)"),
    (PolyakLojasiewicz, "flow_path", "length <= 2*sqrt(gap_0/(400*mu))"),
]
DESCENT_BREAKS = [
    (Theorem335, "rate", "gap/gap_0 <= (1 - step*lambda0^2/4)^(14*k)"),
    (Theorem335, "contraction", "gap_next/gap <= 1 - 2.5*step*lambda0^2"),
    (Theorem335, "kept", "sigma >= lambda0*(1 + 1e-6)"),
    (ParametersStay, "within_symmetric", "distance <= 1e-5*R"),
    (ParametersStay, "within_skew", "distance <= 1e-5*R"),
    (ParametersStay, "within_inputs", "distance <= 1e-4*R"),
    (ParametersStay, "within_outputs", "distance <= 1e-2*R"),
    (OneStep, "first", "I1 <= (step*X^2*lU^2/m^2)^2*L/1000"),
    (OneStep, "second", "I2 <= -2*step*X^2*(lu^2/m^2 + 4*lu^2*lU^2*(1+lA^2)/m^4)*L"),
    (OneStep, "third", "-I3 >= step*lambda0^2*L*20"),
    (ParametersStay, "weights", "dW <= 1e-4*X*r0*(3*lA^2 + 2)*lU*lu/(lambda0^2*m^2)"),
]
POINT_BREAKS = [
    (MonotoneWeights, "modulus", "modulus == m + 2*sigma_min_A^2"),
    (MonotoneWeights, "converse", "left == 1.0001*right"),
    (Splitting, "forward", "norm <= sqrt(max(0, 1 - 4*alpha*m + alpha^2*Lip^2))"),
    (Splitting, "contracts", "norm < 1/2"),
    (MapDerivative, "for_states", "left == 1.0001*right"),
    (StateDerivative, "for_weights", "left == -right"),
    (MapDerivative, "for_symmetric", "left == -right"),
    (MapDerivative, "for_skew", "left == -right"),
    (MapDerivative, "for_inputs", "left == 1.0001*right"),
    (StateDerivative, "for_symmetric", "left == -right"),
    (StateDerivative, "for_skew", "left == -right"),
    (StateDerivative, "for_inputs", "left == 1.0001*right"),
    (LossDerivative, "for_symmetric", "left == 1.0001*right"),
    (LossDerivative, "for_skew", "left == 1.0001*right"),
    (LossDerivative, "for_inputs", "left == 1.0001*right"),
    (LossDerivative, "for_outputs", "left == 1.0001*right"),
    (KernelDynamics, "dynamics_of_yhat", "left == -right"),
    (Sensitivities, "bound", "v_max <= norm_u/(2*m)"),
    (Sensitivities, "norm", "norm == 1.0001*v_max"),
    (EquilibriumSize, "bound", "Z_fro <= X*norm_U/(3*m)"),
    (EquilibriumLipschitz, "states", "dZ <= X*(dU/m + dW*norm_U2/m^2)/20"),
    (EquilibriumLipschitz, "predictions", "dyhat <= (norm_u*X*(dU/m + dW*norm_U2/m^2))^2"),
    (WeightLipschitz, "sign", "norm_minus == 1.0001*norm_plus"),
    (WeightLipschitz, "bound", "dW <= norm_A*dA/2"),
    (GradientNorms, "of_symmetric", "gradient <= X*norm_U*norm_u*norm_A*r/(6*m^2)"),
    (GradientNorms, "of_skew", "gradient <= X*norm_U*norm_u*r/(8*m^2)"),
    (GradientNorms, "of_inputs", "gradient <= X*norm_u*r/(2*m)"),
    (GradientNorms, "of_outputs", "gradient <= X*norm_U*r/(4*m)"),
    (GradientNorms, "speed", "speed <= norm_u/m^2*X^2*r/2"),
    (GradientNorms, "norm_of_symmetric", "norm^2 == 2*norm_A^2"),
    (GradientNorms, "norm_of_skew", "norm == 1"),
    (PolyakLojasiewicz, "gradient", "gradient^2 >= 20*lambda_min_K*L"),
    (PolyakLojasiewicz, "one", "fall >= mu/Lsm"),
    (PolyakLojasiewicz, "many", "log_ratio <= 2000*log(1 - 1.5*step*mu)"),
    (PolyakLojasiewicz, "descent_path", "length <= (1 + sqrt(1 - c*mu))/4*sqrt(L/mu)"),
]


def caught(
    p: Problem,
    statement: type[Statement],
    check: str,
    formula: str,
    judge: Judge,
) -> None:
    name = getattr(statement, check).name
    honest = judge(p, statement)
    assert honest.outcome is Outcome.CONFIRMED, [(c.name, c.decision) for c in honest.conclusions]
    assert named(honest.conclusions, name).decision is Decision.HOLDS
    wrong = judge(p, broken(statement, **{check: formula}))
    assert wrong.outcome is Outcome.REFUTED
    decisions = {c.decision for c in wrong.conclusions if c.name == name}
    assert Decision.VIOLATED in decisions


@pytest.fixture(scope="module")
def runs() -> dict[tuple[Any, ...], Any]:
    return {}


def once(p: Problem, runs: dict[tuple[Any, ...], Any], key: tuple[Any, ...]) -> Problem:
    """The same problem with a training that is run once for all statements."""
    train, tracks = p.train, ("sigma_min_Z", "lambda_min_K")

    def run(problem: Problem, *_: Any) -> Any:
        if key not in runs:
            runs[key] = train.run(problem, tracks, tracks)
        return runs[key]

    frozen = SimpleNamespace(
        run=run,
        kind=train.kind,
        step=getattr(train, "step", 0.0),
        departures=train.departures,
    )
    return Problem(p.model, p.theta0, frozen, seed=p.seed)


@pytest.mark.parametrize(
    ("statement", "check", "formula"), FLOW_BREAKS, ids=lambda x: getattr(x, "id", "")
)
def test_a_broken_bound_of_the_flow_is_caught(
    monotone: Builder,
    judge: Judge,
    runs: dict[tuple[Any, ...], Any],
    statement: type[Statement],
    check: str,
    formula: str,
) -> None:
    train = GradientFlow(horizon=20.0)
    p = once(small_labels(monotone, "inst0", 0, 0.98, train=train), runs, ("flow",))
    caught(p, statement, check, formula, judge)


@pytest.mark.parametrize(
    ("statement", "check", "formula"), DESCENT_BREAKS, ids=lambda x: getattr(x, "id", "")
)
def test_a_broken_bound_of_descent_is_caught(
    monotone: Builder,
    judge: Judge,
    runs: dict[tuple[Any, ...], Any],
    statement: type[Statement],
    check: str,
    formula: str,
) -> None:
    train = GradientDescent(step=0.1172, steps=200)
    p = once(small_labels(monotone, "inst0", 2, 0.98, train=train), runs, ("descent",))
    caught(p, statement, check, formula, judge)


@pytest.mark.parametrize("statement", [LossDerivative, KernelDynamics])
def test_a_residual_that_rounds_to_zero_confirms_no_wrong_identity(
    monotone: Builder, judge: Judge, statement: type[Statement]
) -> None:
    """Every product with it is 0, but the labels are the predictions up to rounding only."""
    first = monotone(2, 2, 3, 0.5)
    p = monotone(2, 2, 3, 0.5, y=first.start.predictions)
    assert not p.start.r.any()
    printed, corrected = (judge(p, statement, edition).outcome for edition in statement.editions)
    exact = flint() is not None
    assert printed is (Outcome.REFUTED if exact else Outcome.UNDECIDED)
    assert corrected is (Outcome.CONFIRMED if exact else Outcome.UNDECIDED)


@pytest.mark.parametrize(
    ("statement", "check", "formula"), POINT_BREAKS, ids=lambda x: getattr(x, "id", "")
)
def test_a_broken_bound_at_a_point_is_caught(
    monotone: Builder,
    judge: Judge,
    statement: type[Statement],
    check: str,
    formula: str,
) -> None:
    caught(monotone(8, 5, 3, 1.0, 0), statement, check, formula, judge)


def test_every_conclusion_has_a_broken_version() -> None:
    breaks = {(s, check) for s, check, _ in (*FLOW_BREAKS, *DESCENT_BREAKS, *POINT_BREAKS)}
    hypotheses = {"wide", "independent", "positive", "smooth", "proven", "allowed", "room"}
    hypotheses |= {"so_far"}
    # Zero losses, the printed editions and a remark.
    elsewhere = {"stays", "closed", "reflected", *(f"norm_of_{w}" for w in WORDS.values())}
    for statement in {s for s, _ in breaks} | {ConditionOne, ConditionTwo}:
        for base in statement.__mro__:
            for attribute, value in vars(base).items():
                if not isinstance(value, Check) or attribute in hypotheses | elsewhere:
                    continue
                if attribute.startswith(("room_for", "step_", "small_", "large_")):
                    continue
                if "printed" in attribute:
                    continue
                assert any(attribute == check for _, check in breaks), (statement, attribute)


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize(
    ("statement", "which", "constants"),
    [(Theorem331, 0, {}), (Theorem335, 1, {"kappa": 20.0}), (Theorem335, 2, {}),
     (PathCondition, 3, {})],
    ids=["flow", "repair A", "repair B", "path"],
)  # fmt: skip
def test_the_threshold_of_the_labels_from_both_sides(
    monotone: Builder, name: str, statement: type[Statement], which: int, constants: Any
) -> None:
    for share, decision in ((0.999, True), (1.001, False)):
        p = small_labels(monotone, name, which, share)
        judged = [h.judge().decision for h in statement("corrected", constants).hypotheses(p)]
        assert all(d is Decision.HOLDS for d in judged) is decision
        assert (Decision.VIOLATED in judged) is not decision


@pytest.mark.parametrize("statement", [Theorem331, Theorem335])
def test_the_radii_are_the_best_ones(monotone: Builder, statement: type[Statement]) -> None:
    """Differential evolution finds no worst ratio that is smaller by more than is granted."""
    from scipy.optimize import differential_evolution

    p = small_labels(monotone, "inst1", 0, 1.0)
    best = statement().worst_ratio(p)  # type: ignore[attr-defined]

    def worst(x: np.ndarray) -> float:
        chosen = dict(zip(("R_A", "R_U", "R_u"), np.exp(x), strict=True))
        return float(np.log(statement("corrected", chosen).worst_ratio(p)))  # type: ignore[attr-defined]

    box = [(-15, 2)] * 3
    found = differential_evolution(worst, box, seed=0, popsize=8, maxiter=45, tol=1e-12)
    assert np.log(best) - radii.ROOM <= found.fun <= np.log(best) + 1e-3


@pytest.mark.parametrize(
    ("name", "edition"), [("c1-gd", "printed"), ("inst0-gd", "printed"), ("inst3-gd", "printed"),
                          ("gd-counterexample", "corrected"), ("inst1-gd", "corrected")],
)  # fmt: skip
def test_the_radii_do_not_depend_on_rounding(
    monkeypatch: pytest.MonkeyPatch, name: str, edition: str
) -> None:
    """Whichever of the optima the search ends at, the radii that are told are the same."""
    p = build_problem(read_case(CASES / f"{name}.yaml"))
    usual = Theorem335(edition)
    told = usual.radii(p)

    def elsewhere(f: Any, start: np.ndarray, box: tuple[float, float]) -> Optimum:
        best = minimise_largest(f, start, box)
        along = [best.x + step * np.eye(3)[0] for step in np.arange(-4, 4.5, 0.5)]
        as_good = [x for x in along if f(x).max() <= best.value + 1e-9]
        assert len(as_good) > 1 or name == "inst1-gd"
        return Optimum(as_good[0], float(f(as_good[0]).max()))

    monkeypatch.setattr(radii, "minimise_largest", elsewhere)
    assert Theorem335(edition).radii(p) == pytest.approx(told, rel=5e-5)
    monkeypatch.setattr(radii, "nearest", lambda ratios, best, *_: best)
    least = Theorem335(edition).worst_ratio(p)
    assert least <= usual.worst_ratio(p) * (1 + 1e-8) <= least * (1 + 2e-4)
    assert (least <= 1) is (usual.worst_ratio(p) <= 1)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("c1-flow", 0.2499, 0.2501)]
    + [(f"inst{i}-flow", 0.2, 0.25) for i in range(4)]
    + [("c1-gd", 0.08, 0.14)] + [(f"inst{i}-gd", 0.01, 0.126) for i in range(4)],
)  # fmt: skip
def test_the_bounds_are_as_tight_as_expected(
    name: str, low: float, high: float, told: Callable[..., dict[str, Any]]
) -> None:
    """Slack 1/4 for the flow (lambda0^2/2 against 2 lambda_min(K)) and about 1/8 for descent."""
    statement = Theorem331 if name.endswith("flow") else Theorem335
    found = told(f"hieu2022/{name}", statement.id)
    assert found["outcome"] == Outcome.CONFIRMED.value
    (rate,) = (c for c in found["conclusions"] if c["name"] == statement.rate.name)
    assert low < rate["rate_tightness"] <= high


def test_without_the_hypotheses_the_bound_is_exceeded(told: Callable[..., dict[str, Any]]) -> None:
    found = told("hieu2022/hypotheses-matter", Theorem331.id)
    assert found["outcome"] == Outcome.NOT_APPLICABLE.value
    case = read_case(CASES / "hypotheses-matter.yaml")
    assert Theorem331().worst_ratio(build_problem(case)) == pytest.approx(2.3e7, rel=0.01)
    for name in ("loss below its exponential", "the features stay independent"):
        (conclusion,) = (c for c in found["conclusions"] if c["name"] == name)
        assert conclusion["decision"] == Decision.VIOLATED.value
        assert conclusion["first_violation"] is not None


@pytest.mark.parametrize(
    ("name", "factor"), [("inst0", 2e4), ("inst1", 2.7e5), ("inst2", 9e4), ("inst3", 2.3e7)]
)
def test_a_default_initialisation_misses_by_far(
    monotone: Builder, name: str, factor: float
) -> None:
    p = monotone(*INSTANCES[name][0])
    assert Theorem331().worst_ratio(p) == pytest.approx(factor, rel=0.05)


def test_the_descent_counterexample_in_numbers(judge: Judge) -> None:
    case = read_case(CASES / "gd-counterexample.yaml")
    fixed = case.question.constants[Theorem335.id]
    verdict = judge(build_problem(case), Theorem335, "printed", fixed)
    assert verdict.outcome is Outcome.REFUTED
    rows = [(h.left.value, h.right.value) for h in verdict.hypotheses if "room" in h.name]
    rows = sorted(right for _, right in rows)
    assert rows == pytest.approx([0.2365, 4, 8.8, 25.38, 44, 88], rel=1e-3)
    contraction = named(verdict.conclusions, "each step contracts the loss")
    assert (contraction.left.value, contraction.right.value) == pytest.approx((4, 0.25))
    assert contraction.curve is not None and contraction.curve.first_violation is not None
    assert contraction.curve.first_violation.k == 0


def test_printed_condition_2_is_empty_when_20_N_m2_reaches_1(monotone: Builder) -> None:
    """lambda0 at its largest: X = I, U = I, A = B = 0."""
    for m, possible in ((0.22, True), (0.23, False)):
        p = monotone(1, 1, 1, m, A=[[0]], B=[[0]], U=[[1]], u=[0], X=[[1]], y=[1e-9])
        judged = [h.judge().decision for h in Theorem335("printed").hypotheses(p)]
        assert all(d is Decision.HOLDS for d in judged) is possible


@pytest.mark.parametrize(
    ("statement", "which"), [(ConditionOne, 0), (ConditionTwo, 2)], ids=["1", "2"]
)
def test_the_conditions_are_met_for_small_labels(
    monotone: Builder, judge: Judge, statement: type[Statement], which: int
) -> None:
    for share, outcome in ((0.999, Outcome.MET), (1.001, Outcome.NOT_MET)):
        p = small_labels(monotone, "inst0", which, share)
        assert judge(p, statement).outcome is outcome
    wrong = broken(statement, room_for_features="lambda0^3 >= 8*X^2*lU")
    assert judge(small_labels(monotone, "inst0", which, 0.5), wrong).outcome is Outcome.NOT_MET


def test_what_is_too_large_is_not_checked(
    monotone: Builder, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = monotone(8, 5, 3, 1.0, 0)
    monkeypatch.setattr(derivatives, "LARGEST", 8**3 - 1)
    monkeypatch.setattr(lemmas33, "LARGEST", 8 * 3 - 1)
    monkeypatch.setattr(gradients, "LARGEST", 7)
    for statement, edition, why in (
        (MapDerivative, "corrected", "have 512 entries, the limit is 511"),
        (Sensitivities, "printed", "Q has 24 rows, the limit is 23"),
        (GradientNorms, "corrected", "64 rows, the limit is 49"),
    ):
        found = judge(p, statement, edition)
        assert found.outcome is Outcome.NOT_CHECKED
        assert why in found.unchecked[0]
    assert judge(p, Sensitivities).outcome is Outcome.CONFIRMED


def test_what_takes_too_long_is_not_checked(
    monotone: Builder, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 steps of 40 sweeps with 2 n^2 N flops, and 30 n^3 flops for each pattern."""
    p = monotone(8, 5, 3, 1.0, 0)
    patterns = len(np.unique(p.start.equilibrium.mask, axis=1).T)
    for statement, module, limit, enough, why in (
        (SplittingConverges, monotone_operators, "BUDGET", 640 * 64 * 3, "40 sweeps"),
        (WeightTied, universal, "LARGEST", 8, "24 rows, the limit is 21"),
        (ImplicitFunction, contraction, "BUDGET", 30 * 512 * patterns, "singular value of Q"),
    ):
        monkeypatch.setattr(module, limit, enough)
        assert judge(p, statement).outcome is Outcome.CONFIRMED
        monkeypatch.setattr(module, limit, enough - 1)
        found = judge(p, statement)
        assert found.outcome is Outcome.NOT_CHECKED
        assert why in found.unchecked[0]
    assert "8 rows, one for each" in judge(p, Contraction).unchecked[0]


def test_a_derivative_where_every_step_meets_a_kink_is_not_checked(
    monotone: Builder, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(implicit, "MOVES", (1e3,))
    found = judge(monotone(8, 5, 3, 1.0, 0), ImplicitFunction)
    assert found.outcome is Outcome.NOT_CHECKED
    assert "a unit switches" in found.unchecked[0]


def test_long_runs_are_looked_at_for_100_steps_and_large_models_for_20(
    monotone: Builder, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = monotone(3, 2, 2, 1.0, 0, train=GradientDescent(step=1e-3, steps=110))
    for limit, steps in ((9 * 5, 100), (9 * 5 - 1, 20)):
        monkeypatch.setattr(induction, "LARGE", limit)
        found = judge(p, StepSizes)
        assert found.outcome is Outcome.CONFIRMED
        assert found.conclusions[0].note == f"the first {steps} steps"


def test_with_given_radii_a_row_is_decided_on_both_sides_of_equality(monotone: Builder) -> None:
    p = small_labels(monotone, "inst0", 0, 1.0)
    chosen = Theorem331().radii(p)
    at_edge = dict(chosen)
    row = next(c for c in Theorem331("corrected", chosen).row_claims(p) if c.name == "room for B")
    edge = chosen["R_B"] * row.right.value / row.left.value
    for factor, decision in ((1 + 5e-12, Decision.HOLDS), (1 - 5e-12, Decision.VIOLATED)):
        at_edge["R_B"] = edge * factor
        claims = Theorem331("corrected", at_edge).row_claims(p)
        assert next(c for c in claims if c.name == "room for B").judge().decision is decision


@pytest.mark.parametrize("statement", [Theorem331, Theorem335])
def test_radii_of_the_case_are_taken_as_they_are(
    monotone: Builder, judge: Judge, statement: type[Statement]
) -> None:
    p = small_labels(monotone, "inst0", 1, 0.5)
    with pytest.raises(UsageError, match="R_A = -1 is not positive"):
        judge(p, statement, constants={"R_A": -1.0})
    kept = judge(p, statement, constants={"R_U": 0.25})
    assert kept.constants["R_U"] == 0.25


def test_a_step_beyond_the_largest_is_not_covered(monotone: Builder, judge: Judge) -> None:
    p = small_labels(monotone, "inst0", 2, 0.5)
    largest = Theorem335().admissible_step(p).value
    for share, outcome in ((0.9, Outcome.CONFIRMED), (1.2, Outcome.NOT_APPLICABLE)):
        train = GradientDescent(step=share * largest, steps=20)
        again = small_labels(monotone, "inst0", 2, 0.5, train=train)
        assert judge(again, Theorem335).outcome is outcome
    small = Theorem335("corrected", {"kappa": 20.0}).admissible_step(p).value
    assert small < largest / 30


def test_the_search_finds_the_largest_labels(monotone: Builder) -> None:
    sizes, scales = INSTANCES["inst0"]

    def build(factors: Mapping[str, float]) -> Problem:
        return monotone(*sizes, labels=factors["y"], u=np.zeros(sizes[0]))

    found = search(PathCondition(), PathCondition.searches[0], build)
    assert found is not None and found.scale == pytest.approx(scales[3], rel=1e-3)


def test_the_closed_end_of_forward_backward(monotone: Builder, judge: Judge) -> None:
    """For A = 0 the operator has norm 1 there; a small A makes it contract, and of a tiny one only
    exact numbers tell."""
    tiny = Outcome.CONFIRMED if flint() else Outcome.UNDECIDED
    for A, outcome in ((0.0, Outcome.REFUTED), (0.1, Outcome.CONFIRMED), (1e-9, tiny)):
        p = monotone(2, 1, 1, 0.5, A=A * np.eye(2), B=[[0, 0.3], [0, 0]])
        assert judge(p, Splitting, "printed").outcome is outcome


def test_any_monotone_weight_has_the_stated_form() -> None:
    from deqcheck.models.monotone_deq.state import weight

    r = np.random.default_rng(0)
    for _ in range(20):
        G = r.normal(size=(5, 5))
        low = np.linalg.eigvalsh((G + G.T) / 2)[0]
        W = np.eye(5) - (G + (0.3 - low + r.uniform()) * np.eye(5))
        A, B = monotone_parts(0.3, W)
        assert np.linalg.norm(weight(0.3, A, B) - W) < 1e-13 * np.linalg.norm(W)


@pytest.mark.parametrize("statement", [Theorem331, PathCondition])
def test_flow_statements_do_not_apply_to_descent(
    monotone: Builder, judge: Judge, statement: type[Statement]
) -> None:
    p = small_labels(monotone, "inst0", 2, 0.5, train=GradientDescent(step=0.1, steps=5))
    verdict = judge(p, statement)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    assert verdict.hypotheses[0].decision is Decision.VIOLATED


def test_a_zero_loss_that_would_rise_is_caught(judge: Judge) -> None:
    p = build_problem(read_case(CASES / "zero-loss.yaml", ["record.points=10"]))
    assert judge(p, Theorem331).outcome is Outcome.CONFIRMED
    wrong = broken(Theorem331, stays="gap < gap_0")
    assert judge(p, wrong).outcome is Outcome.REFUTED


def test_sensitivities_of_units_that_are_off_are_no_rounding() -> None:
    """u reads a unit that is off: v = 0, and the dense solve rounds where D leaves out."""
    A = [[0.6363961030678927, -0.31819805153394637], [-0.6363961030678927, -0.31819805153394637]]
    B = [[157.90105059547452, 86.3584245164378], [-8.148407605098727, 226.91684259767464]]
    init = {"A": A, "B": B, "U": np.full((2, 2), 0.5), "u": [0.0, 0.1186298796695655]}
    data = {"X": [[0.00056, 0.0001], [0.0132, 0.0025]], "y": [6e-5, 2e-5]}
    found = dq.judge("hieu2022/lem3.3.2", dq.problem("monotone-deq", data, init, m=2.1607))
    (norm,) = (c for c in found.conclusions if c.name == "norm with D")
    assert norm.right.value == 0 and norm.decision is not Decision.VIOLATED


def test_the_least_product_of_drawn_pairs(monotone: Callable[..., Problem]) -> None:
    """<z - z', g - g'> with z the positive and g the negative part of what is drawn."""
    # With fewer units some pair has the same signs, and the product 0.
    p = monotone(12)
    statement = monotone_operators.ReluIsResolvent()
    (found,) = (c for c in statement.claims(p, p.start) if ">= 0" in c.formula)
    products = []
    for a, b in monotone_operators.drawn_pairs(p, f"{statement.id}.pairs", (p.start.n,)):
        z, g = (np.maximum(a, 0) - np.maximum(b, 0)), (np.minimum(a, 0) - np.minimum(b, 0))
        products.append(float(z @ g))
    assert found.left.value == pytest.approx(min(products), rel=1e-12) and min(products) > 0


@pytest.mark.parametrize("power", [-1, 0, 1, 2])
@pytest.mark.parametrize(("t", "share"), [(0, 1.0), (1, 0.5), (3, 0.75)])
def test_moments_of_a_quadratic_again(power: int, t: int, share: float) -> None:
    pytest.importorskip("flint")
    kappa, c = np.array([0.25, 1.0, 3.0]), np.array([0.5, -2.0, 1.5])
    found = Quadratic(kappa, c).moment(power, t, share)
    terms = [
        Fraction(k) ** power * Fraction(x) ** 2 * (1 - Fraction(share) * Fraction(k) / 3) ** (2 * t)
        for k, x in zip(kappa, c, strict=True)
    ]
    assert found.again is not None
    for node in (found.again, found.again.spoken):
        assert compared(node, rational(sum(terms))).sign == 0
    assert abs(Fraction(float(found.value)) - sum(terms)) <= Fraction(float(found.error))


def test_the_constant_of_the_pl_inequality_is_rounded_down() -> None:
    p = read_case(CASES / "inst0-gd.yaml").problem()
    mu, rough = PolyakLojasiewicz().mu(p), np.linalg.eigvalsh(p.start.kernel.K)[0]
    assert mu.error == 0 and 2 * rough * (1 - 1e-9) < mu.value < 2 * rough


def test_blocks_of_a_symmetric_weight_are_normal_only_where_all_units_are_active(
    monotone: Builder,
) -> None:
    """D W is not symmetric for a D that switches a unit off, nor is W a multiple of I for entries
    beside the diagonal; both are for a diagonal A."""
    B, X = np.zeros((2, 2)), np.eye(2)
    for A, normal in (([[0.5, 0.25], [0.25, 0.5]], False), ([[0.5, 0.0], [0.0, 0.5]], True)):
        kinds = []
        for U in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [-9.0, -9.0]]):
            p = monotone(2, 2, 2, 0.25, 0, A=A, B=B, U=U, X=X, u=[1.0, 1.0])
            kinds.append(contraction.Spectra(p.start))
        every, some = kinds
        assert every.patterns.all() and not some.patterns.all() and some.patterns.any()
        assert every.normal and some.normal is normal
        assert every.scalar is normal and not some.scalar


def test_the_converse_of_a_single_unit_is_no_boundary(monotone: Builder, judge: Judge) -> None:
    """W = 1 - (m + 1)."""
    p = monotone(1, 2, 2, 0.75, 0)
    (converse,) = (c for c in judge(p, MonotoneWeights).conclusions if "any monotone" in c.name)
    assert converse.right.value == pytest.approx(0.75) and converse.decision is Decision.HOLDS
