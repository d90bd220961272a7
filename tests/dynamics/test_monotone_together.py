"""Monotone models that descend together with their perturbed runs: within the error bars,
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
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.monotone_deq.stacked import StackedMonotoneState
from deqcheck.models.problem import Problem

Builder = Callable[..., Problem]
NAMES = tuple(StackedMonotoneState.measures)


def problem(monotone: Builder, n: int = 8, d: int = 4, N: int = 3, **given: Any) -> Problem:
    train = GradientDescent(step=2e-3, steps=30)
    return replace(monotone(n, d, N, **given), train=train, record_points=5)


@pytest.mark.parametrize("shape", [(2, 2, 1), (8, 4, 3), (20, 3, 2), (3, 2, 5)])
@pytest.mark.parametrize("m", [0.1, 1.0, 3.0])
def test_a_run_by_itself(monotone: Builder, shape: tuple[int, int, int], m: float) -> None:
    # Of which every sample has a unit.
    p = next(
        p
        for seed in range(20)
        if (p := problem(monotone, *shape, m=m, seed=seed)).start.Z.any(axis=0).all()
    )
    alike(run_one(p, NAMES, recorder.silent), step_by_step(p, NAMES))


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_that_no_unit_sees(monotone: Builder, seed: int) -> None:
    r = np.random.default_rng(seed)
    X, U = r.normal(size=(4, 3)), r.normal(size=(8, 4))
    X[:, 1], U[:, 0] = (-1, 0, 0, 0), np.abs(U[:, 0]) + 0.2
    p = problem(monotone, X=X, U=U, seed=seed)
    assert p.start.silent_samples.tolist() == [False, True, False]
    alike(run_one(p, NAMES, recorder.silent), step_by_step(p, NAMES))


def test_several_whoever_is_beside_them(monotone: Builder) -> None:
    problems = [problem(monotone, m=0.5 * (i + 1), seed=i) for i in range(4)]
    problems.insert(1, problem(monotone, U=np.zeros((8, 4))))
    found = run_together(problems, [NAMES] * 5)
    # Without inputs every unit is on its kink.
    assert found[1] is None
    for i in (0, 2, 3, 4):
        alike(found[i], step_by_step(problems[i], NAMES))
        one, run = run_one(problems[i], NAMES, recorder.silent), found[i]
        assert one is not None and run is not None
        assert np.array_equal(one.gap.error, run.gap.error)


def test_a_step_of_the_splitting_and_single_units_are_left_to_single_steps(
    monotone: Builder,
) -> None:
    p = problem(monotone)
    model = MonotoneDeqModel(1.0, p.model.X, p.model.y, "forward-backward", 1e-3)
    assert run_one(replace(p, model=model), (), recorder.silent) is None
    assert run_one(problem(monotone, n=1), (), recorder.silent) is None
