"""Dependence that no rounding can touch, against ranks of random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg.exact_zeros import equal_columns, shared_pattern, why_dependent


@pytest.mark.parametrize("seed", range(60))
def test_a_pattern_is_dependent_when_random_numbers_on_it_are(seed: int) -> None:
    """Random numbers on a pattern have its largest rank, but for chance."""
    r = np.random.default_rng(seed)
    m, n = r.integers(1, 6), r.integers(1, 6)
    may_differ = r.uniform(size=(m, n)) < r.uniform(0.2, 0.9)
    rank = np.linalg.matrix_rank(r.normal(size=(m, n)) * may_differ)
    assert bool(why_dependent(may_differ, r.normal(size=(2, n)))) == (rank < n)


def test_the_reasons() -> None:
    apart, full = np.eye(3), np.ones((3, 3), dtype=bool)
    assert why_dependent(full, apart) == ""
    assert why_dependent(full[:2], apart) == "2 units for 3 samples"
    silent = full.copy()
    silent[:, 1] = False
    assert why_dependent(silent, apart) == "sample 1 activates no unit"
    dead = full.copy()
    dead[2] = False
    assert why_dependent(dead, apart) == "the active units allow rank 2 at most for 3 samples"
    # Three units, each active somewhere, but two samples share the only active one.
    shared = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)
    assert why_dependent(shared, apart) == "the active units allow rank 2 at most for 3 samples"
    assert why_dependent(full, apart[:, [0, 1, 0]]) == "samples 0 and 2 are equal"


def test_samples_on_one_pattern_are_dependent_with_their_inputs() -> None:
    mask = np.array([[1, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    doubtful = np.zeros((2, 4), dtype=bool)
    plane = np.array([[1.0, 0.0, 1.0, 3.0], [0.0, 1.0, 1.0, 5.0]])
    told = "samples 0, 1, 2 have the same active units and dependent inputs"
    assert shared_pattern(mask, doubtful, plane) == told
    apart = np.vstack([plane, [0.0, 0.0, 2.0**-60, 0.0]])
    assert shared_pattern(mask, doubtful, apart) == ""
    assert shared_pattern(mask, doubtful, np.zeros((5, 4))) == told
    # A pattern that is not known is not shared.
    doubtful[1, 1] = True
    assert shared_pattern(mask, doubtful, plane) == ""


def test_equal_columns_are_equal_to_the_bit() -> None:
    a = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -0.0]])
    assert equal_columns(a) == (0, 2)
    a[1, 2] = 5e-324
    assert equal_columns(a) is None
