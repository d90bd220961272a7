"""Stochastic gradient descent: batches, momentum, its twin in plain NumPy, and its error bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml

import deqcheck as dq
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.sgd import StochasticDescent, batches
from deqcheck.fields import read_record
from deqcheck.kinds import Dynamics, Loss, Model
from deqcheck.models.problem import Problem, gradient_radius, pack
from deqcheck.registry import kinds

Builder = Callable[..., Problem]


@pytest.mark.parametrize("kind", kinds(Model))
def test_the_gradient_of_a_batch_is_that_of_the_model_on_the_batch(kind: str) -> None:
    cls = kinds(Model)[kind]
    stated = dq.read({**yaml.safe_load(cls.example), "train": None}).stated
    p = dq.read({**yaml.safe_load(cls.example), "train": None}).problem()
    if not p.model.trains:
        pytest.skip("a model that is not trained")
    n, model = p.model.samples, stated.model
    data = {name: g.array for name, g in stated.data.arrays(model, 0).items()}
    batch = np.array([0, n - 1])
    letter = ({"n", "N"} & set(model.data_arrays[next(iter(data))])).pop()
    part = {name: a.take(batch, model.data_arrays[name].index(letter)) for name, a in data.items()}
    if "Z0" in model.optional:
        part["Z0"] = np.zeros((len(p.model.Z0), 2))
    loss = stated.loss or read_record(kinds(Loss)[model.default_loss], {}, None, "")
    alone = model.build(part, loss).at(p.theta0)
    weights = np.zeros(n)
    weights[batch] = 3.0
    found, radius = p.start.gradient_of(weights)
    wanted = 3 * pack(alone.objective.gradient)
    off = float(np.linalg.norm(pack(found) - wanted))
    assert off <= radius + 3 * gradient_radius(alone)
    assert radius <= 1e-10 * float(np.linalg.norm(wanted))


def plain(p: Problem, train: StochasticDescent) -> list[dict[str, np.ndarray]]:
    """The run of a relu-deq in plain NumPy, with PyTorch's momentum."""
    X, y = p.model.X, p.model.y
    theta, v, states = dict(p.theta0), dict.fromkeys(p.theta0, 0.0), [dict(p.theta0)]
    chosen = islice(batches(p.seed, len(y), train.batch), train.steps)
    for batch in chosen:
        g = {name: np.zeros_like(a) for name, a in theta.items()}
        for i in batch:
            x, z = X[:, i], np.zeros(len(theta["a"]))
            for _ in range(300):
                z = np.maximum(theta["W"] @ z + theta["U"] @ x, 0)
            on = np.diag((theta["W"] @ z + theta["U"] @ x > 0).astype(float))
            r = theta["a"] @ z - y[i]
            back = r * np.linalg.solve(np.eye(len(z)) - on @ theta["W"].T, on @ theta["a"])
            share = len(y) / len(batch)
            g["W"] += share * np.outer(back, z)
            g["U"] += share * np.outer(back, x)
            g["a"] += share * r * z
        v = {name: train.momentum * v[name] + g[name] for name in g}
        theta = {name: theta[name] - train.step * v[name] for name in g}
        states.append(theta)
    return states


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_it_is_the_run_in_plain_numpy(momentum: float) -> None:
    train = {"kind": "sgd", "step": 1e-4, "steps": 30, "batch": 2, "momentum": momentum}
    case = {**yaml.safe_load(kinds(Model)["relu-deq"].example), "train": train, "seed": 3}
    p = dq.read({**case, "data": {"kind": "gaussian", "n": 5, "dim": 4, "target": "gaussian"}})
    problem = p.problem()
    run = problem.train.run(problem)
    states = plain(problem, problem.train)
    assert all(np.allclose(run.final[n], states[-1][n], rtol=0, atol=1e-12) for n in run.final)
    for k, state in enumerate(states):
        loss = problem.model.at(state).objective.gap
        assert abs(loss - run.gap.value[k]) <= run.gap.error[k] + 1e-13 * loss, k


def test_an_epoch_sees_every_sample_once_and_draws_are_its_own() -> None:
    seen = list(islice(batches(4, 7, 3), 6))
    assert [len(batch) for batch in seen] == [3, 3, 1, 3, 3, 1]
    for epoch in (seen[:3], seen[3:]):
        assert sorted(np.concatenate(epoch)) == list(range(7))
    assert not np.array_equal(np.concatenate(seen[:3]), np.concatenate(seen[3:]))
    again = list(islice(batches(4, 7, 3), 6))
    assert all(np.array_equal(a, b) for a, b in zip(seen, again, strict=True))


# Stable, near the limit of stability, and beyond it: the errors grow with the run.
@pytest.mark.parametrize(("step", "momentum"), [(0.002, 0.0), (0.002, 0.9), (0.03, 0.5)])
def test_the_scalar_run_stays_within_its_bars_of_exact_arithmetic(
    delm: Builder, step: float, momentum: float
) -> None:
    Phi, Y = [[1.0, 0.5, -2.0]], [[1.0, 3.0, 0.25]]
    train = StochasticDescent(step=step, steps=60, batch=2, momentum=momentum)
    p = delm(1, 3, 1, 0.5, train=train, Phi=Phi, Y=Y, A=[[0.0]], B=[[0.3]])
    run = train.run(p)
    phi, y = ([Fraction(a) for a in row[0]] for row in (Phi, Y))
    B, v, h, mu = Fraction(0.3), Fraction(0), Fraction(step), Fraction(momentum)
    best = sum(a * b for a, b in zip(phi, y, strict=True)) / sum(a * a for a in phi)
    for k, batch in zip(range(61), batches(p.seed, 3, 2), strict=False):
        exact = float(sum(a * a for a in phi) * (2 * B - best) ** 2)
        assert abs(exact - run.gap.value[k]) <= run.gap.error[k], k
        scale = Fraction(3, len(batch))
        v = mu * v + scale * sum(4 * phi[i] * (2 * B * phi[i] - y[i]) for i in batch)
        B -= h * v
    assert run.gap.error[-1] < 1e-6 * run.gap.value[-1]


def test_a_batch_of_all_samples_without_momentum_is_gradient_descent(delm: Builder) -> None:
    p = delm(3, 6, 1, seed=2)
    stochastic = StochasticDescent(step=1e-3, steps=20, batch=6)
    one, other = stochastic.run(p), GradientDescent(step=1e-3, steps=20).run(p)
    assert (np.abs(one.gap.value - other.gap.value) <= one.gap.error + other.gap.error).all()
    train = {"kind": "sgd", "step": 1e-3, "steps": 20, "batch": 6}
    assert dq.judge("kawaguchi2021/gd", p, train=train).outcome == "confirmed"
    for change, name in (
        ({"batch": 5}, "all samples in each step"),
        ({"momentum": 0.1}, "no momentum"),
    ):
        found = dq.judge("kawaguchi2021/gd", p, train={**train, **change})
        assert found.outcome == "not applicable"
        assert [c.name for c in found.hypotheses if c.decision == "violated"] == [name]


def test_a_batch_is_no_larger_than_the_data(delm: Builder) -> None:
    with pytest.raises(dq.UsageError, match=r"train.batch: 7 is out of range; .* the 6 samples"):
        dq.run(delm(3, 6, 1), train={"kind": "sgd", "step": 1e-3, "steps": 5, "batch": 7})


@dataclass(frozen=True)
class Halves(Dynamics):
    """Dynamics of somebody's own, which say nothing of gradient descent."""

    kind: ClassVar[str] = "halves"
    step: ClassVar[float] = 1e-3

    def run(self, problem: Any, tracks: Any, infima: Any, report: Any) -> Any:
        return GradientDescent(step=self.step, steps=5).run(problem, tracks, infima, report)


def test_what_does_not_say_that_it_is_gradient_descent_is_not_judged_as_such(delm: Builder) -> None:
    p = delm(3, 6, 1, seed=2)
    found = dq.judge("kawaguchi2021/gd", p, train=Halves())
    assert found.outcome == "not applicable"
    assert found.hypotheses[0].name == "gradient descent or flow"
