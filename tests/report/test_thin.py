from __future__ import annotations

import numpy as np
import pytest

from deqcheck.report.parts.thin import thin


@pytest.mark.parametrize("n", [0, 1, 2, 999, 1000, 1001, 5000, 10**6])
def test_it_keeps_both_ends_in_order_and_within_the_limit(n):
    at = thin(n)
    assert len(at) <= 1000
    assert np.all(np.diff(at) > 0)
    if n:
        assert (at[0], at[-1]) == (0, n - 1)


def test_the_beginning_stays_dense():
    assert thin(10**6)[:5].tolist() == [0, 1, 2, 3, 4]


def test_a_short_record_is_kept_whole():
    assert thin(700).tolist() == list(range(700))
