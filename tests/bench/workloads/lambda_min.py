"""lambda_min(D_t) along a gradient-descent trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from deqcheck.dynamics.gd import GradientDescent
from deqcheck.losses.square import Square
from deqcheck.models import delm_oracle
from deqcheck.models.delm import Delm
from deqcheck.models.delm_state import DelmState
from deqcheck.models.problem import Problem
from tests.bench.harness import Contest, Task

AIMS = {
    "dense Kronecker and eigvalsh": {100: 60.0, 200: 300.0},
    "GEMM-built matrix and eigvalsh": {100: 15.0},
}


def contests(quick: bool, seeds: int) -> Iterator[list[Contest]]:
    for m in (50,) if quick else (10, 50, 100):
        yield [contest(m, 10 if m > 10 else 4, seed) for seed in range(1 if m == 100 else seeds)]


def contest(m: int, my: int, seed: int) -> Contest:
    r = np.random.default_rng(seed)
    arrays = {"Phi": r.normal(size=(m, 2 * m)), "Y": r.normal(size=(my, 2 * m))}
    model = Delm(gamma=0.8).build(arrays, Square())
    theta = {"A": r.normal(size=(m, m)) / m**0.5, "B": r.normal(size=(my, m)) / m**0.5}
    points = trajectory(Problem(model, theta), 6)

    def along(measure: Task) -> Task:
        turn = cycle(points)
        return lambda: measure(model.at(next(turn)))  # type: ignore[call-arg]

    def agree() -> None:
        for point in points[:2]:
            state = model.at(point)
            assert abs(state.lambda_min_D.value / kronecker(state) - 1) < 1e-9
            assert abs(gemm(state) / kronecker(state) - 1) < 1e-9

    return Contest(
        "lambda-min-D",
        f"m={m} my={my}",
        along(lambda state: state.lambda_min_D),  # type: ignore[misc]
        {
            "dense Kronecker and eigvalsh": along(kronecker),  # type: ignore[arg-type]
            "GEMM-built matrix and eigvalsh": along(gemm),  # type: ignore[arg-type]
        },
        agree=agree,
        aims={name: by[m] for name, by in AIMS.items() if m in by},
    )


def trajectory(p: Problem, points: int) -> list[dict[str, np.ndarray]]:
    out = [p.theta0]
    for _ in range(points - 1):
        train = GradientDescent(step=1e-5, steps=20)
        out.append(train.run(Problem(p.model, out[-1])).final)
    return out


def kronecker(state: DelmState) -> float:
    return float(np.linalg.eigvalsh(delm_oracle.dense_D(state))[0])


def gemm(state: DelmState) -> float:
    """D = W W^T with W = [U^-T e_k kron M_k^1/2]_k, by one large product."""
    inverse = np.linalg.inv(state.U)
    m, my = state.m, state.my
    N = [state.Z @ delm_oracle.softmax_jacobian(state.S[:, k]) for k in range(m)]
    roots = np.linalg.cholesky(np.eye(my) + state.gamma**2 * np.stack([n @ n.T for n in N]))
    W = np.einsum("ki,kab->iakb", inverse, roots).reshape(m * my, m * my)
    return float(np.linalg.eigvalsh(W @ W.T)[0])
