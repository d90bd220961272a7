"""Accelerated sweeps and remembered starts of wide equilibria against the slow way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deqcheck.linalg import errors, fixed_point, wide
from deqcheck.linalg.certificates import Contraction
from deqcheck.linalg.equilibria import Equilibria
from deqcheck.linalg.fixed_point import Columns, Map
from deqcheck.linalg.relu_equilibrium import Equilibrium, picard
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.implicit_relu.model import ImplicitRelu
from deqcheck.models.memory import Memory
from deqcheck.models.relu_deq.model import ReluDeq

M, N, D = 80, 12, 5


def drawn(seed: int, q: float, symmetric: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    W = r.normal(size=(M, M))
    W = W + W.T if symmetric else W
    return W * (q / np.linalg.norm(W, 2)), r.normal(size=(M, N))


def slowly(W: np.ndarray, C: np.ndarray, q: float) -> Equilibrium:
    """Polished on the active set, as narrow equilibria are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide, "WIDE", 10**9)
        found = picard(W, C, Contraction(q))
        assert found.factored is not None
        return found


@pytest.mark.parametrize("q", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_accelerated_sweeps_agree_with_the_active_set(q: float, symmetric: bool, seed: int) -> None:
    W, C = drawn(seed, q, symmetric)
    fast, slow = picard(W, C, Contraction(q)), slowly(W, C, q)
    assert np.linalg.norm(fast.Z - slow.Z) <= fast.error + slow.error
    # Stopping below the noise costs at most a quarter of the certified error.
    assert fast.error <= 1.3 * slow.error
    a = np.random.default_rng(seed).normal(size=M)
    (V, radius), (V_slow, radius_slow) = fast.sensitivities(a), slow.sensitivities(a)
    assert np.linalg.norm(V - V_slow) <= radius + radius_slow
    assert radius <= 1.3 * radius_slow


def test_a_slow_mode_takes_few_sweeps() -> None:
    """Plain sweeps would need log(1e-13)/log(0.999), about 30000."""
    W, C = drawn(0, 0.3)
    u = np.full((M, 1), M**-0.5)
    P = np.eye(M) - u @ u.T
    W = P @ W @ P + 0.999 * u @ u.T
    found = picard(W, np.abs(C), Contraction(0.9991))
    assert found.sweeps < 60
    truth = slowly(W, np.abs(C), 0.9991)
    assert np.linalg.norm(found.Z - truth.Z) <= found.error + truth.error


def plain(f: Callable[[np.ndarray, Columns], np.ndarray]) -> Map:
    """One piece, no non-linearity."""

    def change(at: np.ndarray, columns: Columns, unit: float) -> Callable[..., np.ndarray]:
        return lambda d: (f(d, columns) - f(0 * d, columns)).astype(np.float32)

    return Map(f, lambda raw, _: raw, lambda raw, _: raw, change)


@pytest.mark.parametrize("seed", range(5))
def test_changes_in_single_precision_are_good_relative_to_themselves(seed: int) -> None:
    """However small beside the pre-activations; some cross their kinks, some lie on them."""
    r = np.random.default_rng(seed)
    W, H = drawn(seed, 0.9)[0], r.normal(size=(M, N))
    unit = 10.0 ** r.uniform(-14, 0)
    H[r.random(H.shape) < 0.3] *= unit
    H[0] = 0.0
    d = r.normal(size=H.shape).astype(np.float32)
    mask, a = H > 0, r.normal(size=M)
    Long = np.longdouble
    w, h = W.astype(Long) @ d, H.astype(Long) / unit
    pairs = [
        (wide.state_map(W, H), np.maximum(h + w, 0) - np.maximum(h, 0)),
        (wide.adjoint_map(W, mask, a), mask * (W.T.astype(Long) @ d)),
    ]
    for F, exact in pairs:
        off = F.change(H, slice(None), unit)(d) - exact
        # A sum of M products, the rounding of W, and at most two more operations.
        bound = (M + 3) * np.finfo(np.float32).eps * np.linalg.norm(W) * np.linalg.norm(d)
        assert np.linalg.norm(off.astype(float)) <= bound


def test_single_precision_saves_sweeps_and_no_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    W, C = drawn(0, 0.5)
    a = np.random.default_rng(1).normal(size=M)
    fast = picard(W, C, Contraction(0.5))
    V, radius = fast.sensitivities(a)
    monkeypatch.setattr(fixed_point, "WORTH_CORRECTING", np.inf)
    slow = picard(W, C, Contraction(0.5))
    V_slow, radius_slow = slow.sensitivities(a)
    assert fast.sweeps < slow.sweeps / 2
    assert (fast.Z >= 0).all() and not V[~fast.mask].any()
    assert np.linalg.norm(fast.Z - slow.Z) <= fast.error + slow.error
    assert np.linalg.norm(V - V_slow) <= radius + radius_slow
    # Both stop below a quarter of the noise.
    assert fast.error <= 1.25 * slow.error and radius <= 1.25 * radius_slow


def test_a_map_that_is_no_contraction_ends_without_an_answer() -> None:
    start = np.ones((3, 2))
    assert fixed_point.solve(plain(lambda x, _: x**2 + 10), start, lambda x: 1e-12, 500) is None
    rotated = np.array([[0.0, 1.0], [-1.0, 0.0]])
    turning = plain(lambda x, _: np.sign(rotated @ x) + 0.1)
    assert fixed_point.solve(turning, start[:2], lambda x: 0, 99) is None


def test_columns_at_rest_are_left_alone() -> None:
    """One slow column among quick ones: most sweeps are of few columns, and all are right."""
    rates, swept = np.array([0.9, *np.full(31, 1e-3)]), []
    target = np.random.default_rng(0).normal(size=(5, 32))

    def linear(x: np.ndarray, columns: Columns) -> np.ndarray:
        swept.append(x.shape[1])
        # Rotated, so that no combination of a few iterates is the answer.
        return target[:, columns] + rates[columns] * (np.roll(x, 1, axis=0) - target[:, columns])

    found = fixed_point.solve(plain(linear), np.ones((5, 32)), lambda x: 1e-9, 300)
    assert found is not None
    assert swept[0] == 32 and swept[-1] == 1
    again = linear(found.x, slice(None))
    assert np.array_equal(again, found.linear)
    assert np.linalg.norm(again - found.x) == pytest.approx(found.residual)
    assert found.residual <= 1e-9


def models() -> list[tuple[object, dict[str, np.ndarray]]]:
    r = np.random.default_rng(3)
    X, y, a = r.normal(size=(D, N)), r.normal(size=N), r.normal(size=M) / M**0.5
    W, U = drawn(4, 0.8)[0], r.normal(size=(M, D))
    deq = ReluDeq().build({"X": X, "y": y}, HalfSquare())
    implicit = ImplicitRelu(gamma=0.5).build({"X": X.T.copy(), "y": y}, HalfSquare())
    return [(deq, {"W": W, "U": U, "a": a}), (implicit, {"W": U.T, "A": W, "b": a})]


@pytest.mark.parametrize("model, theta", models(), ids=["relu-deq", "implicit-relu"])
def test_what_a_model_remembers_does_not_change_its_answers(model, theta) -> None:  # type: ignore[no-untyped-def]
    """Along a path, after a jump, and back: always within the bars of a model without memory."""
    r = np.random.default_rng(5)
    direction = {name: r.normal(size=x.shape) * 0.01 / M**0.5 for name, x in theta.items()}
    memory = Memory()
    for t in [0.0, 0.01, 0.02, 0.02, 0.03, 0.9, 0.91, -1.0, 0.0]:
        here = {name: theta[name] + t * direction[name] for name in theta}
        states = model.at(here), model.at(here, memory)
        pairs = [(state.gradient, state.gradient_radii(), state.loss) for state in states]
        (g, radii, loss), (g2, radii2, loss2) = pairs
        for name in theta:
            assert np.linalg.norm(g[name] - g2[name]) <= radii[name] + radii2[name]
            # The norm bound of a remembered W may leave 0.8 of 1 - ||W||, twice in a product.
            assert radii2[name] <= 1.1 * radii[name] / 0.8**2
        assert abs(loss.value - loss2.value) <= loss.error + loss2.error


@pytest.mark.parametrize("model, theta", models(), ids=["relu-deq", "implicit-relu"])
def test_asking_again_changes_no_digit(model, theta) -> None:  # type: ignore[no-untyped-def]
    """What is recorded on the way must not change the way."""

    def walk(twice: bool) -> dict[str, np.ndarray]:
        memory, here = Memory(), dict(theta)
        for _ in range(4):
            g = model.at(here, memory).objective.gradient
            other = {name: x * (1 + 1e-15) for name, x in here.items()}
            model.at(other, memory).objective  # noqa: B018
            if twice:
                for again in (here, other):
                    assert np.isfinite(model.at(again, memory).gradient_norms["W"].high)
            here = {name: x - 1e-4 * g[name] for name, x in here.items()}
        return here

    for once, twice in zip(walk(False).values(), walk(True).values(), strict=True):
        assert np.array_equal(once, twice)


@pytest.mark.parametrize("model, theta", models(), ids=["relu-deq", "implicit-relu"])
def test_a_change_of_one_entry_is_not_taken_for_none(model, theta) -> None:  # type: ignore[no-untyped-def]
    """The start is then another one, and asking for the first again changes no digit of it."""
    for name in theta:
        for entry in [0, theta[name].size // 2 + 1, theta[name].size - 1]:
            memory = Memory()
            before = model.at(theta, memory).objective
            moved = {**theta, name: theta[name].copy()}
            moved[name].flat[entry] += 1e-3
            model.at(moved, memory).objective  # noqa: B018
            again = model.at(theta, memory).objective
            assert again.gap == before.gap
            for part, value in before.gradient.items():
                assert np.array_equal(again.gradient[part], value)


def test_few_columns_are_solved_on_their_pieces() -> None:
    """One sample in thirty has moved since the start: no more sweeps than it has new patterns."""
    W, _ = drawn(0, 0.95, symmetric=True)
    C = np.random.default_rng(2).normal(size=(M, 30))
    start = picard(W, C, Contraction(0.95))
    C[:, 7] += 0.3 * np.random.default_rng(3).normal(size=M)
    found = picard(W, C, Contraction(0.95), start.H)
    assert found.sweeps <= 3 + fixed_point.ATTEMPTS < start.sweeps
    truth = slowly(W, C, 0.95)
    assert np.linalg.norm(found.Z - truth.Z) <= found.error + truth.error


def test_remembered_starts_save_sweeps() -> None:
    W, C = drawn(0, 0.9)
    memory, sweeps = Equilibria(), []
    for k in range(5):
        here = C * (1 + 1e-6 * k)
        hint = memory.hint(W, here, np.ones(M))
        found = picard(W, here, Contraction(0.9), hint.state)
        hint.keep_state(found.Z, found.H)
        sweeps.append(found.sweeps)
    assert max(sweeps[2:]) < sweeps[0] / 3


@pytest.mark.parametrize("limit", [1.0, 7.0])
def test_norm_bounds_hold_along_a_path(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    W, exact, computed = limit * drawn(0, 0.9)[0], errors.norm2, []
    memory, r = Equilibria(), np.random.default_rng(1)
    monkeypatch.setattr(errors, "norm2", lambda W: computed.append(W) or exact(W))
    for _ in range(30):
        W = W + 1e-4 * limit * r.normal(size=W.shape) / M**0.5
        norm = np.linalg.norm(W, 2)
        bound = memory.norm_bound(W, limit)
        assert norm <= bound
        assert limit - bound >= 0.75 * (limit - norm)
    assert len(computed) < 5
    assert memory.norm_bound(1.5 * W, limit) >= np.linalg.norm(1.5 * W, 2)
