"""Shared builders for small instances."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deqcheck.losses.square import Square
from deqcheck.models.delm import Delm
from deqcheck.models.problem import Problem


def delm_problem(
    m: int = 4,
    n: int = 9,
    my: int = 2,
    gamma: float = 0.6,
    scale: float = 0.5,
    seed: int = 0,
    train: Any = None,
    loss: Any = None,
    **arrays: Any,
) -> Problem:
    r = np.random.default_rng(seed)
    given = {name: np.asarray(a, dtype=float) for name, a in arrays.items()}
    data = {"Phi": r.normal(size=(m, n)), "Y": r.normal(size=(my, n))}
    theta = {"A": scale * r.normal(size=(m, m)), "B": scale * r.normal(size=(my, m))}
    data = {name: given.get(name, a) for name, a in data.items()}
    theta = {name: given.get(name, a) for name, a in theta.items()}
    return Problem(Delm(gamma=gamma).build(data, loss or Square()), theta, train)


def bare_case(**more: Any) -> SimpleNamespace:
    """A case without a file, for problems built in a test."""
    fields = {
        "title": "",
        "name": "test",
        "digest": "",
        "resolved": {},
        "expect": {},
        "theorems": None,
        "constants": {},
        "edition": "corrected",
    }
    return SimpleNamespace(**{**fields, **more})


@pytest.fixture
def delm() -> Callable[..., Problem]:
    return delm_problem


@pytest.fixture
def case() -> Callable[..., SimpleNamespace]:
    return bare_case
