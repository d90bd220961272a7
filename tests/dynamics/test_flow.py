"""Gradient flow: accuracy with its error bar, infima, interruption and failure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.dynamics import flow, integration
from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.memory import Memory
from deqcheck.models.problem import NoEquilibrium, Problem
from deqcheck.records.measured import EPS
from deqcheck.records.series import Series
from deqcheck.records.verdict import Status

Builder = Callable[..., Problem]
SCALAR = {"Phi": [[1.0]], "Y": [[1.0]], "A": [[0.0]], "B": [[0.0]]}


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "LSODA"])
def test_one_feature_follows_its_exponential_within_the_error_bar(
    delm: Builder, method: str
) -> None:
    # z = b/(1-g): gap = (2b - 1)^2 at g = 1/2, db/dt = -4(2b - 1), so gap = exp(-16 t).
    train = GradientFlow(horizon=0.5, method=method, rtol=1e-8)
    p = delm(1, 1, 1, 0.5, train=train, **SCALAR)
    run = train.run(p)
    assert run.status is Status.COMPLETED
    assert (np.abs(run.gap.value - np.exp(-16 * run.t)) <= run.gap.error).all()
    # The bar of a multistep method is three hundred times the difference of its two runs.
    useful = 5e-2 if method in flow.MULTISTEP else 1e-4
    assert (run.gap.error[1:] < useful * run.gap.value[1:]).all()


@pytest.mark.parametrize("method", ["BDF", "LSODA", "DOP853"])
@pytest.mark.parametrize("rtol", [1.5e-4, 1e-7, 3e-14])
def test_no_method_is_trusted_beyond_its_bar(delm: Builder, method: str, rtol: float) -> None:
    # m = 1 again: gap = gap(0) exp(-4 phi^2 t/(1 - g)^2) exactly.
    phi, g = -1.1785877086200354, 0.15942632655299036
    train = GradientFlow(horizon=0.025433009704717596, method=method, rtol=rtol, atol=1e-9)
    arrays = {
        "Phi": [[phi]],
        "Y": [[0.07705198432948072]],
        "A": [[-1.6]],
        "B": [[5.647382817186658]],
    }
    run = train.run(delm(1, 1, 1, g, train=train, **arrays))
    exact = run.gap.value[0] * np.exp(-4 * phi**2 * run.t / (1 - g) ** 2)
    assert (np.abs(run.gap.value - exact) <= run.gap.error).all()


def test_a_method_that_gives_up_says_so_and_warns_of_nothing(monotone: Builder) -> None:
    # Over so long a time nothing moves but by rounding, of which LSODA warns.
    train = GradientFlow(horizon=1.79e6, method="LSODA", rtol=2.3e-12)
    arrays = {
        "X": [[1.0]],
        "y": [0.02132451234154328],
        "A": [[0.05299081922738964]],
        "B": [[0.0]],
        "U": [[0.00026417662501265635]],
        "u": [1.3924303874882137e-05],
    }
    run = train.run(monotone(train=train, m=0.5, **arrays))
    assert run.status is Status.INTEGRATOR_FAILED
    assert any(note.startswith("LSODA stopped after t = ") for note in run.notes)


def test_tracked_quantities_carry_the_error_of_the_integration(delm: Builder) -> None:
    rough, fine = (GradientFlow(horizon=0.3, rtol=rtol, method="RK45") for rtol in (1e-3, 1e-11))
    p = delm(3, 8, 1)
    names = ["lambda_min_D", "norm1.Z"]
    a, b = rough.run(p, names), fine.run(p, names)
    for one, other in [(a.series, b.series), (a.distance, b.distance)]:
        for name in one:
            # Each run looks at the steps that it took as well.
            common, i, j = np.intersect1d(one[name].t, other[name].t, return_indices=True)
            assert len(common) >= len(a.t)
            left, right = one[name].value[i], other[name].value[j]
            assert (np.abs(left.value - right.value) <= left.error + right.error).all(), name


def test_the_error_bar_shrinks_with_the_tolerance(delm: Builder) -> None:
    bars = []
    for rtol in (1e-6, 1e-9):
        train = GradientFlow(horizon=0.3, rtol=rtol)
        run = train.run(delm(3, 8, 1, train=train))
        bars.append(np.median(run.gap.error / run.gap.value))
    assert bars[1] < bars[0] / 50


def test_small_steps_of_gradient_descent_approach_the_flow(delm: Builder) -> None:
    p = delm(3, 8, 1)
    end = 0.01
    exact = GradientFlow(horizon=end).run(p).gap.value[-1]
    far, near = (
        abs(GradientDescent(step=end / n, steps=n).run(p).gap.value[-1] - exact) for n in (200, 400)
    )
    # First order: halving the step halves the distance.
    assert far / near == pytest.approx(2, rel=0.05)


def test_few_points_are_recorded_and_every_step_is_seen(delm: Builder) -> None:
    train = GradientFlow(horizon=0.5)
    p = delm(4, 9, 1, scale=1.5, seed=7, train=train)
    name, end = "lambda_min_D", np.array([0.5])
    few, many = (
        train.run(Problem(p.model, p.theta0, train, record_points=points), [name])
        for points in (2, 2000)
    )
    assert len(few.t) == 2
    for measure, known in ((Series.infimum_until, 1e-4), (Series.integral_until, 1e-3)):
        rough, fine = (measure(run.series[name], end)[0] for run in (few, many))
        assert abs(rough.value - fine.value) <= rough.error + fine.error
        assert rough.error < known * fine.value


def test_an_infimum_is_refined_where_it_may_be_lower(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = GradientFlow(horizon=0.5)
    p = delm(4, 9, 1, scale=1.5, seed=7, train=train)
    name, end = "lambda_min_D", np.array([0.5])
    fine = train.run(Problem(p.model, p.theta0, train, record_points=2000), [name])
    truth = fine.series[name].value.value.min()
    monkeypatch.setattr(flow, "MOST_LOOKS", 6)
    few = Problem(p.model, p.theta0, train, record_points=3)
    rough, better = (
        train.run(few, [name], infima).series[name].infimum_until(end)[0] for infima in ([], [name])
    )
    assert better.low <= truth <= better.high
    assert better.error < 1e-3 * truth < rough.error


def test_an_explicit_method_that_starves_is_replaced(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration, "STARVED", 60)
    train = GradientFlow(horizon=2.0, method="RK23", rtol=1e-6)
    run = train.run(delm(1, 1, 1, 0.9, train=train, **SCALAR))
    assert any("continued with Radau" in note for note in run.notes)


def test_a_stiff_method_that_starves_is_a_status(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration, "STARVED", 5)
    train = GradientFlow(horizon=2.0, method="Radau")
    run = train.run(delm(3, 5, 1, train=train))
    assert run.status is Status.INTEGRATOR_FAILED and not run.complete
    assert len(run.k) == 1


def test_an_interruption_keeps_what_is_known(delm: Builder) -> None:
    train = GradientFlow(horizon=0.5)

    def stop(progress: object) -> None:
        if progress.fraction > 0.4:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    run = train.run(delm(3, 8, 1, train=train), ["lambda_min_D"], ["lambda_min_D"], stop)
    assert run.status is Status.INTERRUPTED
    assert 1 < len(run.k) < 198
    assert len(run.series["lambda_min_D"].t) == len(run.k)


@pytest.mark.parametrize(
    ("lost", "status"),
    [(lambda call: call == 40, Status.COMPLETED), (lambda call: call > 40, Status.NO_EQUILIBRIUM)],
)
def test_only_a_flow_that_cannot_go_on_without_equilibrium_ends(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, lost: Callable[[int], bool], status: Status
) -> None:
    """A trial step may leave the domain: it is rejected like any that is too long."""
    train = GradientFlow(horizon=0.1, rtol=1e-6)
    p = delm(3, 8, 1, train=train)
    gradient, calls = p.model.gradient, 0

    def sometimes(theta: dict[str, np.ndarray], memory: object) -> object:
        nonlocal calls
        calls += 1
        if lost(calls):
            raise NoEquilibrium("gone")
        return gradient(theta)

    velocity = flow.Integration._velocity

    def counted(self: flow.Integration, t: float, x: np.ndarray) -> np.ndarray:
        with monkeypatch.context() as patch:
            patch.setattr(p.model, "gradient", sometimes)
            return velocity(self, t, x)

    monkeypatch.setattr(flow.Integration, "_velocity", counted)
    run = train.run(p)
    assert run.status is status
    assert any("gone" in note for note in run.notes) is (status is Status.NO_EQUILIBRIUM)


@pytest.mark.parametrize(("horizon", "said"), [(1e-301, "too short"), (1e-300, "")])
def test_a_horizon_whose_shares_are_no_floats_is_refused(
    delm: Builder, horizon: float, said: str
) -> None:
    told = [text for _, text in GradientFlow(horizon=horizon).faults(delm(1, 1, 1, **SCALAR))]
    assert said in "".join(told) and bool(told) == bool(said)


def test_the_velocity_of_a_step_is_that_of_its_values(delm: Builder) -> None:
    """DOP853's own coefficients against values of the polynomial, on whole steps and cut ones."""
    p = delm(3, 6, 1, train=GradientFlow(horizon=1.0))
    run = flow.Integration(p, "DOP853", 1.0, (1e-8, 1e-10), Memory())
    run.advance(1.0)
    for whole in run.pieces:
        for piece in (whole, whole.until((whole.start + 2 * whole.end) / 3)):
            t = np.linspace(piece.start, piece.end, 6).reshape(2, 3)
            found, twin = piece.velocity(t), piece.sampled_velocity(t)
            # Values differ by roundings, and their slopes by degree^2 times as much over the step.
            lost = 144 * 64 * EPS * np.abs(whole(whole.end)).max() / (piece.end - piece.start)
            assert found.shape == twin.shape and np.abs(found - twin).max() <= lost


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA"])
@pytest.mark.parametrize("rate", [1.0, 40.0])
def test_the_speed_of_a_step_is_the_norm_of_its_velocity(
    delm: Builder, method: str, rate: float
) -> None:
    """From inner products of a few coefficients, also where the flow all but stops in a step."""
    p = delm(3, 6, 1, train=GradientFlow(horizon=rate))
    run = flow.Integration(p, method, rate, (1e-6, 1e-8), Memory())
    run.advance(rate)
    for piece in run.pieces:
        t = np.linspace(piece.start, piece.end, 6).reshape(2, 3)
        speed, noise = piece.speed(piece.share(t))
        twin = np.linalg.norm(piece.velocity(t), axis=0)
        # The velocity itself is a sum of seven terms, each rounded a few times.
        terms = np.abs(piece(piece.end)).max() / (piece.end - piece.start)
        assert speed.shape == noise.shape == t.shape
        assert (np.abs(speed - twin) <= noise + 256 * EPS * terms + 64 * EPS * twin).all()
        assert (noise <= 1e-6 * speed.max(initial=0.0) + 1e-300).all()
