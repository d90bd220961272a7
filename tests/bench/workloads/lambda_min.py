"""lambda_min(D_t) along a gradient-descent trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.losses.square import Square
from deqcheck.models.delm import oracle
from deqcheck.models.delm.model import Delm
from deqcheck.models.delm.state import DelmState
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Problem
from tests.bench import growth as fit
from tests.bench.harness import Contest, Extent, Task

KRONECKER, GEMM = "dense Kronecker and eigvalsh", "GEMM-built matrix and eigvalsh"
AIMS = {KRONECKER: {10: 1.0, 100: 60.0, 200: 300.0}, GEMM: {100: 15.0}}
MEMORY_AIM = 10.0


def contests(extent: Extent, seeds: int) -> Iterator[list[Contest]]:
    for m in (10, 50) if extent.quick else (10, 50, 100, 200):
        yield [contest(m, 10 if m > 10 else 4, seed) for seed in range(seeds)]


def growth(extent: Extent) -> Iterator[str]:
    """Factorisations and products of m x m matrices, for few outputs."""
    sizes = (40, 80, 160) if extent.quick else (40, 80, 160, 400)
    yield fit.line("lambda_min(D), my=10", "m", sizes, lambda m: Walk(m, 10, 0).ours(), 3.0)


class Walk:
    """Parameters along gradient descent, measured in turn: the frame of one serves the next."""

    def __init__(self, m: int, my: int, seed: int):
        r = np.random.default_rng(seed)
        arrays = {"Phi": r.normal(size=(m, 2 * m)), "Y": r.normal(size=(my, 2 * m))}
        self.model = Delm(gamma=0.8).build(arrays, Square())
        theta = {"A": r.normal(size=(m, m)) / m**0.5, "B": r.normal(size=(my, m)) / m**0.5}
        self.points = trajectory(Problem(self.model, theta), 6)

    def along(self, measure: Callable[[DelmState], object]) -> Task:
        turn, memory = cycle(self.points), Memory()
        return lambda: measure(self.model.at(next(turn), memory))

    def ours(self) -> Task:
        return self.along(lambda state: state.lambda_min_D)

    def cold(self) -> object:
        return self.model.at(self.points[0]).lambda_min_D


def contest(m: int, my: int, seed: int) -> Contest:
    walk = Walk(m, my, seed)

    def agree() -> None:
        for point in walk.points[: 2 if m < 200 else 1]:
            state = walk.model.at(point)
            found, dense = state.lambda_min_D, kronecker(state)
            assert abs(found.value / dense - 1) < 1e-9
            assert found.error < 1e-9 * dense
            assert abs(gemm(state) / dense - 1) < 1e-9

    return Contest(
        "lambda-min-D",
        f"m={m} my={my}",
        walk.ours(),
        {KRONECKER: walk.along(kronecker), GEMM: walk.along(gemm)},
        agree=agree,
        aims={name: by[m] for name, by in AIMS.items() if m in by},
        memory={KRONECKER: MEMORY_AIM} if m >= 100 else {},
        cold=walk.cold,
        dear=m >= 200,
    )


def trajectory(p: Problem, points: int) -> list[dict[str, np.ndarray]]:
    out = [p.theta0]
    for _ in range(points - 1):
        train = GradientDescent(step=1e-5, steps=20)
        out.append(train.run(Problem(p.model, out[-1])).final)
    return out


def kronecker(state: DelmState) -> float:
    return float(np.linalg.eigvalsh(oracle.dense_D(state))[0])


def gemm(state: DelmState) -> float:
    """D = W W^T with W = [U^-T e_k kron M_k^1/2]_k, by one large product."""
    inverse = np.linalg.inv(state.U)
    m, my = state.m, state.my
    N = [state.Z @ oracle.softmax_jacobian(state.S[:, k]) for k in range(m)]
    roots = np.linalg.cholesky(np.eye(my) + state.gamma**2 * np.stack([n @ n.T for n in N]))
    W = np.einsum("ki,kab->iakb", inverse, roots).reshape(m * my, m * my)
    return float(np.linalg.eigvalsh(W @ W.T)[0])
