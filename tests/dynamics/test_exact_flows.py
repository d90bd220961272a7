"""Flows whose solution is known: no point outside its bar, and bars that are of use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.models.problem import Problem
from deqcheck.records.trajectory import Trajectory

Builder = Callable[..., Problem]


def one_feature(delm: Builder, gamma: float, horizon: float, seed: int) -> Trajectory:
    """m = 1: softmax(A) = 1, so the loss is quadratic in B, with one curvature."""
    train = GradientFlow(horizon=horizon)
    return train.run(delm(1, 30, 1, gamma, scale=0.3, seed=seed, train=train))


def exact(run: Trajectory) -> np.ndarray:
    """d gap/dt = -|g|^2 = -rate gap, with the rate of the start."""
    rate = run.gradient[0] ** 2 / run.gap.value[0]
    found: np.ndarray = run.gap.value[0] * np.exp(-rate * run.t)
    return found


def test_no_point_lies_outside_its_bar_and_twelve_orders_are_known(delm: Builder) -> None:
    draw, known = np.random.default_rng(3), []
    for seed in range(16):
        gamma, horizon = draw.uniform(0.02, 0.97), 10 ** draw.uniform(-2.5, 0)
        run = one_feature(delm, float(gamma), float(horizon), seed)
        truth = exact(run)
        # The rate itself is known to a few ulps.
        rounding = 1e-13 * truth * np.log(np.e * truth[0] / np.maximum(truth, 1e-300))
        assert (np.abs(run.gap.value - truth) <= run.gap.error + rounding).all(), (gamma, horizon)
        sharp = run.gap.error <= 1e-3 * run.gap.value
        if not sharp.all():
            known.append(truth[int(np.argmin(sharp)) - 1] / truth[0])
    assert len(known) >= 5 and np.median(known) < 1e-12


def test_near_rest_two_runs_are_not_wrong_alike(delm: Builder) -> None:
    """Steps as long as a whole segment made the error of both 1.5 times the bar."""
    draw = np.random.default_rng(0)
    for gamma in (0.7132, *draw.uniform(0.6, 0.8, 6)):
        run = one_feature(delm, float(gamma), 0.1, 0)
        late = exact(run) < 1e-16 * run.gap.value[0]
        assert (run.gap.low[late] <= exact(run)[late]).all()


@pytest.mark.parametrize("method", ["DOP853", "Radau", "LSODA"])
def test_the_length_of_a_straight_path_is_the_way(delm: Builder, method: str) -> None:
    """One weight moves: length = |B - B(0)|, also where most of it comes before the first time."""
    train = GradientFlow(horizon=200.0, method=method)
    p = delm(1, 1, 1, 0.5, train=train, Phi=[[1.0]], Y=[[1.0]], A=[[0.0]], B=[[0.0]])
    run = train.run(Problem(p.model, p.theta0, train, record_points=20))
    assert run.path is not None and run.path.error[-1] < 1e-4
    # z = 2 b tends to 1, with gap = exp(-16 t), so b = (1 - exp(-8 t))/2.
    assert (np.abs(run.path.value - (1 - np.exp(-8 * run.t)) / 2) <= run.path.error).all()


def test_a_small_way_from_large_weights_keeps_its_digits(delm: Builder) -> None:
    """|theta| = 1e6 and a way of 1e-3: as many digits as rounding of theta leaves."""
    train = GradientFlow(horizon=0.2)
    start = 1e6
    p = delm(1, 1, 1, 0.5, train=train, Phi=[[1.0]], Y=[[2 * start + 1e-3]], A=[[0.0]], B=[[start]])
    run = train.run(p)
    assert (np.abs(run.gap.value - exact(run)) <= run.gap.error).all()
    early = run.t <= 0.02
    assert (run.gap.error[early] < 1e-3 * run.gap.value[early]).all()
