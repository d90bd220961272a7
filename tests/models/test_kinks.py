"""Pre-activations computed as zero: exactly so, or on a side of the kink that nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from deqcheck import judging
from deqcheck.judging import Question
from deqcheck.models.problem import Problem
from deqcheck.models.relu_state import NEAR_KINK
from deqcheck.records.verdict import Outcome
from tests.opteq_instances import parameters, problem
from tests.theorems.ling2022_problems import relu_deq

Builder = Callable[..., Problem]

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


def test_a_zero_by_cancellation_in_the_first_layer(implicit: Builder) -> None:
    p = cancelling(
        lambda terms: implicit(W=np.column_stack([terms, np.ones(3)]), **FLAT),
        lambda s: s.XW[0, 0],
    )
    assert p.start.measure("gradient.W").high >= np.sqrt(3)
    assert p.start.measure("lambda_min_H").high >= 3
    count = p.start.measure("kink_count")
    assert (count.low, count.high) == pytest.approx((0, 2))
    (verdict,) = judging.run(p, Question(("gao2022/gradient",))).verdicts
    assert verdict.outcome is Outcome.UNDECIDED


def test_a_first_layer_near_its_kink_leaves_the_gradient_open(implicit: Builder) -> None:
    """0.1 + 0.2 - 0.3 with the doubles of these names is 2^-55 > 0, and computed as 2^-54."""
    p = implicit(W=[[0.1, 1.0], [0.2, 1.0], [-0.3, 1.0]], **FLAT)
    assert 0 < abs(p.start.XW[0, 0]) < 1e-16
    # With the other slope there the gradient is 0.
    found = p.start.measure("gradient.W")
    assert found.low <= 0 and found.error < np.inf


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
            c = [sum(Fraction(U[i, k]) * Fraction(X[k, j]) for k in range(3)) for i in range(m)]
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


def on_the_edge(seed: int, activation: str, **fields: Any) -> tuple[Problem, np.ndarray]:
    """An OptEq network whose pre-activations of the first sample are rounding errors away from a
    kink, and the gradient of the loss with respect to b on the true side, in rational arithmetic.

    With Z0 = 0 and one iteration z = a W^T s(A), A = U x + b.
    """
    r = np.random.default_rng(seed)
    W, U, x = r.normal(size=(2, 2)), r.normal(size=(2, 3)), r.normal(size=(3, 1))
    kink = {"relu": 0.0, "hardtanh": 1.0}[activation]
    b = kink - (U @ x)[:, 0]
    Wo = r.normal(size=(1, 2))
    p = problem(
        {"X": x, "Y": np.ones((1, 1))},
        parameters([0.5 * W], [U], [b], Wo),
        activation=activation,
        **fields,
    )
    terms = [[Fraction(U[i, k]) * Fraction(x[k, 0]) for k in range(3)] for i in (0, 1)]
    A = [Fraction(b[i]) + sum(terms[i]) for i in (0, 1)]
    inside = [a > 0 if activation == "relu" else a <= 1 for a in A]
    s = [max(a, Fraction(0)) if activation == "relu" else min(a, Fraction(1)) for a in A]
    out = [[Fraction(0.5 * W[i, j]) for j in (0, 1)] for i in (0, 1)]
    slopes = [sum(out[i][j] * Fraction(Wo[0, j]) for j in (0, 1)) for i in (0, 1)]
    residual = sum(slopes[i] * s[i] for i in (0, 1)) - 1
    return p, np.array([float(residual * slopes[i]) * inside[i] for i in (0, 1)])


@pytest.mark.parametrize("activation", ["relu", "hardtanh"])
def test_unrolled_gradients_cover_both_sides_of_a_kink(activation: str) -> None:
    wrong = 0
    for seed in range(60):
        p, truth = on_the_edge(seed, activation, iterations=1)
        off = float(np.linalg.norm(p.start.gradient["b1"] - truth))
        wrong += off > 0.01
        assert off <= p.start._gradient.radii["b1"]
        assert p.start.measure("gradient.b1").error < np.inf
    assert wrong > 5


L1 = {"prox": {"kind": "l1", "weight": 0.5}}


# U x + b = 2^-53 next to the kink of the relu; s(1)/2 on that of the soft threshold.
@pytest.mark.parametrize(
    ("b", "fields", "known"),
    [(2.0**-53 - 1, {}, False), (-1.3, {}, True), (0.0, L1, False), (-1.3, L1, True)],
)
def test_implicit_gradients_next_to_a_kink_are_open(b: float, fields: Any, known: bool) -> None:
    theta = parameters([[[0.5]]], [[[1.0]]], [[b]], [[1.0]])
    data = {"X": np.ones((1, 1)), "Y": np.ones((1, 1))}
    p = problem(data, theta, activation="relu", solver="implicit", **fields)
    assert np.isfinite(p.start.measure("gradient").error) == known
    assert np.isfinite(p.start.measure("jacobian_norm").error) == (known or bool(fields))


@pytest.mark.parametrize(
    ("W", "U", "matters"),
    [
        ([[0.0, 0.0], [0.5, 0.0]], [[0.0], [1.0]], 1),
        ([[0.0, 0.5], [0.0, 0.0]], [[-0.5], [1.0]], 0),
    ],
    ids=["heard by the second unit", "hears the second unit"],
)
def test_a_kink_matters_where_what_is_read_out_hears_it(W: Any, U: Any, matters: int) -> None:
    """The first unit rests on its kink, and only the second is read out: then the slope of the
    first one counts if and only if the second one hears it."""
    p = relu_deq(2, 1, 1, W=np.array(W), U=U, a=[0.0, 1.0], X=[[1.0]], y=[5.0])
    assert p.start.equilibrium.H[0, 0] == 0 < p.start.equilibrium.H[1, 0]
    assert p.start.kinks_that_matter == matters
    assert len(p.start.warnings) == matters
    slopes = [p.start.with_slopes(np.array([s, np.nan])).gradient["U"][0, 0] for s in (0.0, 1.0)]
    assert (slopes[0] != slopes[1]) == bool(matters)


@pytest.mark.parametrize(("share", "warned"), [(0.5, 1), (2.0, 0)])
def test_near_a_kink_is_relative_to_the_largest_pre_activation(share: float, warned: int) -> None:
    U = [[1e6], [1e6 * share * NEAR_KINK]]
    p = relu_deq(2, 1, 1, W=np.zeros((2, 2)), U=U, a=[1.0, 1.0], X=[[1.0]], y=[5.0])
    assert len(p.start.warnings) == warned
