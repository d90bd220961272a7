"""Which way a model goes to its numbers: steps, limits and draws, counted by hand."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deqcheck.dynamics import together
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.perturbed_run import PerturbedRuns
from deqcheck.fields import Refusal
from deqcheck.linalg import smallest
from deqcheck.linalg.equilibria import Equilibria
from deqcheck.linalg.minors import MOST
from deqcheck.linalg.relu_equilibrium import Equilibrium
from deqcheck.models import relu_stacked
from deqcheck.models.delm import spectrum
from deqcheck.models.equilibrium import cheap, distance, illposed, lipschitz, solve, weights
from deqcheck.models.equilibrium.activations import activation
from deqcheck.models.monotone_deq import state as monotone_state
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.opteq import told
from deqcheck.models.opteq.equilibrium import FixedPoint
from deqcheck.models.problem import Problem, pack, unpack
from deqcheck.models.relu_deq import state as relu_state
from deqcheck.models.relu_deq.model import ReluDeq
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Untold
from tests.independent.equilibrium_model import arrays as arrays_of
from tests.independent.equilibrium_model import problem as equilibrium_problem
from tests.opteq_instances import arrays, problem

Builder = Callable[..., Problem]
RELU, TANH = activation("relu", 0.0), activation("tanh", 0.0)


def one_relu(W: Any) -> Problem:
    W = np.array(W, dtype=float)
    theta = {"W": W, "U": np.ones((len(W), 1)), "a": np.ones(len(W))}
    data = {"X": np.array([[1.0]]), "y": np.array([0.5])}
    return Problem(ReluDeq().build(data, None), theta, None)


def test_half_of_the_units_are_on_in_drawn_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 patterns of 50 units within 5 deviations, sqrt(1000)/2 each; then all units."""
    n, seen = 50, list[np.ndarray]()
    assert n > MOST
    monkeypatch.setattr(weights, "minors", lambda array, on: seen.append(on))
    _ = weights.Weights(np.zeros((n, n))).minors
    (on,) = seen
    assert on.shape == (21, n) and on[-1].all()
    assert abs(on[:-1].sum() - 500) < 5 * math.sqrt(1000) / 2


@pytest.mark.parametrize(("most", "written"), [(6, True), (5, False)])
def test_so_many_layers_are_written_out(
    monkeypatch: pytest.MonkeyPatch, most: int, written: bool
) -> None:
    """Three iterations of two layers."""
    monkeypatch.setattr(told, "MOST", most)
    states = problem(*arrays(1, 2, 2, 2, 1, 2, 2), iterations=3).start.again
    if written:
        assert [len(layers) for layers in states.told.run[0]] == [2, 2, 2]
    else:
        with pytest.raises(Untold):
            _ = states.told.run


def test_the_smallest_eigenvalue_is_proven_to_a_ten_millionth(delm: Builder) -> None:
    """Where rounding is far less than what Cholesky leaves."""
    found = spectrum.iterated(delm(8, 10, 3).start)
    assert found.how == "Lanczos above Cholesky"
    assert found.error / found.value == pytest.approx(1e-7, rel=1e-3)


@pytest.mark.parametrize("gamma", [0.25, 0.8])
def test_a_norm_is_compared_with_where_the_map_ceases_to_contract(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch, gamma: float
) -> None:
    right, limits = Equilibria.norm_bound, []

    def seen(self: Equilibria, W: np.ndarray, limit: float = 1.0) -> float:
        limits.append(limit)
        return right(self, W, limit)

    monkeypatch.setattr(Equilibria, "norm_bound", seen)
    assert implicit(gamma=gamma).start.system[0].any()
    assert limits and set(limits) == {1 / gamma}
    for p, limit in ((implicit(gamma=gamma), 1 / gamma), (one_relu([[0.5]]), 1.0)):
        limits.clear()
        # As one that is too wide to be side by side with others.
        monkeypatch.setattr(sys.modules[type(p.model).__module__], "slices", lambda m, n: 1)
        many = p.model.many(p.shapes)
        _, passed = many.gradient(p.theta0)
        many.at({name: a[None] for name, a in p.theta0.items()}, [passed])
        assert limits == [limit]


def test_a_map_that_contracts_needs_no_other_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(relu_state.ReluDeqState, "_certificate", refuse)
    assert one_relu([[0.9]]).start.system[0] == [[0.9]]
    with pytest.raises(AssertionError):
        _ = one_relu([[-1.1]]).start.system


def test_the_step_of_a_splitting_is_that_of_the_lipschitz_constant(
    monotone: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1/|I - W|, or the alpha of the case; m/|I - W|^2 for forward-backward splitting."""
    steps = []

    def seen(right: Any) -> Any:
        return lambda *given: steps.append(given[3]) or right(*given)

    for module in (relu_state, monotone_state):
        for way in {"peaceman_rachford", "forward_backward"} & vars(module).keys():
            monkeypatch.setattr(module, way, seen(getattr(module, way)))
    # z_2 = relu(1 + z_2/2) = 2, z_1 = relu(1 - 2 z_1 + 3 z_2/10) = 8/15; |I - W|^2 is the larger
    # root of x^2 - 9.34 x + 1.5^2, by the trace and the determinant of I - W.
    np.testing.assert_allclose(one_relu([[-2.0, 0.3], [0.0, 0.5]]).start.Z, [[8 / 15], [2.0]])
    L = math.sqrt((9.34 + math.sqrt(9.34**2 - 9)) / 2)
    assert steps == pytest.approx([L], rel=1e-12)
    p = monotone()
    L, m = float(np.linalg.norm(np.eye(6) - p.start.W, 2)), p.model.m
    for solver, alone in (("peaceman-rachford", L), ("forward-backward", m / L**2)):
        for alpha in (None, 0.9 * m / L**2):
            model = MonotoneDeqModel(m, p.model.X, p.model.y, solver, alpha)
            np.testing.assert_allclose(model.at(p.theta0).Z, p.start.Z, atol=1e-9)
            wanted = alone if alpha is None else alpha if solver[0] == "f" else 1 / alpha
            assert steps[-1] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_the_bound_by_a_diagonal_of_one_unit(size: float) -> None:
    """c dz <= g dx with 2 l (1 - w) g >= c^2/t + t l^2 u^2: for the best t, g = c u/(1 - w),
    however far c/u is from 1."""
    C = np.array([[size]])
    state: Any = SimpleNamespace(n=1, W=np.array([[0.5]]), U=np.array([[1 / size]]))
    found = lipschitz.by_diagonal(state, C, np.array([1.0]))
    assert found.value == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("slope", "taken"), [(1.01e-4, 1.0), (0.99e-4, 0.0), (1.5, 1.0), (1.99995, 0.5)]
)
def test_a_newton_step_must_make_the_residual_smaller(slope: float, taken: float) -> None:
    """z = tanh(0) has the residual z; from z a step of -slope z leaves |1 - share slope| z, and
    less than (1 - share/10^4) z is asked."""
    zero = np.zeros((1, 1))
    for size in (1.0, 4.0, 0.25):
        z = np.full((1, 1), size)
        moved, left, better = solve._searched(zero, zero, z, z, -slope * z, TANH)
        assert left[0, 0] == moved[0, 0]
        assert moved[0, 0] == pytest.approx(size * (1 - taken * slope), abs=1e-15 * size)
        assert better[0] == (taken > 0)


def test_what_is_asked_of_half_a_step() -> None:
    """The second entry of z is 0 and moves by 1; relu(z_2 - 3/4) is subtracted 1000 times: the
    residual of half the step is that of the first entry, less by 3/40000; of the whole it is 250.
    """
    W, c = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0], [-0.75]])

    class Kink:
        def value(self, x: np.ndarray) -> np.ndarray:
            bent = np.maximum(x[1:], 0.0)
            return np.vstack([np.zeros_like(bent), np.where(bent > 0, 1000 * bent, x[1:] + 0.75)])

    z, step = np.array([[1.0], [0.0]]), np.array([[-1.5e-4], [1.0]])
    moved, _, better = solve._searched(W, c, z, z, step, Kink())  # type: ignore[arg-type]
    assert better[0] and moved[:, 0] == pytest.approx([1 - 0.75e-4, 0.5], abs=1e-15)


@pytest.mark.parametrize(
    ("residuals", "taken"),
    [
        ([0.99985, 0.0], 1.0),
        # Half of the step, and a quarter.
        ([1.0, 0.999925, 0.0], 0.5),
        ([2.0, 0.999975, 0.99995], 0.25),
        ([2.0] * 99, None),
    ],
)
def test_a_newton_step_of_an_optimisation_induced_network(
    residuals: list[float], taken: float | None
) -> None:
    """At most 1 - share/10^4 of the residual is asked of shares 1, 1/2, ...; else the image is
    taken. Two samples, the second with three times the residuals; its own ends with the first."""
    told = iter(residuals)

    class Map:
        def __call__(self, Z: np.ndarray) -> np.ndarray:
            return np.full_like(Z, 7.0)

        def _direction(self, Z: np.ndarray, image: np.ndarray) -> np.ndarray:
            return np.ones_like(Z)

        def _residuals(self, trial: np.ndarray) -> np.ndarray:
            return next(told) * np.array([1.0, 3.0])

    step = FixedPoint._step(Map(), np.zeros((1, 2)), np.array([1.0, 3.0]))  # type: ignore[arg-type]
    assert step.tolist() == [[7.0 if taken is None else taken] * 2]


def test_where_sweeps_end_elsewhere_the_patterns_of_few_units_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """z_i = relu(1 - 3 z_(i+1)) has one solution, 1/4: all minors of I - W are positive."""

    def cycles(self: object, W: np.ndarray, C: np.ndarray, found: Any) -> Equilibrium:
        return Equilibrium(W, C, np.zeros_like(C), found)

    monkeypatch.setattr(relu_state.ReluDeqState, "_picard", cycles)
    p = one_relu([[0, -3, 0], [0, 0, -3], [-3, 0, 0]])
    np.testing.assert_allclose(p.start.Z, np.full((3, 1), 0.25), rtol=1e-14)


@pytest.mark.parametrize(("share", "small"), [(0.999, True), (1.001, False)])
def test_a_residual_is_small_beside_its_terms(share: float, small: bool) -> None:
    """1000 n eps (1 + |W|) (|z| + |c|) with |z| = 5, |c| = 13, |W| = 3, n = 2."""
    allowed = 1e3 * 2 * 2.0**-52 * 4 * 18
    z = np.array([[3.0], [4.0]])
    W = np.array([[1.0, 2.0], [0.0, 1.0]])

    class Residual:
        def value(self, x: np.ndarray) -> np.ndarray:
            return z - np.array([[share * allowed], [0.0]])

    c = np.array([[5.0], [12.0]])
    assert bool(solve._small(W, c, z, Residual(), 3.0)[0]) is small  # type: ignore[arg-type]


@pytest.mark.parametrize(("share", "kept"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize(("entry", "length"), [(1000.0, 3000.0), (0.0, 0.0)])
def test_a_splitting_that_ends_near_is_taken(
    monkeypatch: pytest.MonkeyPatch, entry: float, length: float, share: float, kept: bool
) -> None:
    """z = relu(c) with nine equal entries; the residual is what is added to one of them, and at
    most 1e-9 (1 + |z|) of it is good enough to read the pattern from."""
    c, found, other = np.full(9, entry), np.full(9, entry), np.full(9, 7.0)
    found[0] += share * 1e-9 * (1 + length)
    monkeypatch.setattr(solve, "_reflected", lambda W, c: found)
    monkeypatch.setattr(solve, "_pivoted", lambda W, c: other)
    z = solve._alone(np.zeros((9, 9)), c, RELU)
    assert z.tolist() == (c if kept else other).tolist()


@pytest.mark.parametrize(
    ("c", "coupling", "first"),
    [(0.9e-13, 0.0, 0.0), (1.1e-13, 0.0, 1.1e-13), (-999.0, 999 + 0.9e-10, 0.0),
     (-999.0, 999 + 1.4e-10, 1.4e-10)],
)  # fmt: skip
def test_pivots_end_at_the_rounding_of_the_drive(c: float, coupling: float, first: float) -> None:
    """z_1 = relu(c + coupling z_2) with z_2 = 1: it is on from 1e-13 (1 + |c|) on."""
    W = np.array([[0.0, coupling], [0.0, 0.0]])
    z = solve._pivoted(W, np.array([c, 1.0]))
    assert z == pytest.approx([first, 1.0], rel=1e-2 if coupling else 1e-12, abs=0.0)


def test_sweeps_are_damped_by_the_most_negative_diagonal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """z = tanh(c - 3 z) by steps of 1/4 on a slope of at most 4; without them it oscillates."""
    W, c = np.diag([-3.0, 0.5]), np.array([1.0, 0.2])
    z = solve._alone(W, c, TANH)
    assert z == pytest.approx(np.tanh(W @ z + c), abs=1e-14)
    monkeypatch.setattr(solve, "SWEEPS", 1)
    first = np.tanh(c)
    second = np.tanh([1 - 3 * first[0], 0.2 + first[1] / 2])
    assert solve._alone(W, c, TANH) == pytest.approx(first + (second - first) / 4, rel=1e-14)
    # A positive diagonal needs none.
    once = solve._alone(np.diag([0.5]), c[1:], TANH)
    assert once == pytest.approx(second[1:], rel=1e-14)


@pytest.mark.parametrize(
    ("n", "N", "limit", "widths"), [(2, 7, 12, [3, 3, 1]), (3, 2, 5, [1, 1]), (1, 7, 3, [3, 3, 1])]
)
def test_so_many_samples_are_solved_at_once(
    monkeypatch: pytest.MonkeyPatch, n: int, N: int, limit: int, widths: list[int]
) -> None:
    seen, right = [], solve._newton

    def counted(W: np.ndarray, C: np.ndarray, s: Any) -> np.ndarray:
        seen.append(C.shape[1])
        return right(W, C, s)

    monkeypatch.setattr(solve, "_newton", counted)
    monkeypatch.setattr(solve, "AT_ONCE", limit)
    solve.equilibria(0.1 * np.eye(n), np.ones((n, N)), TANH)
    assert seen == widths


@pytest.mark.parametrize(
    ("times", "numbers", "looks"),
    [(1, 1000, [2, 2, 2, 1]), (3, 1000, [6, 1]), (3, 2 * 2 * 8, [4, 3]), (3, 1, [2, 2, 2, 1])],
)
def test_states_are_measured_together(
    monkeypatch: pytest.MonkeyPatch, times: int, numbers: int, looks: list[int]
) -> None:
    """Seven states of six steps, at 8 parameters, two at a time or so many times as many, unless
    these have too many numbers."""
    right, waiting = together._Runs._look, []

    def seen(self: Any, last: bool = False) -> None:
        waiting.append(len(self.waiting))
        right(self, last)

    monkeypatch.setattr(together._Runs, "_look", seen)
    for name, value in (("ENDS", 2), ("TIMES", times), ("NUMBERS", numbers)):
        monkeypatch.setattr(together, name, value)
    p = replace(one_relu([[0.5, 0.1], [0.0, 0.2]]), train=GradientDescent(step=1e-3, steps=6))
    (run,) = together.run_together([p], [()])
    assert run is not None and waiting == looks


def test_a_gradient_goes_through_the_weights_once(delm: Builder, implicit: Builder) -> None:
    """But for iterations and layers."""
    plain = [p.model.passes for p in (delm(), implicit(), one_relu([[0.5]]))]
    assert plain == [1, 1, 1]
    assert problem(*arrays(1, 2, 2, 2, 1, 2, 2), iterations=3).model.passes == 3 * 2


def test_states_of_relu_models_are_measured_one_by_one() -> None:
    """For `quantities` they have no faster way than one state after the other."""
    assert one_relu([[0.5]]).model.states_at_once == 1


@pytest.mark.parametrize(
    ("w", "bound"), [(0.5, 6e-3), (0.75, 12e-3), (1.0, math.inf), (1.5, math.inf)]
)
def test_norms_bound_the_distance_where_they_are_below_1(w: float, bound: float) -> None:
    """|r|/(1 - |W|) of one unit with |r| = 3/1000, which is known to 1/1000."""
    r = distance.Residual(np.array([-3e-3]), np.array([1e-3]))
    for by in (distance.by_norm2, distance.by_norm_inf):
        found = by(weights.Weights(np.array([[w]])), r)
        assert found.value == pytest.approx(bound, rel=1e-12)
        if math.isfinite(bound):
            assert found.error == pytest.approx(bound / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("error", "step"), [(0.0, 1.8), (0.19, 1.8), (0.21, 0.9 * 1.79), (1.5, 0.9 * 0.5)]
)
def test_a_share_of_a_limit_is_below_it(error: float, step: float) -> None:
    found = weights.forward_step(0.9, Measured(2.0, error))
    assert found.value == pytest.approx(step, rel=1e-12)


def test_products_of_cheap_gradients_are_as_unsure_as_the_equilibria() -> None:
    """Without W, p = q = c = 2 and A_ij = c^2 (z_i z_j + x_i x_j + 1), z = 3, 5: each z is off by
    e, and so a product by (z_i + e)(z_j + e) - z_i z_j at most, all of them by the root of the
    sum of squares."""
    v = arrays_of([[0.0]], [[1.0]], [[2.0]], [[3.0, 5.0]], [[0.0, 0.0]])
    state, e = equilibrium_problem(v).start, np.array([1e-3, 2e-3])
    z = np.array([3.0, 5.0])
    exact = cheap.label_free(state)
    np.testing.assert_allclose(exact.array, 4 * (2 * np.outer(z, z) + 1), rtol=1e-14)
    assert exact.radius < 1e-11
    vars(state)["equilibrium"] = replace(state.equilibrium, errors=e)
    off = 4 * (np.outer(z + e, z + e) - np.outer(z, z))
    assert cheap.label_free(state).radius == pytest.approx(np.linalg.norm(off), rel=1e-9)


def test_two_of_many_units_with_a_minor_that_is_not_positive() -> None:
    """1 - 1.1 < 0 of the first two; (1/10)^2 - 1/200 > 0 of the next, which are nearer to 1."""
    W = np.zeros((MOST + 1, MOST + 1))
    W[0, 1], W[1, 0] = 1.0, 1.1
    W[2, 2] = W[3, 3] = 0.9
    W[2, 3], W[3, 2] = 0.05, 0.1
    units = illposed._units(W)
    assert units is not None and units.tolist() == [0, 1]
    W[0, 1] = 0.9
    assert illposed._units(W) is None
    W[2, 3] = 0.11
    assert (units := illposed._units(W)) is not None and units.tolist() == [2, 3]


def test_one_state_is_measured_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exact numbers are known, which those of many are not."""
    p = problem(*arrays(1, 2, 2, 2, 1, 1, 2), iterations=2)
    assert p.model.lean is not None
    (alone,) = p.model.quantities([p.start], ["lambda_min_JJt"])
    assert alone["lambda_min_JJt"].again is not None
    other = p.model.at({name: 1.1 * a for name, a in p.theta0.items()})
    both = p.model.quantities([p.start, other], ["lambda_min_JJt"])
    assert all(each["lambda_min_JJt"].again is None for each in both)
    values = [each["lambda_min_JJt"].value for each in both]
    assert values == pytest.approx([s.measure("lambda_min_JJt").value for s in (p.start, other)])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_large_states_are_decomposed_one_by_one(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """From 3 samples on, here; the smallest singular value of diag(2, 3, ...) is 2."""
    monkeypatch.setattr(smallest, "LARGE", 3)
    Z, asked = np.eye(4)[None, :, :n] * np.arange(2.0, 2.0 + n), []
    right = relu_stacked._one_by_one
    monkeypatch.setattr(relu_stacked, "_one_by_one", lambda found: asked.append(n) or right(found))
    state: Any = SimpleNamespace(Z=Z, dZ=np.zeros(1), unheard=False)
    state._positive = lambda value, off, zero, how="": value
    found = relu_stacked.StackedReluState.sigma_min_Z.func(state)  # type: ignore[attr-defined]
    assert found == pytest.approx(2.0) and bool(asked) is (n == 3)


def test_runs_that_cannot_be_made_together_are_left_to_be_made_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(together._Runs, "walk", fails)
    p = replace(one_relu([[0.5, 0.1], [0.0, 0.2]]), train=GradientDescent(step=1e-3, steps=3))
    assert together.run_together([p, p, p], [(), (), ()]) == [None, None, None]


def test_what_a_gradient_may_lose_is_spread_over_each_array() -> None:
    """Of W, U and a (2 x 2, 2 x 1, 2) the norms of the shares are 1."""
    p = replace(one_relu([[0.5, 0.1], [0.0, 0.2]]), train=GradientDescent(step=1e-3, steps=3))
    runs = PerturbedRuns([p], pack(p.theta0)[None], np.array([1e-3]))
    blocks = unpack(runs._shares, p.shapes)
    assert [np.linalg.norm(share) for share in blocks.values()] == pytest.approx([1.0] * 3)
    assert all(np.ptp(share) == 0 for share in blocks.values())


def test_pushes_are_counted_twice() -> None:
    """A step pushes by its rounding, eps (|x| + step |gradient|) and what the gradient may lose,
    and away by as much again."""
    p = replace(one_relu([[0.5, 0.1], [0.0, 0.2]]), train=GradientDescent(step=0.25, steps=3))
    x = pack(p.theta0)[None]
    runs, size = PerturbedRuns([p], x, np.array([0.25])), np.linalg.norm(x)
    for count in (1, 2):
        runs.follow(count - 1, x, np.array([3.0]), np.array([1e-9]), np.zeros_like(x))
        push = 2.0**-52 * (size + 0.75) + 0.25e-9
        assert runs._pushed == pytest.approx([2 * count * push], rel=1e-12, abs=0)


def test_a_regulariser_without_a_proximal_map_is_no_last_layer() -> None:
    with pytest.raises(Refusal) as refused:
        problem(*arrays(1, 2, 2, 2, 1, 1, 2), solver="implicit", prox="potential")
    told = [said for key, said in refused.value.problems if key == "prox"]
    assert told == ["'potential' has no proximal map at hand; expected another"]


def test_so_many_runs_go_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five problems, two at a time; where so many do not fit into the stack, one."""
    sizes: list[int] = []

    def counted(problems: Any, tracks: Any) -> list[None]:
        sizes.append(len(problems))
        return [None] * len(problems)

    monkeypatch.setattr(together, "_group", counted)
    monkeypatch.setattr(together, "MOST", 2)
    p = replace(one_relu([[0.5, 0.1], [0.0, 0.2]]), train=GradientDescent(step=1e-3, steps=3))
    together.run_together([p] * 5, [()] * 5)
    assert sizes == [2, 2, 1]
    sizes.clear()
    # With the perturbed runs beside them three slices hold one run.
    monkeypatch.setattr(relu_stacked, "slices", lambda m, n: 3)
    together.run_together([p] * 2, [()] * 2)
    assert sizes == [1, 1]
