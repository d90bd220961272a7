"""Pre-activations computed as zero: exactly so, or on a side of the kink that nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deqcheck import engine
from deqcheck.models.problem import Problem
from deqcheck.records.verdict import Outcome
from tests.theorems.ling2022_problems import relu_deq

Builder = Callable[..., Problem]
Cases = Callable[..., SimpleNamespace]

ONES = np.ones((3, 1))
# 1 + 2^-60 - 1 > 0: in some order of summation the sum is computed as 0. The second unit of each
# instance is active and not read out.
TERMS = (1.0, 2.0**-60, -1.0)


def cancelling(build: Callable[[np.ndarray], Problem], H: Callable[[Any], float]) -> Problem:
    """The instance whose pre-activation is 2^-60 and is computed as 0."""
    for order in permutations(TERMS):
        p = build(np.array(order))
        if H(p.start) == 0:
            return p
    raise AssertionError


def test_a_zero_by_cancellation_leaves_the_gradient_open() -> None:
    """In exact arithmetic the unit is active: dL/dU = a r x^T = (2^-60 - 1) x^T."""
    p = cancelling(
        lambda terms: relu_deq(
            2, 1, 3, W=np.zeros((2, 2)), U=[terms, [1.0, 1.0, 1.0]], a=[1.0, 0.0], X=ONES, y=[1.0]
        ),
        lambda s: s.equilibrium.H[0, 0],
    )
    assert np.all(p.start.gradient["U"] == 0)
    assert p.start.measure("gradient.U").high >= np.sqrt(3)
    assert p.start.measure("kink_margin").low <= 0 < p.start.measure("kink_margin").high


def test_a_zero_by_cancellation_leaves_the_monotone_gradient_open(monotone: Builder) -> None:
    zero = np.zeros((2, 2))
    flat: dict[str, Any] = {"A": zero, "B": zero, "u": [1.0, 0.0], "X": ONES, "y": [1.0]}
    p = cancelling(
        lambda terms: monotone(2, 3, 1, 1.0, U=[terms, [1.0, 1.0, 1.0]], **flat),
        lambda s: s.equilibrium.H[0, 0],
    )
    assert p.start.measure("gradient.U").high >= np.sqrt(3)
    assert p.start.measure("lambda_max_K").high >= 3


FLAT: dict[str, Any] = {
    "A": np.zeros((2, 2)), "b": [1.0, 0.0], "X": ONES.T, "y": [1.0], "gamma": 0.5
}  # fmt: skip


def test_a_zero_by_cancellation_in_the_first_layer(implicit: Builder, case: Cases) -> None:
    p = cancelling(
        lambda terms: implicit(W=np.column_stack([terms, np.ones(3)]), **FLAT),
        lambda s: s.XW[0, 0],
    )
    assert p.start.measure("gradient.W").high >= np.sqrt(3)
    assert p.start.measure("lambda_min_H").high >= 3
    count = p.start.measure("kink_count")
    assert (count.low, count.high) == pytest.approx((0, 2))
    (verdict,) = engine.run(case(theorems=["gao2022/gradient"]), p).verdicts
    assert verdict.outcome is Outcome.UNDECIDED


def test_a_first_layer_near_its_kink_leaves_the_gradient_open(implicit: Builder) -> None:
    """0.1 + 0.2 - 0.3 with the doubles of these names is 2^-55 > 0, and computed as 2^-54."""
    p = implicit(W=[[0.1, 1.0], [0.2, 1.0], [-0.3, 1.0]], **FLAT)
    assert 0 < abs(p.start.XW[0, 0]) < 1e-16
    assert p.start.measure("gradient.W").error == np.inf


def rational(W: np.ndarray, c: np.ndarray) -> list[Fraction]:
    """The pre-activations of the only solution, pattern by pattern in rational arithmetic."""
    m = len(c)
    for pattern in product([False, True], repeat=m):
        on = [i for i in range(m) if pattern[i]]
        z = solved(W, c, on)
        h = [Fraction(c[i]) + sum(Fraction(W[i, j]) * z[j] for j in range(m)) for i in range(m)]
        if all(h[i] > 0 if pattern[i] else h[i] <= 0 for i in range(m)):
            return h
    raise AssertionError


def solved(W: np.ndarray, c: np.ndarray, on: list[int]) -> list[Fraction]:
    """(I - W_SS) z_S = c_S by elimination."""
    rows = [[Fraction(int(i == j)) - Fraction(W[i, j]) for j in on] + [Fraction(c[i])] for i in on]
    for k, _ in enumerate(rows):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [x - row[k] * y for x, y in zip(row, rows[k], strict=True)]
    z = [Fraction(0)] * len(c)
    for i, row in zip(on, rows, strict=True):
        z[i] = row[-1]
    return z


def test_sparse_integers_against_rational_arithmetic() -> None:
    """No side of a kink is wrong without a doubt, and many zeros are proven."""
    proven = 0
    for seed in range(150):
        r = np.random.default_rng(seed)
        m, n = 3, 4
        W = r.integers(-1, 2, size=(m, m)) * (r.random((m, m)) < 0.5) / 4
        U = r.integers(-1, 2, size=(m, 3)) * (r.random((m, 3)) < 0.7) * [1, 1, 0]
        X = r.integers(-2, 3, size=(3, n)) * (r.random((3, n)) < 0.7) / 3
        # Samples that are zero are refused: here they differ in what no unit sees.
        X[2] = 1.0
        found = relu_deq(m, n, 3, W=W, U=U, X=X).start.equilibrium
        proven += int(found.exact_zeros.sum())
        for j in range(n):
            c = [sum(Fraction(u) * Fraction(x) for u, x in zip(u, X[:, j])) for u in U.tolist()]
            for i, h in enumerate(rational(W, np.array(c))):
                assert not (found.exact_zeros[i, j] and h != 0)
                assert found.doubtful[i, j] or (h > 0) == found.mask[i, j]
    assert proven > 200


def test_zeros_that_hear_only_each_other_are_exact() -> None:
    """A sample that nobody sees, whatever W is; and a unit that hears only one which is off."""
    p = relu_deq(3, 2, 2, 0.8, U=[[1.0, 0.0]] * 3, X=[[1.0, 0.0], [1.0, 1.0]])
    assert p.start.equilibrium.exact_zeros[:, 1].all()
    assert not p.start.equilibrium.doubtful.any()
    assert np.isfinite(p.start.measure("gradient").error)
    W = [[0.0, 0.0], [0.5, 0.0]]
    quiet = relu_deq(2, 1, 1, W=W, U=[[-1.0], [0.0]], X=[[1.0]]).start.equilibrium
    assert quiet.exact_zeros.tolist() == [[False], [True]]
    loud = relu_deq(2, 1, 1, W=W, U=[[1.0], [-0.5]], X=[[1.0]]).start.equilibrium
    assert loud.H[1, 0] == 0 and loud.doubtful[1, 0]
