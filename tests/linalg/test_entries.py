"""Few entries, asked one by one, answer as NumPy's reductions do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deqcheck.linalg import entries

NUMBERS = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e-310])
ARRAYS = st.lists(NUMBERS, max_size=6) | st.lists(NUMBERS, min_size=15, max_size=18)


def same(x: float, y: float) -> bool:
    return x == y or (math.isnan(x) and math.isnan(y))


@given(numbers=ARRAYS, columns=st.sampled_from([1, 2, 3]))
def test_as_the_reductions_do(numbers: list[float], columns: int) -> None:
    rows = len(numbers) // columns
    a = np.array(numbers[: rows * columns]).reshape(rows, columns)
    for each in (a, a.T, a.ravel()):
        size = np.abs(each)
        assert entries.finite(each) == np.isfinite(each).all()
        assert entries.nonzero(each) == each.any()
        assert entries.nonnegative(each) == (each >= 0).all()
        assert entries.same(each > 0, each >= 1) == np.array_equal(each > 0, each >= 1)
        with np.errstate(all="ignore"):
            assert same(entries.euclidean(each), float(np.linalg.norm(each)))
            lengths = np.linalg.norm(a, axis=0)
            assert np.array_equal(entries.column_lengths(a), lengths, equal_nan=True)
        assert same(entries.largest(each), float(size.max(initial=0.0)))
        small = (size > 0) & (size < np.finfo(float).tiny)
        assert entries.subnormal(each) == small.any()


@pytest.mark.parametrize("count", [entries.FEW, entries.FEW + 1])
def test_the_last_entry_counts(count: int) -> None:
    a = np.zeros(count)
    assert entries.finite(a) and not entries.nonzero(a) and not entries.subnormal(a)
    a[-1] = -1e-310
    assert entries.nonzero(a) and entries.subnormal(a) and entries.largest(a) == 1e-310
    a[-1] = math.nan
    assert not entries.finite(a) and entries.nonzero(a) and math.isnan(entries.largest(a))
