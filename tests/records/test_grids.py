from __future__ import annotations

import numpy as np
import pytest

from deqcheck.records.grids import distinct, without


@pytest.mark.parametrize("size", [0, 1, 2, 40])
@pytest.mark.parametrize("kind", [int, float])
def test_distinct_is_unique(size: int, kind: type) -> None:
    r = np.random.default_rng(size)
    a, b = (r.integers(-9, 9, size=size).astype(kind) for _ in range(2))
    found = distinct(a, b)
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found, np.unique(np.concatenate([a, b])))
    np.testing.assert_array_equal(distinct(a), np.unique(a))
    left = without(a, b)
    assert left.dtype == a.dtype
    np.testing.assert_array_equal(left, np.setdiff1d(a, b))
