"""Perron bounds, principal minors and diagonals: against eigenvalues, rationals and each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from deqcheck.linalg import diagonal
from deqcheck.linalg.minors import determinant, last_of_adjugate, minors
from deqcheck.linalg.perron import abscissa, metzler, positive_solution
from deqcheck.linalg.rational import rows_of

CYCLE = np.array([[0.0, -3, 0], [0, 0, -3], [-3, 0, 0]])


def drawn(count: int, most: int = 5) -> list[np.ndarray]:
    r = np.random.default_rng(0)
    scales = r.choice([0.1, 0.5, 1.0, 3.0], size=count)
    return [
        s * r.normal(size=(n, n)) for s, n in zip(scales, r.integers(1, most, count), strict=True)
    ]


def test_the_abscissa_is_between_its_quotients() -> None:
    for W in (*drawn(20), CYCLE, np.array([[0.0, 10], [0, 0]]), np.diag([-3.0, 2, 2])):
        for M in (np.abs(W), metzler(W)):
            found = abscissa(M)
            wanted = float(np.linalg.eigvals(M).real.max())
            assert found.low - 1e-12 <= wanted <= found.high + 1e-12
            assert found.error <= 1e-9 * (1 + np.abs(M).max())


def test_a_positive_solution_is_above_the_true_one() -> None:
    r, seen = np.random.default_rng(1), 0
    for W in drawn(60):
        n, right = len(W), r.random((len(W), 2))
        found = positive_solution(metzler(W), right)
        if found is None:
            assert np.linalg.eigvals(metzler(W)).real.max() > 1 - 1e-6
            continue
        seen += 1
        true = np.linalg.solve(np.eye(n) - metzler(W), right)
        assert (found >= true - 1e-15).all() and np.allclose(found, true, rtol=1e-9)
    assert 10 < seen < 60


def exact_minors(W: np.ndarray) -> list[Fraction]:
    n = len(W)
    F = rows_of(-W)
    for i in range(n):
        F[i][i] += 1
    subsets = (s for k in range(n + 1) for s in combinations(range(n), k))
    return [determinant([[F[i][j] for j in s] for i in s]) for s in subsets]


@pytest.mark.parametrize(
    "W", [*drawn(12), CYCLE, np.eye(3), np.array([[0.0, 2], [2, 0]]), np.full((2, 2), 0.5)], ids=str
)
def test_minors_are_those_of_rationals(W: np.ndarray) -> None:
    exact, found = min(exact_minors(W)), minors(W)
    assert found.smallest.low <= float(exact) <= found.smallest.high
    assert (found.culprit is not None) == (exact <= 0)
    if found.culprit is not None:
        on = np.zeros(len(W), dtype=bool)
        on[found.culprit] = True
        assert min(exact_minors(W[np.ix_(on, on)])) <= 0


def test_minors_beyond_the_range_of_doubles() -> None:
    huge = 1e200 * np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]])
    assert minors(huge).smallest.low > 0
    assert minors(-huge).smallest.high < 0
    assert minors(np.eye(2) * (1 - 1e-300)).smallest.high <= 0


def test_the_adjugate() -> None:
    for W in drawn(6):
        rows = rows_of(W)
        column = last_of_adjugate(rows)
        product = [sum(a * b for a, b in zip(row, column, strict=True)) for row in rows]
        assert product == [Fraction(0)] * (len(rows) - 1) + [determinant(rows)]


def test_a_diagonal_or_the_proof_that_there_is_none() -> None:
    seen = {True: 0, False: 0}
    for W in drawn(40, 6):
        found = diagonal.search(W)
        assert (found.weights > 0).all() and found.weights.sum() == pytest.approx(len(W))
        half = found.weights[:, None] * (np.eye(len(W)) - W)
        lowest = float(np.linalg.eigvalsh(half + half.T)[0])
        assert found.lowest.low <= lowest <= found.lowest.high
        if found.feasible:
            assert minors(W).smallest.low > 0
        else:
            assert found.most <= 0 and found.value.high <= 0
        seen[found.feasible] += 1
    assert min(seen.values()) > 5


def test_no_diagonal_for_a_cycle() -> None:
    """[[0, -a, 0], ...] has one if and only if a < 2, though it is a P-matrix for every a > 0."""
    assert diagonal.search(CYCLE / 3 * 1.99).feasible
    assert diagonal.search(CYCLE / 3 * 2.01).most <= 0
    assert minors(CYCLE).smallest.low > 0


def test_a_planted_diagonal_is_found() -> None:
    r = np.random.default_rng(2)
    for n in (3, 20, 60):
        A = r.normal(size=(n, n))
        scale = np.exp(2 * r.normal(size=n))
        W = np.eye(n) - scale[:, None] * (A - A.T + 0.3 * np.eye(n))
        assert diagonal.search(W).feasible
