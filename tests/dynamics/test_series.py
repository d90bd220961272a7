"""Infimum and integral of a sampled quantity: the truth lies inside the error bar."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.records.measured import Measured
from deqcheck.records.series import Series

FUNCTIONS = {
    "dip between samples": (
        lambda t: 1 + (t - 0.512) ** 2,
        lambda t: t + ((t - 0.512) ** 3 + 0.512**3) / 3,
    ),
    "falling": (lambda t: np.exp(-t), lambda t: 1 - np.exp(-t)),
    "wave": (lambda t: 2 + np.sin(9 * t), lambda t: 2 * t + (1 - np.cos(9 * t)) / 9),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("points", [12, 60])
def test_infimum_and_integral(name: str, points: int) -> None:
    f, antiderivative = FUNCTIONS[name]
    t = np.linspace(0, 1, points)
    series = Series(np.arange(points), t, Measured(f(t), np.zeros(points)))
    ask = np.linspace(0, 1, 37)
    infimum, integral = series.infimum_until(ask), series.integral_until(ask)
    fine = np.linspace(0, 1, 20001)
    for i, end in enumerate(ask):
        truth = f(fine[fine <= end + 1e-12]).min()
        assert infimum.low[i] <= truth + 1e-12, end
        if end in t:
            assert truth <= infimum.high[i]
        assert abs(integral.value[i] - antiderivative(end)) <= integral.error[i] + 1e-15


def test_a_corner_between_samples_is_not_missed() -> None:
    t = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55])
    value = np.abs(t - 0.3)
    series = Series(np.arange(6), t, Measured(value, np.zeros(6)))
    assert series.infimum_until(t[-1:]).low[0] <= 0.0


def test_a_single_sample() -> None:
    series = Series(np.array([0]), np.array([0.0]), Measured(np.array([2.0]), np.array([0.1])))
    assert series.infimum_until(np.array([0.0])).value[0] == 2.0
    assert series.integral_until(np.array([0.0])).value[0] == 0.0


@pytest.mark.parametrize("gap", [1e-3, 0.4])
def test_nothing_is_interpolated_across_a_jump(gap: float) -> None:
    """f = 2 - t until 0.5 and t after it; samples far apart beside close ones, and the time of
    the jump known to 1e-6."""
    early, late = np.array([0.0, 0.5 - gap, 0.5]), np.array([0.5 + gap, 0.95, 1.0])
    right = np.nextafter(0.5, 1)
    t = np.concatenate([early, [right], late])
    value = np.where(t <= 0.5, 2 - t, t)
    jumps = np.array([[0.5, 1e-6]])
    series = Series(np.arange(len(t)), t, Measured(value, np.zeros(len(t))), jumps)
    area = 0.875 + 0.375
    integral = series.integral_until(t)[-1]
    assert abs(integral.value - area) <= 1e-14
    # What is not known of the time costs that much of the jump, and no more than that.
    assert 1e-6 <= integral.error < 1.001e-6
    assert series.infimum_until(t)[-1].low == right
    before = series.infimum_until(np.array([0.5 - gap]))
    assert before.low[0] > 1.4 and series.until(0.5).infimum_until(t[2:3]).low[0] > 1.499
    smooth = Series(series.k, t, series.value).integral_until(t)[-1]
    assert smooth.error > 1e-3 or abs(smooth.value - area) > smooth.error
