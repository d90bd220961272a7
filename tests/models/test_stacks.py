"""States side by side: every number and every bar is what the state alone gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deqcheck.linalg.stacked import Places
from deqcheck.models import relu_stacked
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_stacked import FromPatterns
from tests.conftest import implicit_problem, monotone_problem

# Numbers and bars are sums of the same terms (fewer than 100), up to their own rounding.
SAME = 1e-12


def relu_problem(seed: int, size: float) -> Problem:
    r = np.random.default_rng(seed)
    W = r.normal(size=(6, 6))
    theta = {
        "W": min(0.9, 0.5 * size) * W / np.linalg.norm(W, 2),
        "U": size * r.normal(size=(6, 4)),
        "a": r.normal(size=6) / size,
    }
    return Problem(ReluDeqModel(r.normal(size=(4, 3)), r.normal(size=3)), theta, None)


def expanding(seed: int, size: float) -> Problem:
    """I - W is monotone, and W expands."""
    p = relu_problem(seed, size)
    W = p.theta0["W"] / np.linalg.norm(p.theta0["W"], 2)
    return replace(p, theta0={**p.theta0, "W": (1 + size) * (W - W.T) - W @ W.T / 4})


def skewed(seed: int, size: float) -> Problem:
    """The skew part is far larger than the symmetric one, or far smaller."""
    r = np.random.default_rng(seed)
    A, B = 0.1 / size * r.normal(size=(6, 6)), size * r.normal(size=(6, 6))
    return monotone_problem(m=0.2 * size, seed=seed, A=A, B=B)


def implicit(seed: int, size: float) -> Problem:
    return implicit_problem(seed=seed, gamma=0.1 * size, q=0.3 * size, b=np.arange(1.0, 7) * size)


def stacked(problems: Sequence[Problem], masks: Callable[[np.ndarray], np.ndarray]) -> Any:
    first = problems[0]
    shapes = {name: array.shape for name, array in first.theta0.items()}
    stack = first.model.stacked([p.model for p in problems], shapes)
    found, known = stack.first([p.start for p in problems])
    assert known.all()
    theta = {name: np.stack([p.theta0[name] for p in problems]) for name in shapes}
    return stack.at(theta, Places(masks(found)))


@pytest.mark.parametrize("size", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("make", [relu_problem, expanding, skewed, implicit])
@pytest.mark.parametrize("masks", [np.copy, np.ones_like], ids=["known", "other"])
def test_a_state_beside_others_is_that_alone(
    make: Callable[[int, float], Problem], size: float, masks: Callable[[np.ndarray], np.ndarray]
) -> None:
    problems = [make(seed, size) for seed in range(12)]
    beside = stacked(problems, masks)
    told = {name: beside.measure(name) for name in beside.stack.names}
    fine = np.flatnonzero(beside.fine)
    assert len(fine) >= 3
    for i in fine:
        alone = problems[i].start
        form = alone.canonical
        mine = {
            "W": np.linalg.norm(beside.W[i]),
            "W off": np.broadcast_to(beside.W_radius, 12)[i],
            "Z": beside.dZ[i],
            "V": beside.dV[i],
            "r": beside.dr[i],
            "E": beside.dE[i],
            "gap": beside.gap[i],
            "gap off": beside.error[i],
            "gradient": beside.radius[i],
            **{f"{name}, value": told[name].value[i] for name in told},
            **{f"{name}, off": told[name].error[i] for name in told},
        }
        theirs = {
            "W": np.linalg.norm(form.W),
            "W off": form.W_radius,
            "Z": alone.equilibrium.error,
            "V": alone.V_radius,
            "r": alone.r_radius,
            "E": alone.E_radius,
            "gap": alone.loss.value,
            "gap off": alone.loss.error,
            "gradient": alone.gradient_radius,
            **{f"{name}, value": alone.measure(name).value for name in told},
            **{f"{name}, off": alone.measure(name).error for name in told},
        }
        assert mine == pytest.approx(theirs, rel=SAME, abs=0.0)


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_what_is_known_better_alone_is_left_alone(unit: float) -> None:
    """Whatever the unit of the inputs: with a small modulus little is known of Z."""

    def beside(m: float) -> Any:
        inputs = {"U": unit * np.ones((6, 4)), "X": np.ones((4, 3)), "B": np.zeros((6, 6))}
        problems = [monotone_problem(m=m, seed=s, A=10 * np.eye(6), **inputs) for s in range(3)]
        return stacked(problems, np.copy)

    rough, fine = beside(1e-6), beside(1.0)
    assert (rough.dZ > 1e-9 * rough.Z_length).all() and not rough.fine.any()
    assert (fine.dZ < 1e-9 * fine.Z_length).all() and fine.fine.all()
    # Far from the kinks: nothing else keeps them apart.
    for each in (rough, fine):
        assert (each.H.min(axis=(1, 2)) > 2 * np.linalg.norm(each.W[0]) * each.dZ).all()


def test_a_state_that_is_positive_where_it_should_not_be_is_not_certified() -> None:
    """A monotone I - W asks for another defect there than a contraction does."""
    good = stacked([expanding(seed, 1.0) for seed in range(4)], np.copy)

    class Off(FromPatterns):
        def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            Z, H, fits = super().solve(W, C)
            Z[1][np.unravel_index(H[1].argmin(), H[1].shape)] = 1e-18
            return Z, H, fits

    assert good.fine.all()
    found = type(good)(good.stack, good.theta, Off(Places(good.mask)))
    assert found.fine.tolist() == [True, False, True, True]


@pytest.mark.parametrize("size", [0.3, 1.5])
@pytest.mark.parametrize(("make", "inner"), [(relu_problem, "W"), (implicit, "A")])
def test_the_weights_are_compared_with_those_that_leave_no_room(
    make: Callable[[int, float], Problem], inner: str, size: float
) -> None:
    """Z = relu(W Z + C) and Z = relu(gamma A^T Z + C), for as many times I as the limit says."""
    here = stacked([make(seed, size) for seed in range(3)], np.copy)
    limits: list[Any] = []

    class Asked(FromPatterns):
        def bound(self, a: np.ndarray, limit: Any, upper: Any) -> np.ndarray:
            limits.append(limit)
            return super().bound(a, limit, upper)

    here.way = Asked(Places(here.mask))
    assert (here.equation().room > 0.1).all()
    (limit,) = np.broadcast_to(limits, (1, 3))
    here.theta = {**here.theta, inner: limit[:, None, None] * np.eye(6)}
    assert here.equation().room == pytest.approx(np.zeros(3), abs=1e-13)


@pytest.mark.parametrize("n", [2, 3])
def test_large_matrices_are_decomposed_one_by_one(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """From 3 rows and columns on, here."""
    monkeypatch.setattr(relu_stacked.largest, "LARGE", 3)
    asked, right = [], relu_stacked._one_by_one
    monkeypatch.setattr(relu_stacked, "_one_by_one", lambda found: asked.append(n) or right(found))
    matrices = np.array([3.0, 5.0])[:, None, None] * np.eye(n, 4)
    found = relu_stacked.largest_singular_value(matrices, 0.25)
    assert found.value == pytest.approx([3.0, 5.0]) and bool(asked) is (n == 3)
    assert found.error == pytest.approx([0.25, 0.25], rel=1e-12)


@pytest.mark.parametrize(("share", "fine"), [(0.99, True), (1.01, False)])
def test_what_is_not_known_to_six_digits_is_not_certified(share: float, fine: bool) -> None:
    """Of what U X is a sum of, 4 d |U| |X|, which is larger than Z here. All units are on, far from
    their kinks: nothing else keeps a state apart."""
    p, X, U = relu_problem(0, 1.0), np.ones((4, 3)), np.ones((6, 4))
    positive = {"W": np.full((6, 6), 0.05), "U": U, "a": p.theta0["a"]}
    good = stacked([Problem(ReluDeqModel(X, p.model.y), positive, None)], np.copy)
    size = 16 * np.linalg.norm(U) * np.linalg.norm(X)
    off = share * 1e-6 * size / good.Z_length

    class Off(FromPatterns):
        def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            Z, _, fits = super().solve(W, C)
            return (1 + off) * Z, W @ ((1 + off) * Z) + C, fits

    found = type(good)(good.stack, good.theta, Off(Places(good.mask)))
    assert found.dZ == pytest.approx(off * found.Z_length, rel=1e-3)
    assert good.fine.all() and found.fine.tolist() == [fine]


def test_norms_of_matrices_are_asked_for_and_those_of_vectors_are_not() -> None:
    """As singular values of matrices that are not wider than high: W is 6 x 6, U 6 x 4."""
    here = stacked([relu_problem(seed, 1.0) for seed in range(3)], np.copy)
    for name, columns in (("W", 6), ("U", 4)):
        asked = here.spectral(f"norm2.{name}")
        assert asked.upper and asked.matrices.shape == (3, 6, columns)
        assert np.array_equal(asked.matrices, here.theta[name])
    assert here.spectral("norm2.a") is None and here.spectral("norm2.b") is None


def test_of_outputs_that_are_0_the_residual_is_exact() -> None:
    """-y, whatever is known of Z."""
    problems = [relu_problem(seed, 1.0) for seed in range(3)]
    silent = [replace(p, theta0={**p.theta0, "a": np.zeros(6)}) for p in problems]
    for given, off in ((problems, True), (silent, False)):
        found = stacked(given, np.copy)
        assert (found.dZ > 0).all() and (found.dr > 0).tolist() == [off] * 3
        y = np.stack([p.model.y for p in given])
        assert np.array_equal(found.r, -y) is not off


@pytest.mark.parametrize("make", [relu_problem, expanding, skewed, implicit])
def test_what_is_not_finite_spoils_no_other(make: Callable[[int, float], Problem]) -> None:
    """As the parameters of a run that diverges beside others become."""
    problems = [make(seed, 1.0) for seed in range(6)]
    good = stacked(problems, np.copy)
    for number in (np.nan, np.inf):
        for name in problems[0].theta0:
            theta = {n: a.copy() for n, a in good.theta.items()}
            theta[name][2].flat[0] = number
            with np.errstate(all="ignore"):
                found = good.stack.at(theta, Places(good.mask))
            assert np.array_equal(found.fine, good.fine & (np.arange(6) != 2))
            assert np.array_equal(found.gap[found.fine], good.gap[found.fine])
            assert np.array_equal(found.gradient[found.fine], good.gradient[found.fine])
