"""Wide ReLU models that descend ahead of what is looked at, against the same run step by step and
against each state alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from side import alike, step_by_step

from deqcheck.dynamics import ahead, recorder
from deqcheck.dynamics.ahead import run_ahead
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.linalg import largest, smallest, wide
from deqcheck.linalg.precise import Decimals
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_many import ORDER, LookedRelu, ManyRelu, Trail
from tests.conftest import implicit_problem

STEPS = 12


def relu_deq(m: int = 40, n: int = 5, q: float = 0.6, seed: int = 1, **given: Any) -> Problem:
    r = np.random.default_rng(seed)
    W = r.normal(size=(m, m))
    theta = {
        "W": q * W / np.linalg.norm(W, 2),
        "U": r.normal(size=(m, 3)),
        "a": r.normal(size=m) / np.sqrt(m),
        **given,
    }
    return descending(Problem(ReluDeqModel(r.normal(size=(3, n)), r.normal(size=n)), theta))


def implicit(m: int = 40, n: int = 5, q: float = 0.6, seed: int = 1, **given: Any) -> Problem:
    given = {"b": np.random.default_rng(seed).normal(size=m) / np.sqrt(m), **given}
    return descending(implicit_problem(n, 6, m, q, seed, **given))


def descending(p: Problem, step: float = 2e-3) -> Problem:
    return replace(p, train=GradientDescent(step=step, steps=STEPS), record_points=5)


def many(p: Problem) -> ManyRelu:
    found = p.model.many(p.shapes)
    assert isinstance(found, ManyRelu)
    return found


def names(p: Problem) -> tuple[str, ...]:
    """All that is known of states side by side, and something that only a state alone knows."""
    return (*many(p).stack.names, "equilibrium.residual")


def looked(p: Problem, rows: list[dict[str, np.ndarray]]) -> tuple[LookedRelu, list[Any]]:
    each = many(p)
    gradients, seen = zip(*(each.gradient(theta) for theta in rows), strict=True)
    return each.at({n: np.stack([theta[n] for theta in rows]) for n in rows[0]}, seen), [*gradients]


@pytest.mark.parametrize("make", [relu_deq, implicit])
@pytest.mark.parametrize(("m", "n", "q"), [(33, 1, 0.3), (70, 5, 0.6), (50, 9, 0.97)])
def test_a_run_is_that_of_single_steps(make: Any, m: int, n: int, q: float) -> None:
    p = make(m, n, q)
    alike(run_ahead(p, names(p)[:-1], recorder.silent), step_by_step(p, names(p)[:-1]))


@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_the_size_of_a_block_changes_nothing_but_rounding(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = make()
    whole = run_ahead(p, ("sigma_min_Z",), recorder.silent)
    monkeypatch.setattr(ahead, "STEPS", 1)
    single = run_ahead(p, ("sigma_min_Z",), recorder.silent)
    assert whole is not None and single is not None
    alike(whole, single)
    assert ("Z" in whole.distance) == (make is implicit)


@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_no_read_out_at_the_start(make: Any) -> None:
    p = make(**{"a" if make is relu_deq else "b": np.zeros(40)})
    alike(
        run_ahead(p, ("loss", "gradient"), recorder.silent), step_by_step(p, ("loss", "gradient"))
    )


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_every_row_has_the_numbers_and_radii_of_its_state(
    make: Any, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(largest, "LARGE", 30)
        monkeypatch.setattr(smallest, "LARGE", 5)
    p, r = make(), np.random.default_rng(0)
    rows = [
        {name: a + scale * r.normal(size=a.shape) for name, a in p.theta0.items()}
        for scale in (0.0, 1e-5, 1e-2, 0.0)
    ]
    found, gradients = looked(p, rows)
    assert found.fine.all()
    for i, theta in enumerate(rows):
        state = p.model.at(theta)
        alone = state.objective
        assert abs(alone.gap - found.gap[i]) <= alone.error + found.error[i]
        off = [np.linalg.norm(gradients[i][n] - g) for n, g in alone.gradient.items()]
        assert np.linalg.norm(off) <= state.gradient_radius + found.radius[i]
        # The room that a bound of the norm leaves may be smaller by a factor 0.8, and counts twice;
        # the defects of sweeps are what they are.
        for one, other in ((found.error[i], alone.error), (found.radius[i], state.gradient_radius)):
            assert 0.4 * other <= one <= 3 * other
        for name in names(p):
            own, measured = state.measure(name), found.measure(name)
            assert measured.how == own.how
            assert abs(own.value - measured.value[i]) <= own.error + measured.error[i]
            assert measured.error[i] <= 3 * own.error + 1e-300
            assert own.error <= 3 * measured.error[i] + 1e-300
    some = found.some(np.array([2, 0]))
    assert np.array_equal(some.gap, found.gap[[2, 0]])
    assert np.array_equal(some.radius, found.radius[[2, 0]])


@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_radii_contain_the_gradient_in_many_digits(make: Any) -> None:
    digits = Decimals()
    for q in (0.3, 0.9):
        p = make(34, 2, q)
        found, (gradient,) = looked(p, [p.theta0])
        with digits.working():
            lifted = {name: digits.lift(a) for name, a in p.theta0.items()}
            truth = p.model.precise_gradient(lifted, digits)
            off = [digits.lower(truth[name] - digits.lift(g)) for name, g in gradient.items()]
        distance = np.linalg.norm(np.concatenate([part.ravel() for part in off]))
        assert 0 < distance <= found.radius[0] <= 1e4 * distance


def test_what_sweeps_do_not_find_is_left_to_single_steps() -> None:
    """A norm beyond 1: the equilibrium is known for other reasons, or not at all."""
    expanding = relu_deq(q=1.2)
    assert run_ahead(expanding, (), recorder.silent) is None
    B = np.random.default_rng(2).normal(size=(40, 40))
    monotone = relu_deq(W=(B - B.T) / 8)
    assert run_ahead(monotone, (), recorder.silent) is None
    assert len(monotone.train.run(monotone).k) == STEPS + 1


@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_a_row_with_a_kink_within_reach_has_the_numbers_and_radii_of_its_state(make: Any) -> None:
    """The pre-activation of the first unit vanishes up to rounding in the first sample; the
    gradient differs from one side of it to the other."""
    p = make()
    theta = {n: a.copy() for n, a in p.theta0.items()}
    # W z + c = 0, by weights of the first unit alone, which then feeds nothing back to itself.
    if make is relu_deq:
        theta["W"][:, 0] = 0.0
        Z = p.model.at(theta).Z
        x = p.model.X[:, 0]
        theta["U"][0] = -(theta["W"][0] @ Z[:, 0]) * x / (x @ x)
    else:
        theta["A"][0] = 0.0
        Z = p.model.at(theta).Z
        x = p.model.X[0]
        theta["A"][:, 0] *= -1.0 if theta["A"][:, 0] @ Z[:, 0] > 0 else 1.0
        theta["W"][:, 0] = -p.model.gamma * (theta["A"][:, 0] @ Z[:, 0]) * x / (x @ x)
    state = p.model.at(theta)
    assert state.equilibrium.doubtful.any()
    found, gradients = looked(p, [p.theta0, theta])
    assert found.state.fine.tolist() == [True, False] and found.fine.all()
    alone = state.objective
    assert abs(alone.gap - found.gap[1]) <= alone.error + found.error[1]
    # As wide as what one side has more than the other.
    assert 0.4 * state.gradient_radius <= found.radius[1] <= 3 * state.gradient_radius
    assert found.radius[1] > 1e6 * found.radius[0]
    off = [np.linalg.norm(gradients[1][n] - g) for n, g in alone.gradient.items()]
    assert np.linalg.norm(off) <= state.gradient_radius + found.radius[1]
    for each in names(p):
        own, measured = state.measure(each), found.measure(each)
        assert abs(own.value - measured.value[1]) <= own.error + measured.error[1]
        assert own.error <= 3 * measured.error[1] + 1e-300
    for array, radius in found.features.values():
        assert array.shape == (2, 40, 5) and 0 < radius[1] <= 3 * state.equilibrium.error
    p = replace(p, theta0=theta)
    # The gradient jumps there: nothing is known of what follows, which single steps tell.
    assert run_ahead(p, (), recorder.silent) is None


def test_dependent_samples_are_known_to_be_so() -> None:
    """sigma_min(Z) = 0 for a reason, which a state alone looks for."""
    p = relu_deq()
    X = p.model.X.copy()
    X[:, 1] = X[:, 0]
    p = replace(p, model=ReluDeqModel(X, p.model.y))
    run, single = (
        run_ahead(p, ("sigma_min_Z",), recorder.silent),
        step_by_step(p, ("sigma_min_Z",)),
    )
    alike(run, single)
    assert run is not None and not run.series["sigma_min_Z"].value.value.any()


def test_narrow_models_are_advanced_together_with_their_perturbed_runs() -> None:
    for make in (relu_deq, implicit):
        p = make(20)
        assert p.model.many(p.shapes) is None and p.model.stacked([p.model], p.shapes) is not None
        p = make(40)
        assert p.model.stacked([p.model], p.shapes) is None


def test_a_trail_continues_what_told_the_last_array_best() -> None:
    trail, t = Trail(), np.arange(10.0)
    assert trail.next is None
    r = np.random.default_rng(0).normal(size=(4, 3))
    for k in t:
        trail.put(sum(c * k**j for j, c in enumerate(r)))
    assert trail.next == pytest.approx(sum(c * 10.0**j for j, c in enumerate(r)), rel=1e-9)
    # What jumps is continued by what it was last.
    jumping = Trail()
    for k in range(ORDER + 3):
        jumping.put(np.array([(-1.0) ** k, 1.0]))
    assert np.array_equal(jumping.next, [(-1.0) ** (ORDER + 2), 1.0])


@pytest.mark.parametrize("make", [relu_deq, implicit])
def test_a_perturbed_run_is_sought_as_far_from_the_run_as_it_was_last(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two parallel lines of parameters their distance hardly changes from step to step: what is
    found is far nearer to where it is sought than to the run."""
    p, r, starts = make(), np.random.default_rng(2), []
    step, off = ({n: r.normal(size=a.shape) for n, a in p.theta0.items()} for _ in range(2))

    def at(t: float, e: float) -> dict[str, np.ndarray]:
        return {n: a + t * step[n] + e * off[n] for n, a in p.theta0.items()}

    equilibrium, adjoint = wide.equilibrium, wide.adjoint

    def from_state(W: Any, C: Any, noise: Any, start: Any) -> Any:
        starts.append(start)
        return equilibrium(W, C, noise, start)

    def from_adjoint(W: Any, on: Any, a: Any, noise: Any, start: Any) -> Any:
        starts.append(start)
        return adjoint(W, on, a, noise, start)

    monkeypatch.setattr(wide, "equilibrium", from_state)
    monkeypatch.setattr(wide, "adjoint", from_adjoint)
    each = many(p)
    for t in (0.0, 1e-7):
        run = each.gradient(at(t, 0.0))[1]
        starts.clear()
        found = each.gradient(at(t, 1e-5), run)[1]
    sought = [
        (starts[0], np.maximum(found.H, 0), np.maximum(run.H, 0)),
        (starts[1], found.V, run.V),
    ]
    for start, there, beside in sought:
        assert np.linalg.norm(there - start) < 0.05 * np.linalg.norm(there - beside)


@pytest.mark.parametrize(("q", "fine"), [(1 - 1e-5, True), (1 - 1e-7, False)])
def test_what_hardly_contracts_is_left_to_states_alone(q: float, fine: bool) -> None:
    """W has one entry, q: two sweeps are all that is needed, but 1 - q is what certifies."""
    W = np.zeros((40, 40))
    W[0, 1] = q
    p = relu_deq(W=W)
    found, _ = looked(p, [p.theta0])
    assert found.state.room == pytest.approx([1 - q], rel=1e-6)
    assert np.isfinite(found.gap).all() and found.fine.tolist() == [fine]
