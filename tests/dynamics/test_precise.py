"""Gradient descent in many digits, which a refutation is repeated by."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.case import read_text
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.precise import WORK, repeated, run_precisely, work
from deqcheck.kinds import Model
from deqcheck.linalg.precise import (
    Balls,
    Decimals,
    Numbers,
    Uncertain,
    numbers,
    relu_certain,
    solve,
)
from deqcheck.models.opteq.precise import PreciseNetwork
from deqcheck.models.problem import Problem, gradient_radius, pack
from deqcheck.records.trajectory import Trajectory
from deqcheck.registry import kinds

Builder = Callable[..., Problem]
FLINT = find_spec("flint") is not None
EVERY: list[Numbers] = [Decimals(), *([Balls(256)] if FLINT else [])]
every_kind = pytest.mark.parametrize("digits", EVERY, ids=lambda d: d.name)


def example(kind: str) -> Problem:
    """The model of `deqcheck new`."""
    return read_text(f"deqcheck: 1\n{kinds(Model)[kind].example}\n", "case", Path()).problem()


def test_balls_are_taken_where_there_are_any() -> None:
    assert [each.name for each in numbers()] == (
        [f"balls of {bits} bits" for bits in (256, 1024, 4096)] if FLINT else ["60 digits"]
    )


@every_kind
def test_a_system_is_solved_to_its_digits(digits: Numbers) -> None:
    """Hilbert's matrix, of condition 1e13, times its inverse, which has integers."""
    n = 10
    with digits.working():
        one = digits.lift_one(1.0)
        H = np.array([[one / (i + j + 1) for j in range(n)] for i in range(n)])
        inverse = digits.lower(solve(H, digits.lift(np.eye(n))))
    assert inverse[0, 0] == 100 and inverse[-1, -1] == 44914183600
    assert (inverse == np.round(inverse)).all() and (inverse == inverse.T).all()
    with pytest.raises(Uncertain):
        solve(digits.lift(np.ones((2, 2))), digits.lift(np.eye(2)))


@pytest.mark.skipif(not FLINT, reason="needs python-flint")
def test_a_sign_that_a_ball_does_not_tell_is_uncertain() -> None:
    digits = Balls(256)
    with digits.working():
        third = digits.lift_one(1.0) / 3
        assert relu_certain(np.array([third, -third, digits.lift_one(0.0)])).tolist() == [
            True,
            False,
            False,
        ]
        with pytest.raises(Uncertain):
            relu_certain(np.array([3 * third - 1]))
        with pytest.raises(Uncertain):
            digits.lower(np.array([digits.lift_one(1.0) + (3 * third - 1) * 1e60]))


def same_up_to_bars(p: Problem, steps: int, digits: Numbers) -> Trajectory:
    """The gradient is the fast one up to that one's bar, and a run, which is returned, the same."""
    with digits.working():
        lifted = {name: digits.lift(array) for name, array in p.theta0.items()}
        found = p.model.precise_gradient(lifted, digits)
        gradient = pack({name: digits.lower(array) for name, array in found.items()})
    off = float(np.linalg.norm(gradient - pack(p.start.objective.gradient)))
    assert off <= gradient_radius(p.start)
    run, own = run_precisely(p, steps, digits), GradientDescent(step=p.step, steps=steps).run(p)
    assert (np.abs(run.gap.value - own.gap.value) <= own.gap.error + run.gap.error).all()
    return run


@every_kind
@pytest.mark.parametrize("kind", ["delm", "implicit-relu", "monotone-deq", "relu-deq"])
def test_it_is_the_run_in_floats_up_to_its_bars(kind: str, digits: Numbers) -> None:
    run = same_up_to_bars(example(kind), 3, digits)
    assert (run.gap.error[1:] > 0).all() and (run.gap.error <= 1e-11 * run.gap.value).all()


@every_kind
@pytest.mark.parametrize("m", [0.3, 2.5])
def test_a_modulus_that_is_not_1(monotone: Builder, digits: Numbers, m: float) -> None:
    same_up_to_bars(monotone(m=m, train=GradientDescent(step=1e-3, steps=2)), 2, digits)


def test_descent_whose_errors_grow_keeps_its_digits(delm: Builder) -> None:
    """Beyond the limit of stability floats soon know nothing; 60 digits do, and balls of 1024 bits
    agree with them (those of 256 bits have become too wide)."""
    p = delm(3, 3, 1, gamma=0.6, seed=3)
    step = 1.2 / float(np.linalg.norm(p.start.equilibrium, 2)) ** 2
    train = GradientDescent(step=step, steps=25)
    rough = train.run(p)
    assert np.isinf(rough.gap.error[-1])
    fine = [Decimals(), *([Balls(1024)] if FLINT else [])]
    runs = [run_precisely(p.trained_by(train), 25, digits) for digits in fine]
    assert all((run.gap.error <= 1e-6 * run.gap.value).all() for run in runs)
    assert (np.abs(runs[0].gap.value - rough.gap.value) <= rough.gap.error).all()
    assert all(np.array_equal(run.gap.value, runs[0].gap.value) for run in runs)


def test_the_shipped_counterexample_is_refuted_again() -> None:
    found = dq.run("kawaguchi2021/gd-counterexample")["kawaguchi2021/gd", "printed"]
    assert found.outcome == "refuted"
    assert found.notes[-1] == f"refuted again in {numbers()[0].name}, after 2 steps"


def opteq(activation: str, **fields: Any) -> Problem:
    model = {"kind": "opteq", "alpha": 0.5, "m": 3, "n": 4, "activation": activation, **fields}
    return dq.read(
        {
            "deqcheck": 1,
            "data": {"kind": "gaussian", "n": 2, "dim": 2, "target": {"kind": "gaussian"}},
            "model": model,
            "init": {"kind": "gaussian", "scale": 0.4},
            "train": {"kind": "gd", "step": 0.05, "steps": 3},
        }
    ).problem()


@every_kind
@pytest.mark.parametrize(
    ("activation", "fields"),
    [
        ("relu", {"iterations": 3, "depth": 2}),
        ("hardtanh", {"iterations": 2}),
        ("relu", {"solver": "implicit", "depth": 2}),
        ("hardtanh", {"solver": "implicit"}),
        ("identity", {"solver": "implicit"}),
        ("softplus", {"iterations": 2, "extractor": "tanh", "features": 3}),
        ({"kind": "mix", "k": 0.5}, {"iterations": 2}),
    ],
)
def test_opteq_in_many_digits(activation: str, fields: dict[str, Any], digits: Numbers) -> None:
    same_up_to_bars(opteq(activation, **fields), 2, digits)


@pytest.mark.parametrize(("activation", "depth"), [("relu", 2), ("hardtanh", 1), ("identity", 2)])
def test_an_equilibrium_in_many_digits_is_the_same_from_wherever_it_is_looked_for(
    activation: str, depth: int
) -> None:
    """One step on its piece finds it: no digit is left of where the step began."""
    p, digits = opteq(activation, solver="implicit", depth=depth), Decimals()
    with digits.working():
        theta = {name: digits.lift(array) for name, array in p.theta0.items()}
        network = PreciseNetwork(p.model, theta, digits)
        at, beside = (network.gradient(Z) for Z in (p.start.Z, p.start.Z + 1e-6))
        for name, array in at.items():
            assert (abs(array - beside[name]) < decimal.Decimal("1e-50")).all()


@pytest.mark.parametrize(
    "fields",
    [
        {"solver": "implicit"},
        {"solver": "implicit", "prox": "l1"},
        {"iterations": 2, "sam": {"beta": 0.1, "gamma": 0.1}},
    ],
)
def test_a_model_without_digits_says_so(fields: dict[str, Any]) -> None:
    """The equilibrium of a smooth map, a proximal layer, and SAM."""
    run, why = repeated(opteq("tanh", **fields), 2, ())
    assert run is None and why == "'opteq' has no gradient in them"


def test_a_refutation_of_opteq_is_repeated() -> None:
    found = dq.run("xie2021/thm5-step")["xie2021/thm5", "printed"]
    assert found.outcome == "refuted"
    assert found.notes[-1] == f"refuted again in {numbers()[0].name}, after 2 steps"


def test_iterations_count_as_work() -> None:
    long, short = (opteq("relu", iterations=k) for k in (1000, 10))
    assert work(long, 5) == 100 * work(short, 5) > WORK / 10
