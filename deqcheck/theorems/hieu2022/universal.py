"""Theorem B.0.1: every deep network is a weight-tied one with input injection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.matrix import Matrix
from deqcheck.records.claim import Claim
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.draws import same
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.tangents import size

Activation: TypeAlias = Callable[[np.ndarray], np.ndarray]
# n of the largest weight-tied network that is built.
LARGEST = 400
# None of them has a slope above 1.
ACTIVATIONS: tuple[Activation, ...] = (lambda h: np.maximum(h, 0.0), np.tanh, np.abs)


class WeightTied(MonotoneStatement):
    """A network z[i+1] = s_i(W_i z[i] + b_i), i = 0, ..., L - 1, z[0] = x, is the weight-tied
    network v[i+1] = s(V v[i] + V_x x + b) of the same depth: v stacks one block for each layer,
    V has W_1, ..., W_(L-1) below its diagonal, V_x has W_0 in the first block, and s applies s_i
    to block i + 1. After i steps the first i blocks are z[1], ..., z[i] wherever v began, and
    after L steps the last block is z[L]. One more step changes nothing: v is then an equilibrium.

    The theorem gives no construction; s is read as one map of the whole state, whose blocks may
    have different non-linearities (with a single scalar s there is none for different s_i). Judged
    for three layers with the weights U, A, B of the case, the biases u, and the non-linearities
    relu, tanh and the absolute value, on the samples, from the state v[0] = 0.
    """

    id = "hieu2022/thmB.0.1"
    title = "Every deep network is a weight-tied one"
    cite = cite("Theorem B.0.1")
    dynamics = (STATIC,)

    output = Check("the last block is the output", "left == right", "Theorem B.0.1")
    rest = Check("the state is an equilibrium", "left == right", "Section 2.1.2")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.start.n > LARGEST:
            rows = 3 * p.start.n
            yield f"V has {rows} rows, the limit is {3 * LARGEST}: at most {LARGEST} units"

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.n > LARGEST:
            return
        X, n, weights = state.X, state.n, (state.U, state.A, state.B)
        bias = state.u[:, None]
        z, noise = X, 0.0
        for W, s in zip(weights, ACTIVATIONS, strict=True):
            noise = size(W) * noise + errors.rounding(n + len(X), size(W) * size(z))
            noise += errors.rounding(1, size(bias) * state.N)
            z = s(W @ z + bias)
        V, V_x = np.zeros((3 * n, 3 * n)), np.zeros((3 * n, len(X)))
        V_x[:n] = state.U
        V[n : 2 * n, :n], V[2 * n :, n : 2 * n] = state.A, state.B
        tied = np.zeros((3 * n, state.N))
        for _ in ACTIVATIONS:
            tied = _tied_step(V, V_x, state, tied)
        yield same(p, self.output, Matrix(tied[2 * n :], noise), Matrix(z, noise))
        again = _tied_step(V, V_x, state, tied)
        slack = errors.rounding(n + len(X), (size(V) + size(V_x)) * (size(tied) + size(X)))
        yield same(p, self.rest, Matrix(again, noise + slack), Matrix(tied, noise + slack))


def _tied_step(V: np.ndarray, V_x: np.ndarray, state: State, tied: np.ndarray) -> np.ndarray:
    """s(V v + V_x x + b), block by block."""
    H = V @ tied + V_x @ state.X + np.tile(state.u, 3)[:, None]
    blocks = np.split(H, len(ACTIVATIONS))
    return np.concatenate([s(h) for s, h in zip(ACTIVATIONS, blocks, strict=True)])
