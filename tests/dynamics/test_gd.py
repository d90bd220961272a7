"""Gradient descent: exact arithmetic on the scalar case, rounding, divergence, interruption."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deqcheck.dynamics import ahead, recorder
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.perturbed_run import patterns
from deqcheck.dynamics.recorder import schedule
from deqcheck.dynamics.steps import Descent, walk
from deqcheck.models.delm.model import DelmModel
from deqcheck.models.problem import NoEquilibrium, Problem, State
from deqcheck.records.trajectory import Trajectory
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


def test_what_rounding_does_to_a_sum_does_not_cancel(delm: Builder) -> None:
    """With m = 1 the softmax is 1, and a step is rational; it takes most of B away."""
    step, gamma, given = 0.00064, 0.97, [(4, 53), (5, 67)]
    B, Y = ([[each[i]] for each in given] for i in (0, 1))
    train = GradientDescent(step=step, steps=1)
    run = train.run(delm(1, 1, 2, gamma, Phi=[[1]], Y=Y, A=[[0]], B=B, train=train), ["norm1.B"])
    c = 1 / (1 - Fraction(gamma))
    exact = sum(abs(b - Fraction(step) * 2 * (c * b - y) * c) for b, y in given)
    found = run.series["norm1.B"].value[1]
    assert abs(Fraction(float(found.value)) - exact) <= Fraction(float(found.error))


def test_divergence_is_a_status_with_what_was_computed(delm: Builder) -> None:
    train = GradientDescent(step=10.0, steps=5000)
    run = train.run(delm(1, 1, 1, 0.5, train=train, **SCALAR))
    assert run.status is Status.DIVERGED
    assert 10 < len(run.k) < 5000
    assert np.isfinite(run.gap.value).all()


def test_a_second_run_that_is_looked_at_now_and_then_shows_as_much(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = GradientDescent(step=1e-3, steps=103)
    p = delm(4, 9, 2, train=train)
    now_and_then = train.run(p, ["lambda_min_D"]).series["lambda_min_D"].value
    monkeypatch.setattr(recorder, "ONE_COMPARED", 1)
    always = train.run(p, ["lambda_min_D"]).series["lambda_min_D"].value
    np.testing.assert_array_equal(now_and_then.value, always.value)
    # Until it is looked at again, what is seen then counts.
    later = np.minimum(np.arange(104) // 4 * 4 + 4, 103)
    assert (now_and_then.error >= always.error / 2).all()
    assert (now_and_then.error <= always.error + always.error[later]).all()
    # The last one is always compared.
    assert now_and_then.error[-1] <= always.error[-1] <= 2 * now_and_then.error[-1]


@pytest.mark.parametrize("together", [1, 64])
@pytest.mark.parametrize("call", [17, 18, 19, 20, 40])
def test_an_interruption_while_quantities_are_measured_loses_none(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, together: int, call: int
) -> None:
    run, measured = _until(delm, monkeypatch, together, call, KeyboardInterrupt)
    assert run.status is Status.INTERRUPTED
    assert len(run.series["lambda_min_D"].t) == measured


@pytest.mark.parametrize("call", [17, 18, 19, 20, 40])
def test_a_state_that_cannot_be_measured_ends_the_run(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    run, measured = _until(delm, monkeypatch, 1, call, NoEquilibrium)
    assert run.status is Status.NO_EQUILIBRIUM
    assert len(run.series["lambda_min_D"].t) == measured - 1


def _until(
    delm: Builder,
    monkeypatch: pytest.MonkeyPatch,
    together: int,
    call: int,
    error: type[BaseException],
) -> tuple[Trajectory, int]:
    """A run whose quantities raise an error once, and at how many states they were asked for."""
    calls, samples = 0, 0

    def quantities(model: object, states: list[State], names: list[str]) -> list[object]:
        nonlocal calls, samples
        samples += 1
        found = []
        for state in states:
            calls += 1
            if calls == call:
                raise error("now")
            found.append({name: state.measure(name) for name in names})
        return found

    monkeypatch.setattr(DelmModel, "states_at_once", together)
    monkeypatch.setattr(DelmModel, "quantities", quantities)
    train = GradientDescent(step=1e-3, steps=100)
    p = delm(3, 6, 1, train=train)
    run = walk(p, train, Descent(p, 1e-3, 100), ["lambda_min_D"], recorder.silent)
    # One by one, each call is a sample, and an interrupted one is asked for again.
    again = error is KeyboardInterrupt
    return run, samples - again if together == 1 else len(run.k)


def precise(p: Problem, step: float, steps: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Gradient descent in 70 digits: gaps above the infimum, and |A - A_0|."""
    A, B = (mp.matrix(p.theta0[name].tolist()) for name in "AB")
    Phi, Y = (mp.matrix(getattr(p.model.outer, name).tolist()) for name in ("Phi", "Y"))
    g, h, m, start = mp.mpf(p.model.gamma), mp.mpf(step), A.rows, A.copy()
    infimum = mp.mpf(0)
    if Phi.cols > m:
        infimum = _squares(Y * Phi.T * (Phi * Phi.T) ** -1 * Phi - Y)
    gaps, moved = [], []
    for _ in range(steps + 1):
        S = A.apply(mp.exp)
        for j in range(m):
            total = mp.fsum(S[:, j])
            for i in range(m):
                S[i, j] /= total
        inverse = (mp.eye(m) - g * S) ** -1
        Z = B * inverse
        R = Z * Phi - Y
        gaps.append(_squares(R) - infimum)
        moved.append(mp.sqrt(_squares(A - start)))
        G = 2 * R * Phi.T * inverse.T
        P = Z.T * G
        for j in range(m):
            mean = mp.fsum(S[i, j] * P[i, j] for i in range(m))
            for i in range(m):
                A[i, j] -= h * g * S[i, j] * (P[i, j] - mean)
        B -= h * G
    return gaps, moved


def _squares(a: mp.matrix) -> mp.mpf:
    return mp.fsum(x**2 for x in a)


def drawn(delm: Builder, seed: int) -> tuple[Problem, float]:
    """Random sizes, and steps from well below to well above the stability limit of B."""
    r = np.random.default_rng(seed)
    m, my, n = int(r.integers(1, 4)), int(r.integers(1, 3)), int(r.integers(1, 4))
    gamma = float(r.choice([0.3, 0.6, 0.9, 0.99]))
    share = float(r.choice([0.3, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0]))
    p = delm(m, n, my, gamma, scale=float(r.choice([0.1, 0.5, 2])), seed=seed)
    return p, share / float(np.linalg.norm(p.start.equilibrium, 2)) ** 2


# Steps above the limit: chaotic from the start (2, 7, 41, 53, 62, 71) or diverging (75); and
# ordinary ones with an ill-conditioned gradient (15) or one that is zero in exact arithmetic (14).
@pytest.mark.parametrize("seed", [2, 7, 14, 15, 41, 53, 62, 71, 75])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_descent_in_seventy_digits_stays_within_the_error_bars(delm: Builder, seed: int) -> None:
    p, step = drawn(delm, seed)
    run = GradientDescent(step=step, steps=100).run(p)
    with mp.workdps(70):
        gaps, moved = precise(p, step, int(run.k[-1]))
        for k, gap in enumerate(gaps):
            assert abs(gap - run.gap.value[k]) <= run.gap.error[k], k
        distance = run.distance["A"]
        for i, k in enumerate(distance.k):
            assert abs(moved[k] - distance.value.value[i]) <= distance.value.error[i], k


def test_a_chaotic_run_is_known_only_until_its_errors_have_grown(delm: Builder) -> None:
    p, step = drawn(delm, 7)
    run = GradientDescent(step=step, steps=100).run(p, ["lambda_min_D"])
    lost = int(np.argmax(np.isinf(run.gap.error)))
    assert 0 < lost < 50 and np.isinf(run.gap.error[lost:]).all()
    assert np.isinf(run.series["lambda_min_D"].value.error[lost:]).all()
    assert run.notes == (
        f"rounding decides how the run goes on from k = {lost}: nothing is known of it from there "
        "on",
    )


def test_a_contracting_run_keeps_its_digits(delm: Builder) -> None:
    run = GradientDescent(step=1e-3, steps=2000).run(delm(4, 9, 2, seed=1))
    assert np.all(run.gap.error <= 1e-8 * run.gap.value)
    assert run.notes == ()


def test_an_interruption_keeps_what_is_known(delm: Builder) -> None:
    train = GradientDescent(step=1e-3, steps=100_000)

    def stop(progress: object) -> None:
        if progress.k > 50:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    run = train.run(delm(train=train), ["lambda_min_D"], report=stop)
    assert run.status is Status.INTERRUPTED
    # All steps that were looked at together.
    assert len(run.k) == ahead.STEPS


def test_schedule() -> None:
    assert schedule(10, 200).tolist() == list(range(11))
    long = schedule(100_000, 200)
    assert long[0] == 0 and long[-1] == 100_000
    assert 120 < len(long) <= 200
    assert (np.diff(long) > 0).all()


def test_pushes_are_of_either_sign_and_of_sizes_from_a_half_to_one() -> None:
    found = patterns(0, 2000)
    sizes = np.abs(found)
    assert sizes.min() >= 0.5 and sizes.max() <= 1 and len(np.unique(sizes)) == len(sizes)
    # Uniform: 3/4 in the mean, and any size with either sign.
    for side in (found[found > 0], -found[found < 0]):
        assert 0.45 < len(side) / len(found) < 0.55
        assert side.mean() == pytest.approx(0.75, abs=0.02) and np.ptp(side) > 0.49
