"""ReLU implicit networks that descend together with their perturbed runs: within the error bars,
what they record is what each records step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from side import alike, step_by_step

from deqcheck.dynamics import recorder
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.together import run_one, run_together
from deqcheck.models.implicit_relu.stacked import StackedImplicitState
from deqcheck.models.problem import Problem

Builder = Callable[..., Problem]
NAMES = tuple(StackedImplicitState.measures)


def problem(implicit: Builder, N: int = 3, d: int = 4, m: int = 9, **given: Any) -> Problem:
    train = GradientDescent(step=5e-3, steps=30)
    return replace(implicit(N, d, m, **given), train=train, record_points=5)


def plain(implicit: Builder, **given: Any) -> Problem:
    """Of which every sample has a unit."""
    return next(
        p
        for seed in range(50)
        if (p := problem(implicit, seed=seed, **given)).start.Z.any(axis=0).all()
    )


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 4, 9), (2, 3, 20)])
@pytest.mark.parametrize("gamma", [0.05, 0.4])
def test_a_run_by_itself(implicit: Builder, shape: tuple[int, int, int], gamma: float) -> None:
    N, d, m = shape
    p = plain(implicit, N=N, d=d, m=m, gamma=gamma)
    run = run_one(p, NAMES, recorder.silent)
    alike(run, step_by_step(p, NAMES))
    assert run is not None and "Z" in run.distance


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_that_no_unit_sees(implicit: Builder, seed: int) -> None:
    r = np.random.default_rng(seed)
    X, W = r.normal(size=(3, 4)), r.normal(size=(4, 9))
    X[1], W[0] = (-1, 0, 0, 0), np.abs(W[0]) + 0.2
    p = problem(implicit, X=X, W=W, seed=seed)
    names = tuple(name for name in NAMES if name != "lambda_min_H")
    assert p.start.silent_samples.tolist() == [False, True, False]
    alike(run_one(p, names, recorder.silent), step_by_step(p, names))


def test_several_whoever_is_beside_them(implicit: Builder) -> None:
    problems = [plain(implicit, gamma=0.1 * (i + 1)) for i in range(3)]
    problems.insert(1, problem(implicit, X=np.vstack([np.eye(4)[:2], np.zeros(4)])))
    found = run_together(problems, [NAMES] * 4)
    # A sample that is 0 is on its kinks.
    assert found[1] is None
    for i in (0, 2, 3):
        alike(found[i], step_by_step(problems[i], NAMES))
        one, run = run_one(problems[i], NAMES, recorder.silent), found[i]
        assert one is not None and run is not None
        assert np.array_equal(one.gap.error, run.gap.error)
        assert np.array_equal(one.distance["Z"].value.error, run.distance["Z"].value.error)


@pytest.mark.parametrize(
    "given", [{"A": 4 * np.eye(9)}, {"W": -np.ones((4, 9)), "X": np.ones((3, 4))}, {"m": 1}]
)
def test_what_leaves_the_plain_way_is_left_to_single_steps(
    implicit: Builder, given: dict[str, Any]
) -> None:
    p = problem(implicit, gamma=0.3, **given)
    assert run_one(p, (), recorder.silent) is None
