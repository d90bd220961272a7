"""Small systems are solved as np.linalg.solve does."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import lapack
from deqcheck.records.measured import EPS


def close(found: np.ndarray, A: np.ndarray, B: np.ndarray) -> bool:
    """Both are backward stable: their residuals are within a few n eps |A| |x| (growth of pivots
    is at most 2^(n - 1), and seldom seen)."""
    n = len(A)
    wanted = np.linalg.solve(A, B)
    size = np.linalg.norm(np.linalg.inv(A), 2) * np.linalg.norm(A, 2) * np.linalg.norm(wanted)
    return found.shape == wanted.shape and bool(
        np.linalg.norm(found - wanted) <= 16 * n * n * EPS * size
    )


@pytest.mark.parametrize("n", [1, 2, 3, lapack.SMALL, lapack.SMALL + 1])
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_solve(n: int, columns: int | None) -> None:
    r = np.random.default_rng(n)
    for _ in range(20):
        A, B = r.standard_normal((n, n)), r.standard_normal(n if columns is None else (n, columns))
        before = A.copy(), B.copy()
        found = lapack.solve(A, B)
        assert close(found, A, B) and found.flags.c_contiguous
        assert close(lapack.solve(A.T, B), A.T, B)
        assert np.array_equal(A, before[0]) and np.array_equal(B, before[1])


@pytest.mark.parametrize("count", [1, 2, lapack.FEW, lapack.FEW + 1])
@pytest.mark.parametrize("n", [1, 2, lapack.SMALL + 1])
def test_solve_each(count: int, n: int) -> None:
    r = np.random.default_rng(count)
    matrices, rights = r.standard_normal((count, n, n)), r.standard_normal((count, n))
    found = lapack.solve_each(matrices, rights)
    assert found.shape == rights.shape
    assert all(close(x, A, b) for x, A, b in zip(found, matrices, rights, strict=True))


def test_nothing_to_solve() -> None:
    assert lapack.solve(np.zeros((0, 0)), np.zeros((0, 2))).shape == (0, 2)
    assert lapack.solve(np.eye(2), np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("n", [2, lapack.SMALL + 1])
def test_a_singular_matrix_is_refused(n: int) -> None:
    A = np.ones((n, n))
    with pytest.raises(np.linalg.LinAlgError):
        lapack.solve(A, np.ones(n))
    with pytest.raises(np.linalg.LinAlgError):
        lapack.solve_each(np.stack([np.eye(n), A]), np.ones((2, n)))


def test_what_is_not_finite_has_no_solution() -> None:
    assert np.isnan(lapack.solve(np.array([[np.nan]]), np.ones(1))).all()


@pytest.mark.parametrize("n", [1, 3, lapack.SMALL + 1])
def test_factored_serves_many_right_hand_sides(n: int) -> None:
    r = np.random.default_rng(n)
    A = r.standard_normal((n, n))
    solve = lapack.factored(A)
    for columns in (1, 4):
        B = r.standard_normal((n, columns))
        before = B.copy()
        assert close(solve(B), A, B)
        assert np.array_equal(B, before)
    with pytest.raises(np.linalg.LinAlgError):
        lapack.factored(np.zeros((n, n)))
