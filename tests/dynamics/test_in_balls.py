"""Gradient descent in balls: against rational numbers, and what is certified by it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.certificates.write import sealed
from deqcheck.dynamics import in_balls
from deqcheck.dynamics.in_balls import BallDescent, InBalls
from deqcheck.models.problem import AnyProblem
from deqcheck.records import tower

flint = pytest.importorskip("flint")


def problem(model: str = "relu-deq", steps: int = 12) -> AnyProblem:
    r = np.random.default_rng(7)
    train = {"kind": "gd", "step": 0.05, "steps": steps}
    if model == "delm":
        data = {"Phi": r.normal(size=(2, 3)), "Y": r.normal(size=(1, 3))}
        init = {"A": r.normal(size=(2, 2)), "B": r.normal(size=(1, 2))}
        return dq.problem(model, data=data, init=init, gamma=0.5, train=train)
    if model.startswith("opteq"):
        data = {"X": r.normal(size=(2, 2)), "Y": 2 + r.normal(size=(1, 2))}
        init = {"W1": 0.4 * r.normal(size=(2, 2)), "U1": r.normal(size=(2, 2))}
        init |= {"b1": r.normal(size=2), "Wo": r.normal(size=(1, 2))}
        fields = {"activation": model.partition(" ")[2], "alpha": 0.5, "iterations": 3}
        return dq.problem("opteq", data=data, init=init, train=train, **fields)
    W = r.normal(size=(3, 3))
    data = {"X": r.normal(size=(2, 2)), "y": 2 + r.normal(size=2)}
    init = {"W": 0.4 * W / np.linalg.norm(W, 2), "U": r.normal(size=(3, 2)), "a": 1 + r.random(3)}
    return dq.problem(model, data=data, init=init, train=train)


def ends(found: BallDescent, k: int) -> tuple[Fraction, Fraction]:
    node = found.gap_after(k)
    assert node is not None
    ball = found._gaps[k]
    low, high = (Fraction(*map(int, (x.man_exp()[0], 1))) for x in (ball.mid(), ball.rad()))
    mid, rad = (
        low * Fraction(2) ** int(ball.mid().man_exp()[1]),
        high * Fraction(2) ** int(ball.rad().man_exp()[1]),
    )
    return mid - rad, mid + rad


def test_one_unit_against_rational_numbers() -> None:
    """z = u x/(1 - w), and every number of the run is rational."""
    w, u, a, x, y, step = (Fraction(n, 8) for n in (2, 3, 5, 9, 4, 1))
    p = dq.problem(
        "relu-deq",
        data={"X": [[float(x)]], "y": [float(y)]},
        init={"W": [[float(w)]], "U": [[float(u)]], "a": [float(a)]},
        train={"kind": "gd", "step": float(step), "steps": 4},
    )
    nodes = p.start.exact_descent()
    assert nodes is not None
    found = BallDescent(p, nodes, 256)
    for k in range(5):
        z = u * x / (1 - w)
        r = a * z - y
        low, high = ends(found, k)
        assert low <= r * r / 2 <= high and high - low < Fraction(1, 10**40)
        v = a / (1 - w) * r
        w, u, a = w - step * v * z, u - step * v * x, a - step * r * z


@pytest.mark.parametrize("model", ["relu-deq", "delm", "opteq tanh", "opteq hardtanh"])
def test_more_bits_lie_inside_and_the_run_in_floats_is_near(model: str) -> None:
    p = problem(model)
    nodes = p.start.exact_descent()
    assert nodes is not None
    coarse, fine = BallDescent(p, nodes, 128), BallDescent(p, nodes, 512)
    run = p.train.run(p)
    for k in range(13):
        (low, high), (inner_low, inner_high) = ends(coarse, k), ends(fine, k)
        assert low <= inner_low <= inner_high <= high
        at = int(np.flatnonzero(run.k == k)[0])
        assert abs(float(inner_low) - run.gap.value[at]) <= run.gap.error[at]
    assert not fine.ended and run.gap.value[-1] < 0.99 * run.gap.value[0]


def test_a_ball_that_touches_a_kink_ends_the_run() -> None:
    p = problem(steps=40)
    nodes = p.start.exact_descent()
    assert nodes is not None
    found = BallDescent(p, nodes, 12)
    known = [k for k in range(41) if found.gap_after(k) is not None]
    assert known == list(range(len(known))) and len(known) < 41
    assert found.ended.startswith(f"certified until k = {len(known) - 1}: ")


def test_bits_come_from_a_pilot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = (InBalls(problem(steps=steps)) for steps in (20, 2000))
    assert short._run is not None and long._run is not None
    assert short._run.bits < long._run.bits and not short.ended
    monkeypatch.setattr(in_balls, "MOST", 100)
    assert InBalls(problem()).gap_after(0) is None


def test_a_bound_along_the_run_is_certified(tmp_path: Path) -> None:
    """And checked by those who run the descent again; a smaller step is another run."""
    path = tmp_path / "a.json"
    report = dq.run("kawaguchi2021/gd-counterexample", certificate=path, edition="printed")
    (curve,) = (c for c in report.verdicts[0].conclusions if c.name.startswith("bound for any"))
    assert curve.basis.certified and curve.basis.by.startswith("ball")
    assert "again" not in json.dumps(curve.proof)
    certificate = json.loads(path.read_text())
    told = {line.claim: line.word for line in dq.verify(certificate).lines}
    assert told[curve.name] == "re-checked"
    for change in (_other_step, _other_point, _other_gradient, _not_moving):
        body = json.loads(json.dumps(certificate["body"]))
        change(body, curve.name)
        assert not dq.verify(sealed(body), alone=True).ok, change.__name__
        assert not dq.verify(sealed(body)).ok, change.__name__


def _claim(body: Any, name: str) -> Any:
    return next(c for c in body["verdicts"][0]["conclusions"] if c["name"] == name)


def _other_step(body: Any, name: str) -> None:
    body["descent"]["step"] = "1/8"


def _other_point(body: Any, name: str) -> None:
    point = _claim(body, name)["points"][3]
    point[1] = [str(Fraction(x) + 1) for x in point[1]]


def _other_gradient(body: Any, name: str) -> None:
    A, B = (body["descent"]["gradient"][n] for n in "AB")
    body["descent"]["gradient"] = {"A": B, "B": A}


def _not_moving(body: Any, name: str) -> None:
    _claim(body, name)["moving"] = []


def test_without_certify_nothing_is_followed() -> None:
    report = dq.run("kawaguchi2021/gd-counterexample", edition="printed")
    assert not any(c.basis.certified for c in report.verdicts[0].conclusions)
    assert tower.is_certifying() is False


def test_another_run_is_not_taken_for_this_one() -> None:
    """The exact numbers of a run from elsewhere lie outside of its bars."""
    from deqcheck.records.tower.following import following
    from deqcheck.theorems.along import ExactLeaves

    p = problem()
    run = p.train.run(p)
    other = replace(p, theta0={name: 1.5 * a for name, a in p.theta0.items()})
    for followed, known in ((InBalls(p), True), (InBalls(other), False)):
        with following(followed):
            leaves = ExactLeaves.of(run, {"gap": run.gap, "gap_0": run.gap[0]})
            assert leaves is not None
            assert (leaves.at(len(run.k) - 1) is not None) is known
