"""OptEq networks that descend ahead of what is looked at, against the same run step by step and
against each state alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from side import alike, step_by_step

from deqcheck.dynamics import recorder
from deqcheck.dynamics.ahead import run_ahead
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.opteq.many import NormBounds
from deqcheck.models.problem import Problem
from tests.opteq_instances import arrays, problem

MIX = {"kind": "mix", "k": 0.5}
NAMES = ("sigma_min_Z", "lambda_min_JJt")
# Activation, samples, width, layers, iterations, alpha.
NETWORKS: list[tuple[Any, int, int, int, int, float]] = [
    ("tanh", 3, 5, 1, 3, 0.3),
    ("tanh", 6, 4, 1, 2, 1.0),
    (MIX, 3, 5, 2, 3, 0.6),
    ("softplus", 2, 3, 3, 1, 0.5),
    ("identity", 3, 4, 1, 12, 0.2),
]


def network(
    activation: Any, N: int, m: int, depth: int, K: int, alpha: float, **given: Any
) -> Problem:
    data, theta = arrays(N + m, N, m, 2, 2, depth, 3)
    fields = {"depth": depth, "iterations": K, "alpha": alpha, "activation": activation, **given}
    p = problem(data, theta, **fields)
    return replace(p, train=GradientDescent(step=1e-3, steps=40), record_points=5)


@pytest.mark.parametrize("given", NETWORKS, ids=str)
def test_a_run_is_that_of_single_steps(given: tuple[Any, int, int, int, int, float]) -> None:
    p = network(*given)
    alike(run_ahead(p, NAMES, recorder.silent), step_by_step(p, NAMES))


@pytest.mark.parametrize("given", NETWORKS, ids=str)
def test_every_row_has_the_numbers_and_radii_of_its_state(
    given: tuple[Any, int, int, int, int, float],
) -> None:
    p, r = network(*given), np.random.default_rng(0)
    many = p.model.many(p.shapes)
    assert many is not None
    rows = [
        {name: a + scale * r.normal(size=a.shape) for name, a in p.theta0.items()}
        for scale in (0.0, 0.01, 0.2, 0.0)
    ]
    gradients, seen = zip(*(many.gradient(theta) for theta in rows), strict=True)
    found = many.at({n: np.stack([theta[n] for theta in rows]) for n in p.theta0}, seen)
    assert found.fine.all()
    for i, theta in enumerate(rows):
        state = p.model.at(theta)
        alone = state.objective
        assert abs(alone.gap - found.gap[i]) <= alone.error + found.error[i]
        off = [np.linalg.norm(gradients[i][n] - g) for n, g in alone.gradient.items()]
        assert np.linalg.norm(off) <= state.gradient_radius
        # Bounds of norms may be too large by a share that all layers together make a factor of.
        for one, other in ((found.error[i], alone.error), (found.radius[i], state.gradient_radius)):
            assert 0.99 * other <= one <= 4 * other
        for name in NAMES:
            own, measured = state.measure(name), found.measure(name)
            value, error = measured.value[i], measured.error[i]
            assert abs(own.value - value) <= own.error + error
            assert own.error * (1 - 1e-9) <= error <= 4 * own.error
            assert found.values(name, found, np.arange(i))[i] == value
    some = found.some(np.array([2, 0]))
    assert np.array_equal(some.gap, found.gap[[2, 0]])
    for name in NAMES:
        assert np.array_equal(some.measure(name).error, found.measure(name).error[[2, 0]])


@pytest.mark.parametrize("given", NETWORKS, ids=str)
def test_states_that_are_measured_together_have_their_own_quantities(
    given: tuple[Any, int, int, int, int, float],
) -> None:
    p, r = network(*given), np.random.default_rng(1)
    states = [
        p.model.at({name: a + scale * r.normal(size=a.shape) for name, a in p.theta0.items()})
        for scale in (0.0, 1e-3, 0.2, 3.0)
    ]
    assert p.model.states_at_once > 1
    for state, found in zip(states, p.model.quantities(states, NAMES), strict=True):
        plain, own = state.plain, state.objective
        assert abs(plain.gap - own.gap) <= own.error
        for name in NAMES:
            alone, together = state.measure(name), found[name]
            assert abs(alone.value - together.value) <= alone.error + together.error
            assert alone.error * (1 - 1e-9) <= together.error <= 4 * alone.error


@pytest.mark.parametrize(
    "given",
    [
        {"activation": "relu"},
        {"extractor": "tanh"},
        {"sam": {"beta": 0.4, "gamma": 0.3}},
        {"solver": "implicit", "iterations": None},
    ],
    ids=str,
)
def test_other_networks_are_left_to_single_steps(given: dict[str, Any]) -> None:
    data, theta = arrays(1, 2, 3, 1, 1, 1, 2)
    if "extractor" in given:
        theta = {"W0": np.ones((1, 1)), **theta}
    fields = {"iterations": 2, "activation": "tanh", "alpha": 0.5, **given}
    assert problem(data, theta, **fields).model.many({}) is None


@pytest.mark.parametrize("shape", [(4, 6), (60, 50)])
def test_bounds_of_norms_hold_and_are_near(shape: tuple[int, int]) -> None:
    r = np.random.default_rng(3)
    moves = np.cumsum(
        r.normal(size=(50, *shape)) * r.choice([0, 1e-3, 0.3], size=(50, 1, 1)), axis=0
    )
    W = r.normal(size=shape) + moves
    norms = np.linalg.norm(W, ord=2, axis=(1, 2))
    for passes in (1, 20):
        found, more = NormBounds(passes).of(W), 0.21 / max(1, passes / 2) + 0.021
        assert (found >= norms).all() and (found <= norms * (1 + more)).all()
    assert np.allclose(NormBounds(1).of(W[:, :1]), np.linalg.norm(W[:, 0], axis=1), rtol=1e-12)
