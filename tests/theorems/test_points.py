"""How far the points lie that statements draw: by their lengths, not by the draws themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.models.problem import Problem, pack
from deqcheck.models.relu_deq.model import ReluDeq
from deqcheck.records.tower import integer
from deqcheck.theorems.gao2022 import lem4_1, lem4_3, lem5_1
from deqcheck.theorems.hieu2022 import draws
from deqcheck.theorems.kawaguchi2021 import thm2
from deqcheck.theorems.ling2022 import lem2
from deqcheck.theorems.xie2021 import lem6, lem19
from tests.opteq_instances import arrays, problem

Builder = Callable[..., Problem]


def test_stacked_points_are_of_several_sizes() -> None:
    """From 1/10 to 10, evenly in the logarithm."""
    p = problem(*arrays(1, 10, 3, 2, 1, 2, 20), iterations=1)
    points = np.array(lem6._stacked_points(p))
    assert points.shape[1:] == (2, 10, 20)
    sizes = np.sqrt((points**2).mean(axis=(1, 2, 3)))
    # 400 numbers each: their root mean square is known to 5/sqrt(800).
    assert 0.1 * 0.8 < sizes.min() < 0.2 and 5 < sizes.max() < 10 * 1.2
    assert abs(np.log10(sizes).mean()) < 5 / math.sqrt(3 * len(sizes))


@pytest.mark.parametrize("rho", [0.05, 1e-3])
def test_pairs_of_parameters_lie_within_their_radius(
    monkeypatch: pytest.MonkeyPatch, rho: float
) -> None:
    p = problem(*arrays(1, 2, 2, 2, 1, 1, 2), iterations=1)
    monkeypatch.setattr(lem19, "Pair", lambda one, other: (one, other))
    statement = dq.statements()["xie2021/lem19"](fixed={"rho": rho})
    every = [state for pair in statement._pairs(p) for state in pair]  # type: ignore[attr-defined]
    off = np.array([np.linalg.norm(pack(s.theta) - pack(p.theta0)) for s in every]) / rho
    assert len(off) >= 10
    # Evenly in [0, 1], whose deviation is 1/sqrt(12).
    assert off.max() <= 1 + 1e-9 and abs(off.mean() - 0.5) < 5 / math.sqrt(12 * len(off))


def length(theta: dict[str, np.ndarray]) -> float:
    return math.sqrt(sum(float((a**2).sum()) for a in theta.values()))


def test_directions_and_parameters_nearby(monotone: Builder) -> None:
    p = monotone()
    way = draws.direction(p, "test")
    assert length(way) == pytest.approx(1.0, rel=1e-14)
    for name in way:
        alone = draws.only(way, name)
        assert length(alone) == pytest.approx(1.0, rel=1e-14)
        assert np.linalg.norm(alone[name]) == pytest.approx(1.0, rel=1e-14)
    for scale in (1e-3, 0.5):
        near = draws.nearby(p, "test", scale)
        apart = {name: near[name] - p.theta0[name] for name in near}
        assert length(apart) == pytest.approx(scale * length(p.theta0), rel=1e-12)
    zero: Any = SimpleNamespace(theta0={n: 0 * a for n, a in p.theta0.items()}, seed=0)
    assert length(draws.nearby(zero, "test", 0.25)) == pytest.approx(0.25, rel=1e-12)


def test_projections_lean_towards_what_moves(implicit: Builder) -> None:
    """Of one sample u is 1/2 or 3/2 times the sign of H r."""
    p = implicit(1, 3, 4)
    check: Any = lambda **sides: sides  # noqa: E731
    H, _ = p.start.H_with_radius
    Hr = float(H[0, 0] * p.start.r[0])
    shares = {
        round(-float(sides["minus_uHr"].value) / abs(Hr), 9)
        for sides in lem4_1.moving(check, 0, p.start)
    }
    assert shares == {0.5, 1.5}


def test_states_around_take_all_of_the_room(implicit: Builder) -> None:
    """From once to 1/1000 of |W| and of 9/10 of what is left until gamma |A| = 1."""
    p = implicit(q=0.8, gamma=0.3)
    steps = np.geomspace(1.0, 1e-3, lem4_3.PAIRS)
    room = {"W": spectral_norm(p.theta0["W"]), "A": 0.9 * 0.2 / 0.3}
    for names in (("W",), ("A",), ("W", "A")):
        for step, state in zip(steps, lem4_3._around(p, names), strict=True):
            for name in ("W", "A"):
                off = spectral_norm(state.theta[name] - p.theta0[name])
                wanted = step * room[name] if name in names else 0.0
                assert off == pytest.approx(wanted, rel=1e-6, abs=1e-15)
    still = implicit(W=np.zeros((4, 6)), q=0.8, gamma=0.3)
    off = [spectral_norm(state.theta["W"]) for state in lem4_3._around(still, ("W",))]
    assert off == pytest.approx(steps, rel=1e-9)


@pytest.mark.parametrize("size", [0.01, 1.0, 50.0])
def test_directions_are_as_long_as_the_parameters_at_least_1(size: float) -> None:
    """900 entries of W, all of this size: the root mean square is known to 5/sqrt(1800)."""
    theta = {"W": np.full((30, 30), size), "U": np.ones((30, 1)), "a": np.ones(30)}
    data = {"X": np.ones((1, 1)), "y": np.zeros(1)}
    p = Problem(ReluDeq().build(data, None), theta, None)
    drawn = lem2._direction(p, "test", 0)["W"]
    assert np.sqrt((drawn**2).mean()) == pytest.approx(max(size, 1.0), rel=5 / math.sqrt(1800))


def test_points_of_a_trust_region_lie_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between half of the radius and all of it; every other one leans towards the minimiser."""
    G, v = np.diag([1.0, 4.0, 9.0]), np.array([3.0, 2.0, 1.0])
    seen: list[np.ndarray] = []

    def value(u: np.ndarray) -> float:
        seen.append(u.copy())
        return float(len(seen))

    region: Any = SimpleNamespace(G=G, v=v, value=value)
    assert thm2._best_drawn(region, 0) == 1.0
    radius = math.sqrt(9 + 16 + 9)
    sizes = np.array([math.sqrt(u @ G @ u) for u in seen]) / radius
    assert 0.5 <= sizes.min() < 0.6 and 0.9 < sizes.max() <= 1 + 1e-12
    # Drawn at right angles to v and as long as it, they are 0, 10, 0, 1000 times v and once that.
    e = np.array([8.0, -3.0, 0.0]) * radius / 10
    fixed = SimpleNamespace(normal=lambda size: e.copy(), uniform=lambda low, high: high)
    monkeypatch.setattr(thm2, "rng", lambda *_: fixed)
    seen.clear()
    thm2._best_drawn(region, 0)
    shares = [u @ G @ v / (u @ G @ e) for u in seen]
    assert len(shares) >= 8
    wanted = [(0.0, 10.0, 0.0, 1000.0)[i % 4] for i in range(len(shares))]
    assert shares == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("flags", "doubtful", "low", "high"),
    [
        ([True, True], [False, False], 1.0, 1.0),
        ([True, False], [False, False], 0.0, 0.0),
        ([True, False], [True, False], 0.0, 0.0),
        ([True, False], [False, True], 0.0, 1.0),
        ([True, True], [True, False], 0.0, 1.0),
    ],
)
def test_whether_all_units_are_active(
    flags: list[bool], doubtful: list[bool], low: float, high: float
) -> None:
    """A unit that is off decides; of doubtful ones it is 0 or 1."""
    found = lem4_1._all(np.array(flags), np.array(doubtful), integer(1))
    assert (found.low, found.high) == (low, high)


def test_a_projection_is_as_unsure_as_its_vectors_are_long(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """u^T Z v: twice u and three times v make the numbers and their bars 2 and 3 times as large."""
    p = implicit(A=np.full((6, 6), 0.1), W=np.ones((4, 6)), X=np.ones((3, 4)))
    u, v = np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 2.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr(lem5_1, "PROJECTIONS", 1)

    def sides(by_u: float, by_v: float) -> list[float]:
        drawn = {3: by_u * u, 6: by_v * v}
        stream = SimpleNamespace(standard_normal=lambda size: drawn[size])
        monkeypatch.setattr(lem5_1, "rng", lambda *_: stream)
        statement: Any = dq.statements()["gao2022/lem5.1"]()
        (claim,) = statement._projections(p, p.start)
        return [x for side in (claim.left, claim.right) for x in (side.value, side.error)]

    once = np.array(sides(1, 1))
    assert once[0] == pytest.approx(v @ p.start.Z @ u, rel=1e-12)
    assert (once > 0).all()
    np.testing.assert_allclose(sides(2, 1), 2 * once, rtol=1e-6)
    np.testing.assert_allclose(sides(1, 3), 3 * once, rtol=1e-6)
