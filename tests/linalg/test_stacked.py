"""Systems side by side: each slice as it is alone."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import errors, stacked
from deqcheck.linalg.certificates import Contraction
from deqcheck.linalg.patterns import Patterns, distinct
from deqcheck.linalg.relu_equilibrium import POLISH_BUDGET, followed, picard
from deqcheck.linalg.stacked import Places, StackedPatterns, follow, lengths, norms
from deqcheck.records.measured import EPS


def instance(seed: int, count: int = 5, m: int = 9, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    W = r.normal(size=(count, m, m))
    W *= 0.7 / np.linalg.norm(W, 2, axis=(1, 2))[:, None, None]
    return W, r.normal(size=(count, m, n))


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 9, 32])
def test_each_column_solves_the_system_of_its_pattern(m: int) -> None:
    W, C = instance(m, m=m)
    mask = C > 0
    patterns = StackedPatterns(W, Places(mask))
    a = C[:, :, 0].copy()
    Z, V = patterns.solve(C), patterns.adjoint(a)
    for w, c, on, read, z, v in zip(W, C, mask, a, Z, V, strict=True):
        for j in range(c.shape[1]):
            J = np.diag(on[:, j].astype(float))
            assert np.allclose(np.linalg.solve(np.eye(m) - J @ w, J @ c[:, j]), z[:, j], atol=1e-13)
            assert np.allclose(np.linalg.solve(np.eye(m) - J @ w.T, J @ read), v[:, j], atol=1e-13)
            assert not z[~on[:, j], j].any() and not v[~on[:, j], j].any()


@pytest.mark.parametrize("m", [9, 40])
def test_patterns_that_stay_keep_their_digits(m: int) -> None:
    """Factorised for other patterns of the same weights; other weights are factorised anew."""
    (W, other), C = instance(m, count=2, m=m, n=6)
    before, mask = Patterns(W, C[0] > 0, factorised=True), C[0] > 0
    before.solve(C[0])
    mask[:, 2] ^= C[1][:, 2] > 0
    for weights in (W, other):
        found = Patterns(weights, mask, factorised=True, before=before)
        alone = Patterns(weights, mask, factorised=True)
        assert np.array_equal(found.solve(C[0]), alone.solve(C[0]))
        assert np.array_equal(found.adjoint(C[0][:, 0]), alone.adjoint(C[0][:, 0]))


@pytest.mark.parametrize(("m", "n"), [(15, 6), (16, 6), (16, 16), (16, 17), (24, 10)])
def test_few_broad_patterns_factorised_are_those_together(m: int, n: int) -> None:
    """Also a pattern without units, and one that several samples have."""
    (W,), (C,) = instance(m + n, count=1, m=m, n=n)
    mask, a = C > 0, C[:, 0].copy()
    mask[:, 1], mask[:, 2] = False, mask[:, 0]
    once, together = Patterns(W, mask, factorised=True), Patterns(W, mask)
    assert bool(once.factors) is False
    for found, twin in (
        (once.solve(C), together.solve(C)),
        (once.adjoint(a), together.adjoint(a)),
    ):
        # Both are backward stable, and ||(I - W_SS)^-1|| <= 1/(1 - 0.7).
        assert np.abs(found - twin).max() <= 64 * m * EPS / 0.3**2 * np.abs(C).max()
        assert not found[~mask].any()
    assert bool(once.factors) is (m >= 16 and n <= 16)


def test_the_digits_of_a_slice_do_not_depend_on_the_others() -> None:
    W, C = instance(1, count=12)
    mask = C > 0
    Z = StackedPatterns(W, Places(mask)).solve(C)
    V = StackedPatterns(W, Places(mask)).adjoint(C[:, :, 0])
    some = np.array([7, 2, 9])
    assert np.array_equal(StackedPatterns(W[some], Places(mask[some])).solve(C[some]), Z[some])
    for i in range(12):
        alone = Patterns(W[i].copy(), mask[i].copy())
        assert np.array_equal(alone.solve(C[i].copy()), Z[i])
        assert np.array_equal(alone.adjoint(C[i, :, 0].copy()), V[i])
    assert np.array_equal(lengths(C), [errors.length(c) for c in C])
    assert np.array_equal(norms(C), [np.linalg.norm(c) for c in C])


def test_where_there_are_too_many_each_pattern_is_factorised_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (W,), (C,) = instance(4, count=1)
    a, mask = C[:, 0].copy(), C > 0
    together = Patterns(W, mask)
    monkeypatch.setattr(stacked, "NUMBERS", C.size * len(C) - 1)
    alone = Patterns(W, mask)
    assert np.allclose(alone.solve(C), together.solve(C), rtol=1e-13, atol=1e-14)
    assert np.allclose(alone.adjoint(a), together.adjoint(a), rtol=1e-13, atol=1e-14)
    assert alone.cost() <= together.cost() <= POLISH_BUDGET
    assert together._together is not None and alone._together is None


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 40), (2, 0)])
def test_distinct_patterns(shape: tuple[int, int]) -> None:
    mask = np.random.default_rng(shape[1]).random(shape) < 0.5
    columns, counts = distinct(mask)
    wanted, often = np.unique(mask, axis=1, return_counts=True)
    assert np.array_equal(columns, wanted) and np.array_equal(counts, often)


def test_a_singular_system_spoils_no_other() -> None:
    W, C = instance(2, count=3, m=4)
    C = np.abs(C)
    W[1] = np.eye(4)
    Z = StackedPatterns(W, Places(C > 0)).solve(C)
    assert np.isnan(Z[1]).all() and np.isfinite(Z[[0, 2]]).all()
    found = follow(W, C, Places(C > 0))
    assert found.fits.tolist() == [True, False, True]
    assert np.isfinite(found.systems.adjoint(C[:, :, 0])[[0, 2]]).all()


def test_newton_finds_the_equilibria_that_sweeps_find() -> None:
    W, C = instance(3, count=8)
    found = follow(W, C, Places(np.ones(C.shape, dtype=bool)))
    assert found.fits.all()
    V = found.systems.adjoint(C[:, :, 0])
    assert np.array_equal(found.systems.solve(C), found.Z)
    for i in range(8):
        swept = picard(W[i], C[i], Contraction(0.71))
        assert np.array_equal(found.Z[i], swept.Z) and np.array_equal(found.H[i], swept.H)
        assert np.array_equal(V[i], swept.sensitivities(C[i, :, 0].copy())[0])
        near = followed(W[i], C[i], Contraction(0.71), Places(np.zeros((1, *C[i].shape)) > 0))
        assert near is not None and np.array_equal(near.Z, swept.Z)


def test_lengths_that_need_scaling_are_left_to_others() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [3e-200, 4e-200], [3e200, 4e200]])
    with np.errstate(over="ignore"):
        found = lengths(rows)
    assert found[:2].tolist() == [5.0, 0.0] and np.isnan(found[2:]).all()
