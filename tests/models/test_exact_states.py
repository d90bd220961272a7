"""What a model measures, computed again: the exact number lies within the error bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.models.problem import State
from deqcheck.records.measured import Measured
from deqcheck.records.tower import compared, rational
from tests.conftest import delm_problem, implicit_problem

pytest.importorskip("flint")


def relu_deq(r: np.random.Generator, m: int, n: int, d: int) -> State:
    W = r.normal(size=(m, m))
    theta = {"W": 0.7 * W / np.linalg.norm(W, 2), "U": r.normal(size=(m, d)), "a": r.normal(size=m)}
    return started("relu-deq", r, n, d, theta, {})


def implicit_relu(r: np.random.Generator, m: int, n: int, d: int) -> State:
    return implicit_problem(N=n, d=d, m=m, seed=int(r.integers(1000))).start


def monotone_deq(r: np.random.Generator, m: int, n: int, d: int) -> State:
    theta = {name: r.normal(size=(m, m)) for name in "AB"}
    theta |= {"U": r.normal(size=(m, d)), "u": r.normal(size=m)}
    return started("monotone-deq", r, n, d, theta, {"m": 0.5})


def delm(r: np.random.Generator, m: int, n: int, d: int) -> State:
    return delm_problem(m=m, n=n, my=d, seed=int(r.integers(1000))).start


def started(
    kind: str, r: np.random.Generator, n: int, d: int, theta: dict[str, Any], fields: dict[str, Any]
) -> State:
    data = {"X": r.normal(size=(d, n)), "y": r.normal(size=n)}
    start: State = dq.problem(kind, data, theta, **fields).start
    return start


MODELS: dict[str, Callable[..., State]] = {
    "relu-deq": relu_deq,
    "implicit-relu": implicit_relu,
    "monotone-deq": monotone_deq,
    "delm": delm,
}
SIZES = [(1, 1, 1), (2, 3, 1), (4, 3, 2), (7, 5, 4)]


def within(x: Measured) -> bool:
    assert x.again is not None
    low, high = (compared(x.again, rational(float(end))) for end in (x.low, x.high))
    return low.sign in (0, 1) and high.sign in (-1, 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_exact_number_lies_within_the_bar(model: str, sizes: tuple[int, int, int]) -> None:
    for seed in range(3):
        state: Any = MODELS[model](np.random.default_rng(seed), *sizes)
        exact = {name: x for name in state.names if (x := state.measure(name)).again}
        spectral = "lambda_min_D" if model == "delm" else "sigma_min_Z"
        assert {"loss", "residual", "gradient", spectral} <= set(exact)
        assert not [name for name, x in exact.items() if not within(x)]
