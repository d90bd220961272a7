"""Gao and Gao's statements: judged right on the known instances, and able to say no."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck import judging
from deqcheck.case import build_problem, read_case
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.judging import Question
from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.law import Law
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.verdict import Outcome
from deqcheck.search import search
from deqcheck.theorems.gao2022.bounds import TrainedNetwork, worst
from deqcheck.theorems.gao2022.constants import NAMES, Program
from deqcheck.theorems.gao2022.draws import SubGaussianSamples
from deqcheck.theorems.gao2022.eta_claim import StepClaim
from deqcheck.theorems.gao2022.lem3_1 import Lemma31
from deqcheck.theorems.gao2022.sec5_1 import ScaledStart
from deqcheck.theorems.gao2022.sec5_2 import RandomStart
from deqcheck.theorems.gao2022.thm4_2 import Theorem42
from deqcheck.theorems.gao2022.thm4_4 import Theorem44
from tests.shipped import SLOW

Builder = Callable[..., Problem]
Told = Callable[..., dict[str, Any]]
FOLDER = Path(__file__).parents[2] / "cases" / "gao2022"
# Two orthogonal samples; W is to be scaled.
F1 = {"X": np.eye(2), "y": [1, -1], "A": np.full((2, 2), 0.5), "b": [0, 0], "gamma": 0.01}
W1 = np.array([[2.0, 1.0], [1.0, 2.0]])


def report(name: str, *settings: str) -> Report:
    case = read_case(FOLDER / f"{name}.yaml", settings)
    return judging.run(case.problem(), case.question)


@pytest.mark.parametrize(
    ("name", "tightness", "guaranteed"),
    [
        ("f1-flow", 0.2500, {"rate": 15.125}),
        ("f2-flow", 0.2480, {"rate": 36.99}),
        ("f3-flow", 0.2447, {"rate": 98.09}),
        ("f4-flow", 0.2449, {"rate": 18.64}),
        ("f4-flow-implicit", 0.2464, {"rate": 0.5464}),
        ("f1-descent", 0.1250, {"rate_per_step": 8.502e-5, "alpha0": 20.0}),
        ("sec5.1", 0.1250, {"largest_step": 2.76e-12}),
    ],
)
def test_feasible_instances_and_their_rate(
    name: str, tightness: float, guaranteed: dict[str, float], told: Told
) -> None:
    statement = Theorem42 if "flow" in name else Theorem44
    found = told(f"gao2022/{name}", statement.id)
    assert found["outcome"] == Outcome.CONFIRMED.value
    case = read_case(FOLDER / f"{name}.yaml")
    promised = statement(fixed=case.question.constants.get(statement.id)).quantities(
        build_problem(case)
    )
    for quantity, value in guaranteed.items():
        assert promised[quantity].value == pytest.approx(value, rel=1e-3)
    assert found["conclusions"][-1]["rate_tightness"] == pytest.approx(tightness, rel=4e-3)


@pytest.mark.skipif(not SLOW, reason="only with DEQCHECK_SLOW=1")
@pytest.mark.parametrize(
    ("name", "tightness", "guaranteed", "steps"),
    [
        ("f4-descent", 0.1073, {"rate_per_step": 6.998e-5, "alpha0": 596.5**0.5}, 5150),
        ("f4-descent-implicit", 0.0390, {"rate_per_step": 1.218e-6}, 4000),
    ],
)
def test_feasible_instances_and_their_rate_after_long(
    name: str, tightness: float, guaranteed: dict[str, float], steps: int
) -> None:
    """The rates fall as the fast directions die out, so these runs ask for their steps."""
    (verdict,) = report(name, f"train.steps={steps}").verdicts
    assert verdict.outcome is Outcome.CONFIRMED
    for quantity, value in guaranteed.items():
        assert verdict.quantities[quantity].value == pytest.approx(value, rel=1e-3)
    curve = verdict.conclusions[-1].curve
    assert curve is not None and curve.rate_tightness == pytest.approx(tightness, rel=4e-3)


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("f1-flow", [(30.25, 26.996), (166.4, 132.4)]),
        ("f4-flow", [(37.28, 29.60), (227.6, 133.3)]),
        ("f1-descent", [(400, 336.3), (8000, 184.6), (400, 378.5)]),
        ("f4-descent", [(596.5, 395.7), (14568, 215.9), (596.5, 457.9)]),
    ],
)
def test_the_conditions_have_the_known_sides(
    name: str, sides: list[tuple[float, float]], told: Told
) -> None:
    found = [
        h
        for h in told(f"gao2022/{name}", f"gao2022/thm4.{2 if 'flow' in name else 4}")["hypotheses"]
        if h["equation"] in ("(14)", "(15)", "(17)", "(18)", "(19)")
    ]
    assert [(h["left"]["value"], h["right"]["value"]) for h in found] == [
        pytest.approx(pair, rel=5e-4) for pair in sides
    ]


def test_the_shipped_arrays_are_those_of_their_script() -> None:
    made = runpy.run_path(str(FOLDER.parents[1] / "tests" / "make_gao2022_arrays.py"))
    for name, instance in made["INSTANCES"].items():
        expected = made["arrays"](*instance)
        shipped = {**np.load(FOLDER / f"{name}-data.npz"), **np.load(FOLDER / f"{name}-init.npz")}
        assert shipped.keys() == expected.keys()
        assert all(np.allclose(shipped[k], expected[k], rtol=1e-14) for k in expected)


def start(implicit: Builder, scale: float, **changes: Any) -> Problem:
    return implicit(W=scale * W1, **{**F1, **changes})


@pytest.mark.parametrize("statement", [Theorem42, Theorem44])
@pytest.mark.parametrize("seed", range(6))
def test_no_constants_do_better_than_the_chosen_ones(
    implicit: Builder, statement: type[TrainedNetwork], seed: int
) -> None:
    """Random constants never do, and a multiplier certificate proves it: at the optimum of a convex
    minimax problem 0 lies in the convex hull of the gradients of the active functions."""
    r = np.random.default_rng(seed)
    p = implicit(2, 3, 5, q=float(r.uniform(0.05, 0.9)), seed=seed, gamma=float(r.uniform(0.01, 1)))
    here, checks = Program(p, {}), statement().conditions()
    best = here.best(checks)
    x = np.log([best.C[name] for name in NAMES])

    def logs(x: np.ndarray) -> np.ndarray:
        return np.array(here.log_ratios(checks, dict(zip(NAMES, np.exp(x), strict=True))))

    for _ in range(300):
        assert logs(x + r.normal(size=3) * 10.0 ** r.uniform(-6, 1)).max() >= best.worst - 1e-9
    h = 1e-6
    slopes = np.stack([(logs(x + e) - logs(x - e)) / (2 * h) for e in h * np.eye(3)], axis=1)
    active = slopes[logs(x) > best.worst - 1e-5]
    from scipy.optimize import nnls

    weights, _ = nnls(np.vstack([active.T, np.ones(len(active))]), np.array([0, 0, 0, 1.0]))
    assert np.abs(weights @ active).max() < 1e-3 and weights.sum() == pytest.approx(1, abs=1e-3)


def test_fixed_constants_stay_and_the_others_are_searched(implicit: Builder) -> None:
    p, checks = start(implicit, 5.5), Theorem42().conditions()
    free, partly, wholly = (
        Program(p, fixed).best(checks)
        for fixed in ({}, {"C2": 0.4}, {"C1": 1.8, "C2": 0.4, "C3": 5.5})
    )
    assert partly.C["C2"] == 0.4
    assert free.worst < partly.worst < wholly.worst
    assert wholly.ratio == pytest.approx(26.996 / 30.25, rel=1e-4)


def test_search_brackets_the_smallest_scale_and_the_largest_labels(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deqcheck.search.ACCURACY", 1e-3)

    def build(scales: Any) -> Problem:
        y = scales.get("y", 1.0) * np.array([1.0, -1.0])
        return start(implicit, 20.0 * scales.get("W", 1.0), y=y)

    statement = Theorem44()
    for wanted, harder in zip(statement.searches, (0.998, 1.002), strict=True):
        found = search(statement, wanted, build)
        assert found is not None and found.step is not None
        for factor, decision in ((1.0, True), (harder, False)):
            p = build(dict.fromkeys(wanted.arrays, factor * found.scale))
            judged = [h.judge().decision is Decision.HOLDS for h in statement.hypotheses(p)]
            assert all(judged) is decision
        p = build(dict.fromkeys(wanted.arrays, found.scale))
        assert found.step < statement.admissible_step(p).low


def test_a_step_is_refused_only_where_no_constants_allow_it(implicit: Builder) -> None:
    outcomes = []
    for step in (8.9e-7, 9.2e-7, 9.5e-7):
        p = start(implicit, 20.0, train=GradientDescent(step=step, steps=2))
        outcomes.append(judging.run(p, Question((Theorem44.id,))).verdicts[0].outcome)
    assert outcomes == [Outcome.CONFIRMED, Outcome.UNDECIDED, Outcome.NOT_APPLICABLE]


def test_a_step_at_the_bound_is_no_pass(implicit: Builder) -> None:
    fixed = {"C1": 0.2, "C2": 0.25, "C3": 2.9}
    edge = Theorem44(fixed=fixed).admissible_step(start(implicit, 20.0)).value
    p = start(implicit, 20.0, train=GradientDescent(step=edge, steps=2))
    verdict = judging.run(p, Question((Theorem44.id,), constants={Theorem44.id: fixed}))
    assert verdict.verdicts[0].outcome is Outcome.UNDECIDED


def test_nonpositive_constants_are_refused(implicit: Builder) -> None:
    bad = Question((Theorem42.id,), constants={Theorem42.id: {"C1": 0.0}})
    with pytest.raises(judging.UsageError, match="C1 = 0 is not positive"):
        judging.run(start(implicit, 5.5, train=GradientFlow(horizon=0.1)), bad)


def test_an_alpha0_that_is_zero_is_not_certifiable() -> None:
    verdict = report("duplicate-samples").verdicts[0]
    claim = next(h for h in verdict.hypotheses if h.name == Theorem44.certifiable.name)
    assert claim.decision is Decision.VIOLATED and "dependent inputs" in claim.note
    verdict = report("few-units").verdicts[0]
    claim = next(h for h in verdict.hypotheses if h.name == Theorem44.certifiable.name)
    assert claim.decision is Decision.VIOLATED and "1 units for 2 samples" in claim.note


def test_an_optimal_start_is_not_judged_by_a_quotient_of_zeros(implicit: Builder) -> None:
    p = start(implicit, 5.5, y=[0, 0], train=GradientFlow(horizon=0.1))
    p = Problem(p.model, p.theta0, p.train, record_points=10)
    verdict = judging.run(p, Question((Theorem42.id,))).verdicts[0]
    assert verdict.outcome is Outcome.CONFIRMED
    assert any("already optimal" in note for note in verdict.notes)


@pytest.mark.parametrize(("gamma", "count"), [(0.1, 5), (0.8, 32)])
def test_table_1_counts(gamma: float, count: int) -> None:
    verdict = report("table1", f"model.gamma={gamma}").verdicts[0]
    assert verdict.outcome is Outcome.CONFIRMED
    assert verdict.quantities["forward_iterations"].value == count


def test_the_largest_step_falls_quickly_with_the_number_of_samples(implicit: Builder) -> None:
    """The recipe of Section 5.1 for N = 2, 4, 8, 16 leaves steps far below 1/N."""
    for N in (2, 4, 8):
        W = np.eye(N) + 0.1
        p = implicit(N, N, N, X=np.eye(N), W=W, A=W, b=np.zeros(N), y=np.ones(N), gamma=1e-3)
        beta = 1.01 * ScaledStart().smallest_scale(p).value
        gamma = 1 / (2 * (beta * np.linalg.norm(W, 2) + 1))
        p = implicit(
            N, N, N, X=np.eye(N), W=beta * W, A=beta * W, b=np.zeros(N), y=np.ones(N), gamma=gamma
        )
        verdicts = [h.judge().decision for h in ScaledStart().hypotheses(p)]
        assert all(d is Decision.HOLDS for d in verdicts)
        claims = [c.judge().decision for c in ScaledStart().claims(p, p.start)]
        assert all(d is Decision.HOLDS for d in claims)
        assert ScaledStart().largest_step(p).value < 1 / (256 * N**3.5)
        printed = [c.judge().decision for c in StepClaim("printed").claims(p, p.start)]
        assert printed == [Decision.VIOLATED]


def test_section_7_in_small_shows_what_the_paper_saw(implicit: Builder) -> None:
    """Larger gamma needs more sweeps, larger m trains faster, gamma |A| drifts up."""
    short = [f"train.steps={n}" for n in (30,)]
    losses = [
        report("sec7", f"model.width={m}", *short).trajectory.loss.value[-1] for m in (25, 200)
    ]
    assert losses[1] < losses[0]
    case = read_case(FOLDER / "sec7.yaml", short)
    p = build_problem(case)
    run = p.train.run(p)
    assert p.model.at(run.final).gamma0.value > p.start.gamma0.value
    from deqcheck.theorems.gao2022.lem3_1 import Iterates

    counts = []
    for gamma in (0.1, 0.3, 0.6):
        p = build_problem(read_case(FOLDER / "sec7.yaml", [f"model.gamma={gamma}"]))
        counts.append(Iterates(p.start).count())
    assert counts == sorted(set(counts))


def test_lemmas_hold_at_many_points(implicit: Builder) -> None:
    """Nothing sound is ever found violated."""
    sound = [
        s for s in judging.catalogue().values()
        if s.id.startswith("gao2022/") and "static" in s.dynamics and "eta" not in s.id
    ]  # fmt: skip
    for seed in range(10):
        r = np.random.default_rng(seed)
        N, d, m = r.integers(1, 5, size=3)
        p = implicit(N, d, m, q=float(r.uniform(0.05, 0.98)), seed=seed, gamma=0.5)
        for statement in sound:
            judge = statement()
            if any(h.judge().decision is not Decision.HOLDS for h in judge.hypotheses(p)):
                continue
            for claim in (*judge.claims(p, p.start), *judge.remarks(p, None)):
                judged = claim.judge()
                assert judged.decision is not Decision.VIOLATED, (seed, statement.id, judged)


def test_the_sweep_count_never_exceeds_its_bound(implicit: Builder) -> None:
    for seed in range(10):
        p = implicit(3, 4, 6, q=0.7, seed=seed)
        names = {c.name: c.judge().decision for c in Lemma31().remarks(p, None)}
        assert names.get(Lemma31.forward.name) is Decision.HOLDS


def test_m_must_be_positive(implicit: Builder) -> None:
    for statement in ("gao2022/lem3.1", "gao2022/lem3.2"):
        with pytest.raises(judging.UsageError, match="M = 0 is not positive"):
            judging.judge(statement, implicit(), constants={"M": 0.0})


def judged(statement: Any, p: Problem, edition: str = "corrected", **more: Any) -> Outcome | None:
    return judging.judge(statement, p, edition=edition, **more).outcome


# W ~ 1: the second unit is dead, and U = 0 there exactly, since A does not reach it.
DEAD = {"X": [[1.0]], "y": [1.0], "W": [[1.0, -1.0]], "A": np.eye(2), "gamma": 0.5}


@pytest.mark.parametrize(
    ("b", "A", "y", "gradient", "lemma"),
    [
        # The read-out hears it, or nothing does, or only a unit that is not heard itself.
        ([0, 1], np.eye(2), [1], Outcome.NOT_APPLICABLE, Outcome.NOT_APPLICABLE),
        ([0, 0], np.eye(2), [1], Outcome.CONFIRMED, Outcome.CONFIRMED),
        ([1, 0], np.eye(2), [1], Outcome.CONFIRMED, Outcome.CONFIRMED),
        # The first unit passes the second on.
        ([1, 0], [[1, 0], [0.5, 1]], [1], Outcome.NOT_APPLICABLE, Outcome.NOT_APPLICABLE),
        # r = 0 up to rounding: the loss may have a derivative there, the predictions have none.
        ([0, 1], np.eye(2), [0], Outcome.UNDECIDED, Outcome.NOT_APPLICABLE),
    ],
)
def test_a_kink_counts_where_it_is_heard(
    implicit: Builder, b: Any, A: Any, y: Any, gradient: Outcome, lemma: Outcome
) -> None:
    p = implicit(1, 1, 2, **{**DEAD, "b": b, "A": A, "y": y})
    assert judged("gao2022/gradient", p) is gradient
    assert judged("gao2022/lem4.1", p) is lemma


def test_a_dead_kink_is_of_second_order(implicit: Builder) -> None:
    """At b = (1, 0) the one-sided slopes of the loss agree, at b = (0, 1) they do not."""

    def jump(b: list[float]) -> float:
        def loss(h: float) -> float:
            A = np.eye(2) + h * np.array([[0.3, 1.0], [-0.4, 0.2]])
            return float(implicit(1, 1, 2, **{**DEAD, "b": b, "A": A}).start.loss.value)

        h = 1e-7
        return abs((loss(h) - loss(0)) / h - (loss(0) - loss(-h)) / h)

    assert jump([1, 0]) < 1e-5 and jump([0, 1]) > 0.1


def test_the_tangent_is_the_derivative_of_the_predictions(implicit: Builder) -> None:
    r = np.random.default_rng(5)
    for seed in range(5):
        p = implicit(3, 4, 6, q=0.8, seed=seed)
        d = {name: r.normal(size=a.shape) for name, a in p.theta0.items()}

        def yhat(h: float, p: Problem = p, d: Any = d) -> np.ndarray:
            return p.model.at({n: a + h * d[n] for n, a in p.theta0.items()}).r

        h = 1e-6
        found, radius = p.start.tangent(d)
        assert found == pytest.approx((yhat(h) - yhat(-h)) / (2 * h), rel=1e-6, abs=1e-7)
        assert radius < 1e-11 * np.linalg.norm(found)
        parts = [p.start.tangent({name: v})[0] for name, v in d.items()]
        assert found == pytest.approx(sum(parts), rel=1e-11)


def drawn(implicit: Builder) -> Problem:
    return replace(implicit(1, 1, 1, A=[[0.7]]), laws={"A": Law("half-normal", 1.0)})


@pytest.mark.parametrize(
    ("edition", "exponent", "outcome"),
    [
        ("printed", 0.5, Outcome.INCONSISTENT),
        ("printed", 1.0, Outcome.CONSISTENT),
        ("printed", 1.5, Outcome.CONSISTENT),
        ("corrected", 1.0, Outcome.CONSISTENT),
        ("corrected", 0.9, Outcome.INCONSISTENT),
        ("corrected", 1.1, Outcome.INCONSISTENT),
    ],
)
def test_the_order_of_a_half_normal_norm(
    implicit: Builder, edition: str, exponent: float, outcome: Outcome
) -> None:
    """O(m^e) from above alone, or of order m^e from both sides."""
    claimed = type("Claimed", (RandomStart,), {"exponent": lambda self, p: exponent})
    assert judged(claimed, drawn(implicit), edition, constants={"seeds": 24}) is outcome


def test_the_worst_of_several_claims_is_never_one_that_holds_by_chance() -> None:
    holds, undecided, violated = (
        Claim("", Measured(left, error), ">=", Measured(1.0))
        for left, error in ((1.1, 0.0), (1.2, 0.5), (0.9, 0.01))
    )
    assert worst([holds, undecided]) == [undecided]
    assert worst([holds, undecided, violated]) == [violated]
    assert worst([]) == []


def test_the_steps_of_a_tiny_rate_are_counted() -> None:
    """1 - rate is 1 in doubles. b = 0 and Z = X W up to 1e-8, whose smallest singular value is
    2e8: the rate is 1e-34 (2e8)^2/4 = 1e-18."""
    p = build_problem(read_case(FOLDER / "tiny-rate.yaml"))
    steps = Theorem44().quantities(p)["steps_to_1e-6"]
    assert steps.value == pytest.approx(np.log(1e6) * 1e18, rel=1e-6) and steps.error < 1e7


def test_samples_of_dimension_one_have_lambda_star_0(implicit: Builder) -> None:
    """Of three numbers +-1 two agree."""
    p = implicit(3, 1, 2)
    assert p.model.d == 1
    found = judging.judge(SubGaussianSamples, p, edition="printed")
    assert found.outcome == "inconsistent"
    assert "lambda_* = 0" in found.conclusions[0].note


def test_a_second_start_that_underflows_on_its_way_to_zero_refutes_nothing() -> None:
    """No unit is active: Z = 0, and squares of what is left of the start are lost below 1e-308."""
    X = np.array([[2.003872566, 2.003872566, 0.0, -1.0]])
    W = np.array([[-0.5, -1.0], [-0.4, -1.1], [-0.4, 1.6], [-1.7, 0.0]])
    for scale in np.linspace(1.0, 1.2, 60).tolist():
        A = scale * np.array([[1.287e-2, -1.2e-12], [4e-7, 1.3e-12]])
        init = {"W": W, "A": A, "b": np.zeros(2)}
        p = dq.problem("implicit-relu", data={"X": X, "y": [0.5]}, init=init, gamma=2.0)
        found = dq.run(p, only=["gao2022/lem3.1"])["gao2022/lem3.1"]
        assert not p.start.Z.any() and found.outcome == "confirmed"


@pytest.mark.parametrize("gamma", [1.0, 2.0])
def test_iterations_of_a_map_that_does_not_contract(gamma: float) -> None:
    """gamma |A| = 1 and 2: nothing bounds all iterates, and the lemma does not apply."""
    init = {"W": [[0.2], [-1.0]], "A": [[1.0]], "b": [0.5]}
    p = dq.problem("implicit-relu", {"X": [[1.3, 0.6]], "y": [0.1]}, init, gamma=gamma)
    assert dq.judge("gao2022/lem3.1", p).outcome == "not applicable"
