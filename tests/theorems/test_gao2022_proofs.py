"""The steps of Gao and Gao's proofs can be found false; the scaled start is the right one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.case import CaseError, read_case
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.implicit_relu.scaled import smallest_scale
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.theorems.gao2022 import lem3_2, one_step
from deqcheck.theorems.gao2022.lem4_1 import Lemma41
from tests.independent.gao2022_network import Network, drawn, fro, norm, problem
from tests.independent.gao2022_proofs import LIVELY, LIVELY_HORIZON, LIVELY_STEP, identity, lively
from tests.independent.gao2022_training import scaled, smallest_beta
from tests.theorems.breaking import broken

DESCENT = {"kind": "gd", "step": LIVELY_STEP, "steps": 4}
SHIPPED = Path(__file__).parents[2] / "cases" / "gao2022"

BROKEN = [
    ("one-step", "features", "step*", "0.001*step*"),
    ("one-step", "predictions", "step*", "0.001*step*"),
    ("one-step", "by_features", "inner_Z <=", "inner_Z + 100 <="),
    ("one-step", "by_weights", "alpha0^2/4", "alpha0^2*40"),
    ("one-step", "loss", "L_next/L <=", "100*L_next/L <="),
    ("proof4.4", "phi", "lambda1*", "0.1*lambda1*"),
    ("proof4.4", "b_now", "lambda1/", "0.1*lambda1/"),
    ("proof4.4", "b_later", "lambda1/", "0.1*lambda1/"),
    ("proof4.4", "w_now", "lambda3/", "0.1*lambda3/"),
    ("proof4.4", "w_later", "lambda3/", "0.1*lambda3/"),
    ("proof4.4", "a_now", "gamma*", "0.01*gamma*"),
    ("proof4.4", "a_later", "gamma*", "0.01*gamma*"),
    ("proof4.4", "b_moves", "8*", "0.001*"),
    ("proof4.4", "w_moves", "8*", "0.001*"),
    ("proof4.4", "a_moves", "8*", "0.0001*"),
    ("proof4.4", "z_moves", "8*", "0.00001*"),
    ("proof4.4", "weyl", "alpha0 - 8", "2*alpha0 - 0"),
]


@pytest.mark.parametrize(("name", "check", "old", "new"), BROKEN)
def test_a_broken_step_is_refuted(name: str, check: str, old: str, new: str) -> None:
    statement = dq.statements()[f"gao2022/{name}"]
    wrong = broken(statement, check, old, new)
    verdict = dq.judge(wrong, problem(lively()), train=DESCENT, constants=LIVELY)
    assert verdict.outcome == "refuted"
    violated = [c.formula for c in verdict.conclusions if c.decision is Decision.VIOLATED]
    assert violated == [getattr(wrong, check).formula.text]


BROKEN_FLOW = [
    ("proof4.2", "state", "lambda1*", "0.1*lambda1*"),
    ("proof4.2", "speed", "lambda3/", "0.001*lambda3/"),
    ("proof4.2", "z_moves", "4*", "0.00001*"),
    ("proof4.2", "gram", "alpha0^2/4", "alpha0^2*400"),
    ("proof4.2", "falls", "alpha0^2/4", "alpha0^2*400"),
    ("lem4.1-rate", "rate", "-lambda_0*t", "-40*lambda_0*t"),
]


def test_the_broken_steps_of_a_flow_are_refuted() -> None:
    """On one run, which records what every one of them needs."""
    p = problem(lively(), points=6)
    every = {s.id: s for s in dq.statements()}
    tracks = {t for name, *_ in BROKEN_FLOW for t in every[f"gao2022/{name}"].tracks}
    flow = GradientFlow(horizon=LIVELY_HORIZON)
    trained = p.trained_by(flow)
    run = flow.run(trained, sorted(tracks))
    for name, check, old, new in BROKEN_FLOW:
        wrong = broken(every[f"gao2022/{name}"], check, old, new)
        constants = LIVELY if name == "proof4.2" else None
        assert dq.judge(wrong, trained, run, constants=constants).outcome == "refuted", check


def test_the_distance_of_the_features_is_recorded() -> None:
    p = problem(lively())
    descent = GradientDescent(step=LIVELY_STEP, steps=3)
    moved = descent.run(p.trained_by(descent)).distance["Z"]
    net = lively()
    for k in range(4):
        assert moved.value.value[k] == pytest.approx(fro(net.Z - lively().Z), rel=1e-9, abs=1e-12)
        net = net.moved(LIVELY_STEP)


def test_the_sign_of_the_loss_in_rationals(told: Callable[..., dict[str, Any]]) -> None:
    """X = W = b = 1, A = 0, y = 0, gamma = 1/2: Z = r = 1, and d yhat/dt is -H."""
    gamma = Fraction(1, 2)
    gradient = {"W": Fraction(1), "A": gamma, "b": Fraction(1)}
    dL = -sum(g * g for g in gradient.values())
    r_dyhat = -(1 + gamma**2 + 1)
    assert dL == r_dyhat == Fraction(-9, 4) and dL != -r_dyhat
    found = told("gao2022/induction-sign", "gao2022/proof4.2", "printed")["conclusions"]
    (wrong,) = (c for c in found if c["decision"] == "violated")
    assert (wrong["left"]["value"], wrong["right"]["value"]) == (-2.25, 2.25)


def test_a_large_norm_does_not_make_a_matrix_invertible() -> None:
    """The erratum of (29): |diag(1, 0)| = 1 >= 1 - gamma |A| for every A, and it is singular."""
    Q = np.diag([1.0, 0.0])
    assert norm(Q) == 1 and Q[0, 0] * Q[1, 1] - Q[0, 1] * Q[1, 0] == 0


def test_the_largest_scale_with_gamma_fixed() -> None:
    found = dq.judge("gao2022/sec7-scale", problem(identity(1))).quantities
    assert found["largest_scale"].value == pytest.approx(1 / (0.25 * 0.8))


SCALED = SHIPPED / "sec5.1-drawn.yaml"


@pytest.mark.parametrize("W", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("y", [0.01, 4.0, 8.0, 16.0, 1e3])
def test_the_smallest_scale_whichever_condition_binds(y: float, W: float) -> None:
    """(24)-(26) at a1 = 3/2 and X = 1: they hold at it, and one is an equality."""
    beta = smallest_scale(*map(Measured, (1.5, 1.0, y, W))).value
    ratios = 16 * (beta * W + 1) * y / beta**2, 128 * y / beta**3, 128 / beta**2
    assert max(ratios) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("beyond", [1.0, 2.5])
def test_the_scaled_start(beyond: float) -> None:
    """beta from (24)-(26) solved by bisection, A = |W| I, b = 0, gamma0 = 1/2 with C2 = 1."""
    drawn = "init={kind: each, W: {kind: gaussian, fan: in}, A: zero, b: zero}"
    plain = read_case(SCALED, [drawn, "model.gamma=1"]).problem()
    W = plain.theta0["W"]
    net = Network(
        X=plain.model.X, y=plain.model.y, W=W, A=norm(W) * np.eye(6), b=np.zeros(6), gamma=1.0
    )
    at = scaled(net, beyond * smallest_beta(net)).net
    p = read_case(SCALED, [f"init.beyond={beyond}"]).problem()
    assert p.model.gamma == pytest.approx(at.gamma, rel=1e-9)
    for name in ("W", "A", "b"):
        np.testing.assert_allclose(p.theta0[name], getattr(at, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("model.gamma=0.1", "init: derives gamma; expected a model without one"),
        ("model.width=3", "init.W: the features relu(X W) of 3 units are not known"),
        ("init={kind: each, W: gaussian, A: zero, b: zero}", "model.gamma: missing"),
    ],
)
def test_a_scaled_start_that_cannot_be(setting: str, sentence: str) -> None:
    with pytest.raises(CaseError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        read_case(SCALED, [setting]).problem()


def test_no_scaled_start_of_other_models() -> None:
    case = SHIPPED.parent / "quickstart.yaml"
    with pytest.raises(CaseError, match=r"init.kind: no scaled start of 'delm' is known"):
        read_case(case, ["init={kind: scaled, W: gaussian}"]).problem()


def test_one_step_is_the_first() -> None:
    assert [one_step._counted(n) for n in (1, 2)] == ["the first step", "the first 2 steps"]


@pytest.mark.parametrize(
    ("value", "found"), [(3.0, True), (1.0, True), (2.5, False), (0.0, True), (2.0, False)]
)
def test_eigenvalues_in_rationals(value: float, found: bool) -> None:
    """3, 1 and 0; for 2 the first pivot is 0."""
    a = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [5.0, 7.0, 0.0]])
    assert lem3_2._has_eigenvalue(a, value) == found


@pytest.mark.parametrize("q", [0.1, 0.6, 0.9])
def test_the_dense_gram_matrix_is_granted_the_square_of_the_worst_condition_number(
    q: float,
) -> None:
    """gamma A = diag(q, -q): with both units active I - gamma A attains (1 + q)/(1 - q), with fewer
    it stays below. H has the inverse twice."""
    net = drawn(3, N=2, d=3, m=2, q=q, gamma=0.5, A=2 * q * np.diag([1.0, -1.0]))
    p = problem(net)
    (claim,) = (c for c in Lemma41().claims(p, p.start) if c.name == Lemma41.dense.name)
    patterns = (np.diag([float(i), float(j)]) for i in (0, 1) for j in (0, 1))
    worst = max(float(np.linalg.cond(np.eye(2) - 0.5 * D @ net.A)) for D in patterns)
    _, radius = p.start.H_with_radius
    assert claim.right.value == pytest.approx(radius * (1 + worst**2), rel=1e-9, abs=0)
