"""Quantities of many DELM states at once, against each state alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deqcheck.kinds import Loss
from deqcheck.linalg.followed import End, Ends
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.square import Square
from deqcheck.models.delm import side_by_side
from deqcheck.models.delm.side_by_side import ManyDelm, SideBySide, quantities, states_at_once
from deqcheck.models.problem import Problem

Builder = Callable[..., Problem]
NAMES = [*SideBySide.measures, "loss", "norm2.B"]


@pytest.mark.parametrize(
    ("m", "my"), [(1, 1), (1, 2), (2, 1), (7, 1), (5, 2), (8, 3), (3, 3), (2, 4)]
)
@pytest.mark.parametrize("gamma", [0.05, 0.6, 0.99])
def test_every_state_has_its_own_numbers(delm: Builder, m: int, my: int, gamma: float) -> None:
    p = delm(m, 9, my, gamma)
    r = np.random.default_rng(m)
    # Zeros, equal columns, weights that are nearly one-hot, and sizes that ask for another way.
    scales = (0.0, 0.01, 1.0, 30.0, 1e-200, 1e200)
    states = [
        p.model.at({"A": a * r.normal(size=(m, m)), "B": b * r.normal(size=(my, m))})
        for a in scales[:4]
        for b in scales
    ]
    for state, found in zip(states, quantities(p.model, states, NAMES), strict=True):
        for name in NAMES:
            alone, beside = state.measure(name), found[name]
            assert beside.how == alone.how
            if not np.isfinite(alone.error):
                assert not np.isfinite(beside.error)
                continue
            assert abs(alone.value - beside.value) <= alone.error + beside.error
            # The radii come from the same rules.
            assert alone.error / 2 - 1e-300 <= beside.error <= 2 * alone.error + 1e-300


@pytest.mark.parametrize(("m", "my"), [(50, 1), (64, 1), (120, 1), (50, 2)])
def test_ends_of_spectra_that_are_followed(delm: Builder, m: int, my: int) -> None:
    """Along small steps, after a jump, and where nothing can be followed."""
    p = delm(m, 9, my, 0.6)
    r = np.random.default_rng(m)
    A, B, dA, dB = (r.normal(size=shape) for shape in 2 * ((m, m), (my, m)))
    at = [(s, 1.0) for s in (0.0, 1e-3, 2e-3, 1.0, 1.001)] + [(0.0, 0.0), (0.0, 1e200)]
    states = [p.model.at({"A": A + t * dA, "B": scale * (B + t * dB)}) for t, scale in at]
    names = ["norm2.U_inverse", "lambda_min_D"]
    for state, found in zip(states, quantities(p.model, states, names), strict=True):
        for name in names:
            alone, beside = state.measure(name), found[name]
            if not np.isfinite(alone.error):
                assert not np.isfinite(beside.error)
                continue
            assert abs(alone.value - beside.value) <= alone.error + beside.error
            assert beside.error <= 1.01 * alone.error


def test_what_is_followed_comes_with_its_own_gram_matrix(
    delm: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of all lengths, so that the scaling of one side only, or of none, is told apart."""
    asked: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"U": [], "F": []}
    of = Ends.of

    def seen(self: Ends, name: str, Z: np.ndarray, G: np.ndarray, upper: bool) -> End:
        asked[name].append((Z, G))
        return of(self, name, Z, G, upper)

    monkeypatch.setattr(Ends, "of", seen)
    p, r = delm(50, 9, 1, 0.6), np.random.default_rng(0)
    both = SideBySide(p.model, 4 * r.normal(size=(2, 50, 50)), 30 * r.normal(size=(2, 1, 50)))
    both.measure("norm2.U_inverse"), both.measure("lambda_min_D")
    for pairs in asked.values():
        assert len(pairs) == 2
        for Z, G in pairs:
            exact = np.array([[math.fsum(a * b) for b in Z.T] for a in Z.T])
            assert np.abs(G - exact).max() <= 1e-13 * np.abs(exact).max()
    (F, _), _ = asked["F"]
    assert np.ptp(np.linalg.norm(F, axis=0)) > 0.5


def test_values_of_a_run_beside_another(delm: Builder) -> None:
    """Along the vectors of the other one; where it is far away, by themselves."""
    p = delm(50, 9, 1, 0.6)
    r = np.random.default_rng(0)
    A, B = r.normal(size=(3, 50, 50)), r.normal(size=(3, 1, 50))
    run = SideBySide(p.model, A, B)
    rows = np.array([2, 0])
    for away in (1e-12, 1e-3):
        other = SideBySide(p.model, A[rows] + away * r.normal(size=(2, 50, 50)), B[rows])
        for name in SideBySide.measures:
            run.measure(name)
            found, known = other.values(name, run, rows), other.measure(name)
            assert np.all(np.abs(found - known.value) <= 2 * known.error)


@pytest.mark.parametrize(
    ("loss", "my"), [(Square(), 1), (Square(), 3), (Square(R=0.3), 3), (Logistic(), 1)]
)
def test_gaps_and_radii_are_those_of_each_state(delm: Builder, loss: Loss, my: int) -> None:
    p = delm(5, 9, my, loss=loss, Y=np.tile(np.arange(9) % 2, (my, 1)))
    r = np.random.default_rng(my)
    A, B = r.normal(size=(4, 5, 5)), r.normal(size=(4, my, 5))
    many = ManyDelm(p.model)
    seen = [many.gradient({"A": A[i], "B": B[i]})[1] for i in range(4)]
    found = many.at({"A": A, "B": B}, seen)
    assert found.fine.all()
    some = found.some(np.array([3, 1]))
    for i in range(4):
        alone = p.model.objective({"A": A[i], "B": B[i]})
        assert alone.radius is not None
        assert abs(alone.gap - found.gap[i]) <= alone.error + found.error[i]
        # By the same rules, from numbers that are off by rounding.
        for one, other in ((found.error[i], alone.error), (found.radius[i], alone.radius())):
            assert abs(one - other) <= 1e-9 * other
    assert np.array_equal(some.gap, found.gap[[3, 1]])
    assert np.array_equal(some.measure("norm.Q").value, found.measure("norm.Q").value[[3, 1]])
    # From the weights that the gradients went through.
    for name in SideBySide.measures:
        beside, alone = some.measure(name), [p.model.at({"A": A[i], "B": B[i]}) for i in (3, 1)]
        for i, one in enumerate(state.measure(name) for state in alone):
            assert abs(beside.value[i] - one.value) <= beside.error[i] + one.error


def test_wide_models_stay_alone() -> None:
    assert states_at_once(50, 2) > 1 == states_at_once(51, 2)


@pytest.mark.parametrize(("count", "most", "wanted"), [(1, 9, False), (2, 1, False), (2, 2, True)])
def test_two_states_go_side_by_side_where_two_fit(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, count: int, most: int, wanted: bool
) -> None:
    p, asked = delm(), []
    monkeypatch.setattr(side_by_side, "states_at_once", lambda m, my: most)

    def together(model: Any, states: Any, names: Any) -> Any:
        asked.append(len(states))
        return quantities(model, states, names)

    monkeypatch.setattr(side_by_side, "quantities", together)
    found = p.model.quantities([p.start] * count, ["norm1.B"])
    wide = np.abs(p.theta0["B"]).sum(axis=0).max()
    assert [each["norm1.B"].value for each in found] == pytest.approx([wide] * count)
    assert asked == ([count] if wanted else [])


@pytest.mark.parametrize(("m", "my", "followed"), [(6, 1, True), (5, 1, False), (6, 2, False)])
def test_the_smallest_eigenvalue_is_followed_for_one_output_of_wide_models(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, m: int, my: int, followed: bool
) -> None:
    """From 6 features on, here."""
    monkeypatch.setattr(side_by_side, "FOLLOWED", 6)
    asked, right = [], side_by_side.beside
    monkeypatch.setattr(side_by_side, "beside", lambda *given: asked.append(m) or right(*given))
    p = delm(m, 9, my)
    rows = {name: np.stack([a, (1 + 1e-6) * a]) for name, a in p.theta0.items()}
    states = SideBySide(p.model, rows["A"], rows["B"])
    found = states.values("lambda_min_D", states, np.arange(2))
    assert found == pytest.approx(states.measure("lambda_min_D").value, rel=1e-5)
    assert bool(asked) is followed
