"""Theorems 4 and 5 over draws: the coarse way agrees with the other one, and is taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.linalg.coarse import tail
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.thm4 import Theorem4
from deqcheck.theorems.ling2022.thm5 import Theorem5
from tests.theorems.ling2022_problems import relu_deq

TRIED = range(8)


def problem(width: int, sigma_w2: float) -> dq.Problem:
    data = {"kind": "sphere", "n": 12, "dim": 10, "radius": 10**0.5, "target": "gaussian"}
    law = {"kind": "gaussian", "fan": "in"}
    init = {
        "kind": "each",
        "W": {**law, "scale": (2 * sigma_w2) ** 0.5},
        "U": {**law, "scale": 2**0.5},
        "a": law,
    }
    return dq.problem("relu-deq", data, init, width=width, sigma_w2=sigma_w2)


@pytest.mark.parametrize(("layers", "C"), [(1, 1.0), (2, 1.0), (2, 0.1), (4, 1.0), (4, 0.03)])
@pytest.mark.parametrize("sigma_w2", [0.08, 0.12, 1e-3, 0.0])
def test_the_coarse_way_says_yes_only_where_the_certified_one_does(
    layers: int, C: float, sigma_w2: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    s, p = Theorem4("printed", {"l": layers, "C": C}), problem(60, sigma_w2)
    quick = [s._surely(p, draw(p, seed, s.id)) for seed in TRIED]
    monkeypatch.setattr(Theorem4, "_surely", lambda *words: False)
    slow = [s.trial(p, seed) for seed in TRIED]
    assert all(b is True for a, b in zip(quick, slow, strict=True) if a)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_coarse_bound_is_that_of_two_gram_matrices(layers: int) -> None:
    """|Z^T Z - Y^T Y|_F <= |Z - Y|_F (|Z|_F + |Y|_F), and |Z|_F <= |Y|_F + |Z - Y|_F."""
    p, edge = problem(60, 0.08), (8 * 0.08) ** 0.5
    theta = draw(p, 0, Theorem4.id)
    away, at = tail(theta["W"], theta["U"], p.model.X, layers, edge + (1 - edge) / 8)
    needed = away * (2 * at + away) / (12 * 60 * edge**layers)
    for factor, says in ((1.001, True), (0.999, False)):
        s = Theorem4("printed", {"l": layers, "C": factor * needed})
        assert s._surely(p, theta) is says


@pytest.mark.parametrize("layers", [1, 3])
def test_an_event_is_told_on_both_sides_of_its_edge(layers: int) -> None:
    """|G - G^(l)|_F against C n m (2 sqrt2 sigma_w)^l, with Z from many sweeps."""
    p = problem(40, 0.08)
    theta = draw(p, 1, Theorem4.id)
    W, C = theta["W"], theta["U"] @ p.model.X
    states = [np.zeros_like(C)]
    for _ in range(300):
        states.append(np.maximum(W @ states[-1] + C, 0.0))
    Z, Y = states[-1], states[layers]
    edge = np.linalg.norm(Z.T @ Z - Y.T @ Y) / (12 * 40 * (8 * 0.08) ** (layers / 2))
    for factor, happens in ((1.001, True), (0.999, False)):
        assert Theorem4("printed", {"l": layers, "C": factor * edge}).trial(p, 1) is happens


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("off", [-1e-3, 1e-3])
def test_the_coarse_way_leaves_room_for_samples_that_are_off_the_sphere(
    layers: int, off: float
) -> None:
    """For one unit with w > 0 the two factors of z^2 - y^2 are no estimate. The theorem speaks of
    the sample scaled to length 1, by 1/(1 + off), and z^2 - y^2 is scaled by its square: for off <
    0 it is larger than what is computed by more than 2 |off|. The room is 3 |off|, no more."""
    edge = (8 * 0.02) ** 0.5
    w, x = (edge + (1 - edge) / 8) * (1 - 1e-9), 1 + off
    p = relu_deq(1, 1, 1, W=[[w]], U=[[1.0]], X=[[x]], sigma_w2=0.02)
    z, y = x / (1 - w), x * (1 - w**layers) / (1 - w)
    scaled = ((z / x) ** 2 - (y / x) ** 2) / edge**layers
    computed = (z**2 - y**2) / edge**layers

    def surely(C: float) -> bool:
        return Theorem4("printed", {"l": layers, "C": C})._surely(p, p.theta0)

    if off < 0:
        assert not surely(0.9999 * scaled)
    assert not surely((1 + 2.9 * abs(off)) * computed)
    assert surely((1 + 3.1 * abs(off)) * computed)


def test_the_usual_constants_need_no_equilibrium(monkeypatch: pytest.MonkeyPatch) -> None:
    s, p = Theorem4("printed"), problem(200, 0.08)

    def refused(theta: object) -> Callable[..., object]:
        raise AssertionError("an equilibrium was asked for")

    monkeypatch.setattr(p.model, "at", refused)
    assert all(s.trial(p, seed) for seed in range(3))


@pytest.mark.parametrize("layers", [1, 2, 3, 8])
@pytest.mark.parametrize("sigma_w2", [0.12, 0.02, 0.0])
def test_single_precision_says_yes_only_where_doubles_do(
    layers: int, sigma_w2: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    s, p = Theorem5("corrected", {"l": layers}), problem(100, sigma_w2)
    quick = [s._in_single(p, draw(p, seed, s.id)) for seed in TRIED]
    monkeypatch.setattr(Theorem5, "_in_single", lambda *words: False)
    slow = [s.trial(p, seed) for seed in TRIED]
    assert all(b is True for a, b in zip(quick, slow, strict=True) if a)
    if (layers, sigma_w2) == (2, 0.12):
        assert all(quick)
