"""Gradient descent: exact arithmetic on the scalar case, rounding, divergence, interruption."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.recorder import schedule
from deqcheck.models.problem import Problem
from deqcheck.records.verdict import Status

Builder = Callable[..., Problem]
SCALAR = {"Phi": [[1.0]], "Y": [[1.0]], "A": [[0.0]], "B": [[0.0]]}


def test_the_scalar_case_stays_within_its_error_bar_of_exact_arithmetic(delm: Builder) -> None:
    step = 0.01
    train = GradientDescent(step=step, steps=200)
    run = train.run(delm(1, 1, 1, 0.5, train=train, **SCALAR))
    factor = (1 - 8 * Fraction(step)) ** 2
    for k in (1, 7, 50, 200):
        assert abs(float(factor**k) - run.gap.value[k]) <= run.gap.error[k]
    assert run.t[-1] == pytest.approx(2.0) and run.k[-1] == 200


def test_divergence_is_a_status_with_what_was_computed(delm: Builder) -> None:
    train = GradientDescent(step=10.0, steps=5000)
    run = train.run(delm(1, 1, 1, 0.5, train=train, **SCALAR))
    assert run.status is Status.DIVERGED
    assert 10 < len(run.k) < 5000
    assert np.isfinite(run.gap.value).all()


def precise_gap(p: Problem, step: float, steps: int) -> mp.mpf:
    """Gradient descent in 40 digits (m = 2, one output, interpolating data: the infimum is 0)."""
    A, B = (mp.matrix(p.theta0[name].tolist()) for name in "AB")
    Phi, Y = (mp.matrix(getattr(p.model.outer, name).tolist()) for name in ("Phi", "Y"))
    g, step = mp.mpf(p.model.gamma), mp.mpf(step)
    for k in range(steps + 1):
        S = mp.matrix(2, 2)
        for j in range(2):
            S[0, j] = 1 / (1 + mp.exp(A[1, j] - A[0, j]))
            S[1, j] = 1 - S[0, j]
        inverse = (mp.eye(2) - g * S) ** -1
        Z = B * inverse
        R = Z * Phi - Y
        if k == steps:
            return mp.fsum(x**2 for x in R)
        G = 2 * R * Phi.T * inverse.T
        P = Z.T * G
        for j in range(2):
            mean = S[0, j] * P[0, j] + S[1, j] * P[1, j]
            for i in range(2):
                A[i, j] -= step * g * S[i, j] * (P[i, j] - mean)
        B -= step * G
    raise AssertionError


@pytest.mark.parametrize("step", [1e-3, 2e-2])
def test_the_error_bar_covers_descent_in_forty_digits(delm: Builder, step: float) -> None:
    p = delm(2, 2, 1, seed=3)
    run = GradientDescent(step=step, steps=120).run(p)
    with mp.workdps(40):
        for k in (1, 40, 120):
            assert abs(precise_gap(p, step, k) - run.gap.value[k]) <= run.gap.error[k]


def test_an_interruption_keeps_what_is_known(delm: Builder) -> None:
    train = GradientDescent(step=1e-3, steps=100_000)

    def stop(progress: object) -> None:
        if progress.k > 50:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    run = train.run(delm(train=train), ["lambda_min_D"], report=stop)
    assert run.status is Status.INTERRUPTED
    assert 50 < len(run.k) < 200


def test_schedule() -> None:
    assert schedule(10, 200).tolist() == list(range(11))
    long = schedule(100_000, 200)
    assert long[0] == 0 and long[-1] == 100_000
    assert 120 < len(long) <= 200
    assert (np.diff(long) > 0).all()
