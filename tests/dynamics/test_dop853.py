"""Our explicit method against scipy's, to the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import DOP853

from deqcheck.dynamics.dop853 import Dop853


def spiral(t: float, y: np.ndarray) -> np.ndarray:
    return np.array(
        [-(y[0] ** 3) + 2 * y[1] ** 3, -2 * y[0] ** 3 - y[1] ** 3, np.cos(9 * t) * y[2]]
    )


def pole(t: float, y: np.ndarray) -> np.ndarray:
    """Infinite at t = 1."""
    return y * y


def beyond(t: float, y: np.ndarray) -> np.ndarray:
    """Not known from y = 1.2 on: too large a step is tried again, ever shorter ones fail."""
    return np.where(y < 1.2, y, np.nan)


def still(t: float, y: np.ndarray) -> np.ndarray:
    return np.zeros_like(y)


ASKED: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10, "max_step": np.inf, "first_step": 1e-3}


@pytest.mark.parametrize("velocity", [spiral, pole, beyond, still])
@pytest.mark.parametrize(
    "more", [{}, {"rtol": 1e-13, "atol": np.full(3, 1e-12)}, {"max_step": 0.07}, {"first_step": 2}]
)
def test_every_step_and_what_lies_between(velocity: Any, more: dict[str, Any]) -> None:
    y, asked = np.array([1.0, 0.5, 1.0]), ASKED | more
    with np.errstate(all="ignore"):
        ours, theirs = (S(velocity, 0.0, y, 2.0, **asked) for S in (Dop853, DOP853))
        for _ in range(2000):
            told = ours.step(), theirs.step()
            assert told[0] == told[1]
            assert (ours.status, ours.t) == (theirs.status, theirs.t)
            assert np.array_equal(ours.y, theirs.y)
            if ours.status == "failed":
                break
            between, known = ours.dense_output(), theirs.dense_output()
            assert (between.t_old, between.t) == (known.t_old, known.t)
            at = np.linspace(between.t_old, between.t, 5)
            assert np.array_equal(between(at), known(at), equal_nan=True)
            assert np.array_equal(between(at[1]), known(at[1]), equal_nan=True)
            if ours.status == "finished":
                break
    assert ours.status != "running" and (ours.status == "failed") == (velocity in (pole, beyond))
