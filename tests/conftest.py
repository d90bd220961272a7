"""Shared builders for small instances."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401, brings a library of its own
from threadpoolctl import threadpool_limits

from deqcheck import garbage, plugins
from deqcheck.ci.records import Result
from deqcheck.losses.square import Square
from deqcheck.models.delm.model import Delm
from deqcheck.models.implicit_relu.model import ImplicitRelu
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.problem import Problem
from tests.make_hieu2022_arrays import instance

from .shipped import results

# Many tests start `deqcheck` as a process of its own: half of such a start is compiling, where
# the environment forbids to keep bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
garbage.looked_for_seldom()
# The processes of the suite share the cores: where a test calls the linear algebra itself, threads
# would wait for those of the others, twenty times as long as the work takes. Children are not told.
threadpool_limits(1, user_api="blas")

# Files that take long, whatever the number of their tests: begun last they would keep one process
# busy while the others are done. The first two need all shipped cases.
LONG = (
    "tests/test_catalogue.py",
    "tests/test_baseline.py",
    "tests/docs/test_docs.py",
    "tests/test_plugins.py",
    "tests/architecture/test_lint.py",
    "tests/ci/",
    "tests/cli/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((i for i, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG))

    items.sort(key=place)
    # What is collected stays until the end: nobody need look for garbage there.
    gc.freeze()


@pytest.fixture(autouse=True)
def only_what_comes_with_deqcheck() -> Iterator[None]:
    """What a test loads from outside is gone after it."""
    yield
    plugins.forget()


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


def implicit_problem(
    N: int = 3,
    d: int = 4,
    m: int = 6,
    q: float = 0.8,
    seed: int = 0,
    train: Any = None,
    gamma: float = 0.3,
    **arrays: Any,
) -> Problem:
    """A ReLU implicit network; A is scaled so that gamma |A| = q, unless it is given."""
    r = np.random.default_rng(seed)
    drawn = {
        "X": r.normal(size=(N, d)),
        "y": r.normal(size=N),
        "W": r.normal(size=(d, m)),
        "A": r.normal(size=(m, m)),
        "b": r.normal(size=m),
    }
    drawn["A"] *= q / gamma / np.linalg.norm(drawn["A"], 2)
    every = {name: np.asarray(arrays.get(name, a), dtype=float) for name, a in drawn.items()}
    model = ImplicitRelu(gamma=gamma).build({n: every[n] for n in ("X", "y")}, None)
    return Problem(model, {n: every[n] for n in ("W", "A", "b")}, train)


def monotone_problem(
    n: int = 6,
    d: int = 4,
    N: int = 3,
    m: float = 1.0,
    seed: int = 0,
    labels: float = 1.0,
    train: Any = None,
    solver: str = "peaceman-rachford",
    **arrays: Any,
) -> Problem:
    """The verified instances of hieu2022 are monotone_problem(n, d, N, m, seed)."""
    drawn = {**instance(seed, n, d, N), **{k: np.asarray(a, float) for k, a in arrays.items()}}
    model = MonotoneDeqModel(m, drawn.pop("X"), labels * drawn.pop("y"), solver)
    return Problem(model, drawn, train)


@pytest.fixture
def delm() -> Callable[..., Problem]:
    return delm_problem


@pytest.fixture
def implicit() -> Callable[..., Problem]:
    return implicit_problem


@pytest.fixture
def monotone() -> Callable[..., Problem]:
    return monotone_problem


@pytest.fixture(scope="session")
def kept(pytestconfig: pytest.Config) -> Path:
    """Where results of shipped cases are kept."""
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("deqcheck-shipped")


@pytest.fixture(scope="session")
def shipped(kept: Path) -> dict[str, Result]:
    """What came of every shipped case, by its name such as `kawaguchi2021/equality`."""
    return results(kept)


@pytest.fixture(scope="session")
def told(kept: Path) -> Callable[..., dict[str, Any]]:
    """What the report of a shipped case tells of a statement; the case is run once, if at all."""

    @cache
    def told(name: str, statement: str, edition: str = "corrected") -> dict[str, Any]:
        facts = results(kept, [name])[name].reply.facts
        assert facts is not None
        wanted = {"id": statement, "edition": edition}
        (found,) = (s for s in facts["statements"] if wanted.items() <= s.items())
        return dict(found)

    return told
