"""Angles in rational numbers."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from deqcheck.linalg.arccos import angles, exact_angle


def test_angles_are_zero_or_pi_only_where_they_are() -> None:
    a = np.array([1.0, 0.5, 3.0])
    assert exact_angle(a, 6 * a) == 0 and exact_angle(a, -2 * a) == np.pi
    # Three times 0.1 is not 0.3 in doubles, and 1e-300 is not 0.
    assert exact_angle(np.array([1.0, 0.1]), np.array([3.0, 0.1 * 3])) > 0
    assert exact_angle(np.array([1.0, 1e-300]), np.array([1.0, 0.0])) > 0


@pytest.mark.parametrize("apart", [1.0, 1e-7, 1e-15])
def test_against_fifty_digits_and_the_fast_one(apart: float) -> None:
    mp = mpmath.mp.clone()
    mp.dps = 50
    r = np.random.default_rng(0)
    a = r.normal(size=4)
    b = a + apart * r.normal(size=4)
    x, y = mp.matrix(a.tolist()), mp.matrix(b.tolist())
    truth = mp.acos((x.T * y)[0] / mp.norm(x) / mp.norm(y))
    found = exact_angle(a, b)
    assert abs(found - truth) <= 1e-15 * truth
    assert angles(np.stack([a, b], axis=1))[0, 1] == pytest.approx(found, abs=1e-14)
