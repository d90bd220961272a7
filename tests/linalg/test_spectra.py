"""Ranks and singular values where float64 is at its limits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from deqcheck.linalg.errors import frobenius, norm2
from deqcheck.linalg.spectra import Factored, exact_rank
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


def test_a_rank_that_floats_cannot_see_is_uncertain() -> None:
    Phi = np.diag([1e8, 1e-9])
    factored = Factored(Phi)
    assert factored.measured_rank.error >= 1
    assert factored.smallest_positive.error == np.inf
    outer = Square().on(Phi, np.array([[1.0, 1.0]]))
    assert outer.infimum.error >= 1
    assert outer.evaluate(np.zeros((1, 2)), 0.0, 0.0).error == np.inf


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
