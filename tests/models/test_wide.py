"""What wide models look at no longer, and small ones do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deqcheck.models.implicit_relu import spectrum
from deqcheck.models.implicit_relu import state as implicit_state
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq import state as relu_state
from deqcheck.models.relu_deq.model import ReluDeqModel

Builder = Callable[..., Problem]


def relu_deq() -> Problem:
    r = np.random.default_rng(0)
    theta = {"W": r.normal(size=(6, 6)), "U": r.normal(size=(6, 3)), "a": r.normal(size=6)}
    return Problem(ReluDeqModel(r.normal(size=(3, 2)), r.normal(size=2)), theta)


@pytest.mark.parametrize(("wide", "sharp"), [(7, True), (6, False)])
@pytest.mark.parametrize("name", ["W", "A"])
def test_norms_of_small_weights_are_computed_and_those_of_wide_ones_bounded(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch, name: str, wide: int, sharp: bool
) -> None:
    """Of 6 units, of norm 0.3 first and of 0.27 then: by Weyl's inequality at most 0.3 + |0.1 W|_F,
    which needs no decomposition."""
    p = relu_deq() if name == "W" else implicit()
    for module in (relu_state, implicit_state):
        monkeypatch.setattr(module, "WIDE", wide)
    gamma = getattr(p.model, "gamma", 1.0)
    weights = 0.3 / gamma * p.theta0[name] / np.linalg.norm(p.theta0[name], 2)
    memory, theta = Memory(), {**p.theta0, name: weights}
    assert len(p.model.at(theta, memory).system) == 2
    then: Any = p.model.at({**theta, name: 0.9 * weights}, memory)
    q = (then._certificate(then.weights[1]) if name == "W" else then._contraction()).q
    bound = 0.3 + 0.03 * np.linalg.norm(weights) / np.linalg.norm(weights, 2)
    assert q == pytest.approx(0.27 if sharp else bound, rel=1e-12)


@pytest.mark.parametrize(("most", "told"), [(3 * 6**3, True), (3 * 6**3 - 1, False)])
def test_the_blocks_of_wide_networks_are_not_told_unasked(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch, most: int, told: bool
) -> None:
    """3 samples, 6 units."""
    monkeypatch.setattr(spectrum, "CUBES", most)
    p = implicit(N=3, m=6)
    names = ("loss", "sigma_min_Q", "gamma0")
    wanted = names if told else ("loss", "gamma0")
    assert spectrum.listed(p.start, names) == wanted
