"""The gradient of the monotone model against its explicit Kronecker form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.monotone_deq.model import MonotoneDeq
from tests.bench import growth as fit
from tests.bench.harness import Contest, Extent, Task

AIMS = {30: 50.0}
MEMORY_AIM = 30.0
EXPLICIT = "explicit Kronecker form"


def contests(extent: Extent, seeds: int) -> Iterator[list[Contest]]:
    for n in (10, 20) if extent.quick else (10, 20, 30, 40):
        yield [contest(n, seed) for seed in range(seeds)]


def growth(extent: Extent) -> Iterator[str]:
    """One factorisation of at most n x n for each of the N = n samples."""
    sizes = (20, 40, 80) if extent.quick else (20, 50, 100, 200)
    yield fit.line("monotone-deq gradient, N = n", "n", sizes, lambda n: _tasks(n, 0)[0], 4.0)


def _tasks(n: int, seed: int) -> tuple[Task, Task]:
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(n, n)), r.normal(size=n)
    model = MonotoneDeq(m=0.5).build({"X": X, "y": y}, HalfSquare())
    shapes = {"A": (n, n), "B": (n, n), "U": (n, n), "u": (n,)}
    theta = {name: r.normal(size=shape) / n**0.5 for name, shape in shapes.items()}
    return lambda: model.objective(theta).gradient, lambda: model.explicit_gradient(theta)


def contest(n: int, seed: int) -> Contest:
    ours, explicit = _tasks(n, seed)

    def agree() -> None:
        for name, want in explicit().items():  # type: ignore[attr-defined]
            off = np.abs(ours()[name] - want).max() / np.abs(want).max()  # type: ignore[index]
            assert off < 1e-9, (name, off)

    aims = {EXPLICIT: AIMS[n]} if n in AIMS else {}
    return Contest(
        "monotone-gradient",
        f"n=N={n}",
        ours,
        {EXPLICIT: explicit},
        agree=agree,
        aims=aims,
        memory={EXPLICIT: MEMORY_AIM} if n >= 20 else {},
        dear=n >= 30,
    )
