"""Kawaguchi 2021: what is promised before training, and numbers that no Sides can hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import deqcheck as dq

from . import kawaguchi2021_runs as runs
from .kawaguchi2021_model import Delm, descent, drawn, flow, norm1, start

ALREADY_RIGHT = Delm(
    Phi=np.array([[0.9, 0.4, -1.1], [-0.2, 1.3, 0.3]]),
    Y=np.array([[1.0, 1.0, -1.0]]),
    A=np.array([[0.2, -0.5], [0.7, 0.1]]),
    B=np.array([[5.0, 4.0]]),
    gamma=0.3,
    loss="smoothed-hinge",
)
TANGLED = Delm(
    Phi=np.array([[0.9, 0.7, -1.1, 0.5], [-0.2, 0.4, 0.3, 1.2]]),
    Y=np.array([[1.0, -1.0, -1.0, 1.0]]),
    A=np.array([[0.2, -0.5], [0.7, 0.1]]),
    B=np.array([[-0.6, 0.3]]),
    gamma=0.4,
    loss="smoothed-hinge",
)


def test_theorem_2_without_curvature() -> None:
    """Every margin above 1: any delta serves, 1 is taken, and nothing moves."""
    d = ALREADY_RIGHT
    here = start(d)
    assert (d.Y * (here.Z @ d.Phi) > 1).all()
    verdict = dq.judge("kawaguchi2021/thm2", d.problem())
    assert verdict.outcome == "confirmed"
    metric = next(one for one in verdict.conclusions if one.name == "G is positive definite")
    assert metric.left.value == 1


@pytest.mark.parametrize(("m", "words"), [(6, ""), (7, "a conjecture for m > 6")])
def test_up_to_which_width_the_exact_floor_is_proved(m: int, words: str) -> None:
    d = drawn(81, m=m, n=3, my=1, gamma=0.4)
    floor = dq.judge("kawaguchi2021/D", d.problem()).remarks[-1]
    assert (floor.name, floor.note) == ("star-map infimum", words)


def promised(d: Delm, kappa: float) -> dict[str, float]:
    """The rate 2 kappa/(m (1 + gamma)^2) of Theorem 1, (9) for eps = 1e-6 of the first gap, and the
    radius that the path, of length at most sqrt(2 gap/(kappa lambda)), cannot leave: the 1-norm of
    a matrix with my rows is at most sqrt(my) times its Frobenius norm."""
    width = d.m * (1 + d.gamma) ** 2
    path = math.sqrt(2 * start(d).gap * width / kappa)
    return {
        "kappa": kappa,
        "rate_independent": 2 * kappa / width,
        "time_to_1e-6": width / (2 * kappa) * 6 * math.log(10),
        "radius_sufficient": (norm1(d.B) + math.sqrt(d.my) * path) / (1 - d.gamma),
    }


CASES = [
    ("thm1", "printed", runs.SQUARE, "kappa"),
    ("thm1", "corrected", runs.BALL, "kappa"),
    ("cor1", "printed", runs.SQUARE, "kappa_printed"),
    ("cor1", "corrected", runs.DEFICIENT, "kappa"),
    ("cor2", "printed", runs.BALL, "kappa_printed"),
    ("cor2", "corrected", runs.BALL, "kappa"),
    ("times", "corrected", runs.MARGIN, "kappa"),
    ("gd", "printed", runs.SQUARE, "kappa"),
    ("gd", "corrected", runs.FEW, "kappa"),
]


@pytest.mark.parametrize(("id", "edition", "d", "constant"), CASES)
def test_what_is_promised_before_training(id: str, edition: str, d: Delm, constant: str) -> None:
    id = f"kawaguchi2021/{id}"
    found = dq.judge(id, d.problem(), edition=edition).quantities
    wanted = promised(d, getattr(d, constant))
    assert {name: q.value for name, q in found.items()} == pytest.approx(wanted, rel=1e-9)
    rate = dq.statements()[id](edition).guaranteed_rate(d.problem())
    if (id, edition) == ("kawaguchi2021/gd", "corrected"):
        assert rate is None
    else:
        assert rate is not None
        assert rate.value == pytest.approx(wanted["rate_independent"], rel=1e-9)


def test_a_given_constant_takes_the_place_of_the_best_one() -> None:
    d, kappa = runs.SQUARE, 0.37
    found = dq.judge("kawaguchi2021/thm1", d.problem(), constants={"kappa": kappa}).quantities
    values = {name: q.value for name, q in found.items()}
    assert values == pytest.approx(promised(d, kappa), rel=1e-9)


def test_the_curvature_on_the_ball() -> None:
    """rho(R) of Corollary 2: p (1 - p) at the far end of the ball, and 0 where there is none."""
    d = runs.BARE
    q = d.R * np.abs(d.Phi).sum(axis=0).max()
    rho = dq.bounds(d.problem()).quantities["rho_R"].value
    assert rho == pytest.approx(1 / (2 + 2 * math.cosh(q)), rel=1e-10)
    assert dq.bounds(runs.RIDGE.problem()).quantities["rho_R"].value == 0
    assert "rho_R" not in dq.bounds(runs.SQUARE.problem()).quantities


def test_the_smallest_constant_seen_where_none_is_proven() -> None:
    """A squared hinge on labels that no w separates: |grad L0|^2/(2 gap) along the flow."""
    d, horizon = TANGLED, 0.1
    run = flow(d, horizon)
    verdict = dq.judge(
        "kawaguchi2021/thm1", d.problem(), train={"kind": "flow", "horizon": horizon}
    )
    assert verdict.outcome == "undecided"
    judged = (*verdict.conclusions, *verdict.remarks)
    curves = {one.equation + one.name: one.curve for one in judged if one.curve}
    (t,) = {tuple(curve.t) for curve in curves.values()}
    seen = [float(np.sum(p.Q**2)) / (2 * p.gap) for p in map(run.at, t)]
    kappa, t = min(seen), np.array(t)
    independent, dependent, integrated = curves.values()
    for curve, rate in (
        (independent, d.floor * t),
        (dependent, run.infimum(t) * t),
        (integrated, run.integral(t)),
    ):
        wanted = np.exp(-2 * kappa * rate)
        assert (curve.bound.error < 1e-3).all()
        assert (np.abs(curve.bound.value - wanted) <= curve.bound.error + 1e-8).all()


def test_a_step_too_long_for_any_curvature() -> None:
    """|U - U_0| may reach 1/|V| on the way: beta is infinite, and no step is below 0."""
    d, step = runs.SQUARE, 1.5
    here = start(d)
    assert d.gamma / 2 * np.linalg.norm(here.V, 2) * step * here.slope > 1
    verdict = dq.judge(
        "kawaguchi2021/gd", d.problem(), train={"kind": "gd", "step": step, "steps": 1}
    )
    assert verdict.outcome == "not applicable"
    stable, contraction = verdict.hypotheses[-1], *verdict.conclusions
    assert (stable.decision, stable.left.value, stable.right.value) == ("violated", step, 0)
    assert contraction.decision == "undecided"


def test_by_how_much_a_faster_contraction_would_be_refuted() -> None:
    """What counts of a factor is its distance from 1."""
    d, step, steps = runs.SQUARE, 2e-3, 12
    run = descent(d, step, steps)
    gap = np.array([p.gap for p in run])
    beta = np.array([runs.curvature(p, step) for p in run[:-1]])
    promised = 2 * step * (1 - step * beta / 2) * d.kappa * [p.lambda_min for p in run[:-1]]
    train = {"kind": "gd", "step": step, "steps": steps}
    (contraction,) = dq.judge("kawaguchi2021/gd", d.problem(), train=train).conclusions
    room = float(((1 - gap[1:] / gap[:-1]) / promised).min())
    assert contraction.caught == pytest.approx(room, rel=1e-6)


def test_the_time_of_an_accuracy_lies_between_recorded_times() -> None:
    d, horizon = runs.FEW, 0.5
    train = {"kind": "flow", "horizon": horizon}
    first = dq.judge("kawaguchi2021/times", d.problem(), train=train).conclusions[0]
    recorded = dq.judge("kawaguchi2021/cor1", d.problem(), train=train).conclusions[1].curve.t
    at = int(np.searchsorted(recorded, flow(d, horizon).reaches(0.5)))
    ends = first.left.value - first.left.error, first.left.value + first.left.error
    assert ends == pytest.approx((recorded[at - 1], recorded[at]), rel=1e-12)


def test_an_accuracy_that_is_not_reached_is_not_judged() -> None:
    d = replace(runs.FEW, seed=1)
    found = dq.judge("kawaguchi2021/times", d.problem(), train={"kind": "flow", "horizon": 1e-4})
    assert found.conclusions == ()
    assert found.outcome == "not checked"


def test_labels_are_tangled() -> None:
    """No w has every margin positive: some convex combination of the signed samples is 0."""
    signed = TANGLED.Phi * TANGLED.Y
    angles = np.linspace(0, 2 * np.pi, 3601)
    w = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert ((w @ signed).min(axis=1) < 0).all()
