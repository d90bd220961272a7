"""Ranks and singular values where float64 is at its limits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from deqcheck.linalg.errors import frobenius, norm2
from deqcheck.linalg.spectra import EXACT_ORDER, Factored, echelon, exact_rank
from deqcheck.losses.square import Square


@pytest.mark.parametrize(
    ("a", "rank"),
    [
        ([[1.0, 2.0], [2.0, 4.0]], 1),
        ([[1.0, 1.0], [1.0, 1.0 + 2.0**-50]], 2),
        ([[1e8, 0.0], [0.0, 1e-9]], 2),
        ([[0.1, 0.2, 0.3], [0.3, 0.6, 0.9]], 2),
        ([[0.0, 0.0]], 0),
    ],
)
def test_exact_rank(a: list[list[float]], rank: int) -> None:
    assert exact_rank(np.array(a)) == rank


def test_a_rank_that_singular_values_do_not_show_is_found_by_elimination() -> None:
    Phi = np.diag([1e8, 1e-9])
    factored = Factored(Phi)
    assert factored.measured_rank.value == 2 and factored.measured_rank.exact
    least = factored.smallest_positive
    assert abs(least.value - 1e-9) <= least.error <= 1e-22
    assert "has rank 2" in factored.remark and "1e-17" in factored.remark
    outer = Square().on(Phi, np.array([[1.0, 1.0]]))
    assert outer.infimum.value == outer.infimum.error == 0
    found = outer.evaluate(np.zeros((1, 2)), 0.0, 0.0)
    assert abs(found.gap - 2) <= found.error <= 1e-12


@pytest.mark.parametrize("shape", [(3, 3), (5, 4), (2, 6)])
def test_several_singular_values_that_doubles_do_not_show(shape: tuple[int, int]) -> None:
    """Rounding makes an outer product of full rank."""
    r = np.random.default_rng(0)
    a = np.outer(r.normal(size=shape[0]), r.normal(size=shape[1]))
    factored = Factored(a)
    assert factored.rank == min(shape) and not factored.visible
    with mp.workdps(80):
        truth = min(mp.svd_r(mp.matrix(a.tolist()), compute_uv=False))
        least = factored.smallest_positive
        assert abs(least.value - truth) <= least.error <= 1e-12 * least.value


def test_a_matrix_that_is_not_finite_has_no_rank() -> None:
    factored = Factored(np.array([[1.0, np.nan], [0.0, 1.0]]))
    assert not factored.certain and factored.measured_rank.error == np.inf


@pytest.mark.parametrize("seed", range(30))
def test_a_norm_is_below_at_or_above_one(seed: int) -> None:
    r = np.random.default_rng(seed)
    a = r.normal(size=r.integers(1, 5, size=2))
    a *= (1 + r.integers(-3, 4) * 2.0**-53) / np.linalg.norm(a, 2)
    found = norm2(a)
    with mp.workdps(60):
        truth = max(mp.svd_r(mp.matrix(a.tolist()), compute_uv=False))
        assert found.low <= truth <= found.high and abs(found.value - truth) <= found.error
        assert (found.low >= 1) == (truth >= 1) and (found.high < 1) == (truth <= 1 - 2.0**-53)


def test_a_norm_of_exactly_one() -> None:
    half = np.full((2, 2), 0.5)
    for a in (half, np.eye(3)[:, :2], np.array([[0.0, -1.0], [1.0, 0.0]]), -np.eye(2)):
        assert norm2(a).exact and norm2(a).value == 1
    assert not norm2(half, 1e-18).exact
    above = norm2(np.array([[1.0, 2.0**-30], [0.0, 1.0]]))
    assert above.low >= 1 and above.high > 1


def test_a_large_matrix_of_doubtful_rank_stays_uncertain() -> None:
    Phi = np.diag([1e8, *np.ones(EXACT_ORDER), 1e-9])
    factored = Factored(Phi)
    assert factored.measured_rank.error >= 1
    assert factored.smallest_positive.error == np.inf
    outer = Square().on(Phi, np.ones((1, len(Phi))))
    assert outer.infimum.error >= 1
    assert outer.evaluate(np.zeros((1, len(Phi))), 0.0, 0.0).error == np.inf


@pytest.mark.parametrize("seed", range(12))
def test_sums_in_decimals_are_not_sums_in_doubles(seed: int) -> None:
    """Row space, infimum, gap and smallest singular value against 60 digits."""
    r = np.random.default_rng(seed)
    m, n = (3, 5) if seed % 2 else (5, 4)
    Phi = np.round(r.normal(size=(m, n)), 1)
    Phi[-1] = Phi[0] + Phi[1] / 10
    Phi[:, -1] = Phi[:, 0] + Phi[:, 1] / 10 if seed % 3 == 0 else Phi[:, -1]
    Y, W = r.normal(size=(1, n)), r.normal(size=(1, m))
    rank = exact_rank(Phi)
    factored, outer = Factored(Phi), Square().on(Phi, Y)
    assert factored.rank == rank and factored.certain
    with mp.workdps(60):
        basis = mp.matrix(
            [[mp.mpf(x.numerator) / x.denominator for x in row] for row in echelon(Phi).R]
        )
        y, phi = mp.matrix(Y.tolist()), mp.matrix(Phi.tolist())
        fit = mp.lu_solve(basis * basis.T, basis * y.T)
        infimum = mp.norm(y.T - basis.T * fit) ** 2
        loss = mp.norm(mp.matrix(W.tolist()) * phi - y) ** 2
        gap = outer.evaluate(W, float(np.linalg.norm(W)), 0.0)
        assert abs(outer.infimum.value - infimum) <= outer.infimum.error + mp.mpf(10) ** -50
        assert outer.infimum.error <= 1e-9
        assert abs(gap.gap - (loss - infimum)) <= gap.error <= 1e-9
        s = sorted(mp.svd_r(phi, compute_uv=False), reverse=True)
        least = factored.smallest_positive
        assert abs(least.value - s[rank - 1]) <= least.error


def test_a_rank_that_is_deficient_for_certain() -> None:
    factored = Factored(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    assert factored.certain and factored.measured_rank.exact


def test_the_norm_of_small_matrices_lies_inside_its_bar() -> None:
    r = np.random.default_rng(0)
    draws = [r.normal(size=(2, 2)) for _ in range(300)]
    draws.append(
        np.array(
            [
                [0.05881454148747912, -0.8386662315734741],
                [-0.3503653145332749, 0.49055329024297206],
            ]
        )
    )
    with mp.workdps(40):
        for a in draws:
            truth = max(mp.svd_r(mp.matrix(a.tolist()), compute_uv=False))
            found = norm2(a)
            assert abs(found.value - truth) <= found.error


def test_a_norm_whose_squares_overflow_or_underflow_is_known() -> None:
    for size in (1e200, 1e-200):
        found = frobenius(np.full(3, size))
        assert abs(found.value - size * 3**0.5) <= found.error <= 1e-14 * found.value
    assert frobenius(np.array([np.inf, 1.0])).error == np.inf
    assert frobenius(np.zeros(3)).error == 0
