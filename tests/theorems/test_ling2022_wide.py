"""Theorems 4 and 5 over draws: the coarse way agrees with the other one, and is taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import deqcheck as dq
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.thm4 import Theorem4
from deqcheck.theorems.ling2022.thm5 import Theorem5

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
