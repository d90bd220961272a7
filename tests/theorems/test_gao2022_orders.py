"""Orders over draws: what they notice, and what they cannot."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.theorems.gao2022.draws import (
    MIDDLE,
    FeaturesOfDraws,
    FirstPredictions,
    FromDraws,
    LinearWidth,
    NeededFeatures,
    NormOfB,
    NormOfW,
    QuadraticWidth,
    Start,
)

CASE = Path(__file__).parents[2] / "cases" / "gao2022" / "random-start.yaml"


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        (NormOfB, -0.5),
        (NormOfW, 0.25),
        (FirstPredictions, -0.5),
        (NeededFeatures, -0.75),
        (QuadraticWidth, 1.0),
        (FeaturesOfDraws, -1.0),
        (LinearWidth, 0.9),
        (LinearWidth, 1.1),
    ],
)
def test_a_wrong_order_is_noticed_as_far_as_the_draws_tell(
    order: type[FromDraws], wrong: float
) -> None:
    p = dq.read(CASE).problem()
    given = {"seeds": 16.0}
    claimed = type("Claimed", (order,), {"exponent": lambda self, p: wrong})
    right, found = (dq.judge(cls, p, constants=given) for cls in (order, claimed))
    assert right.outcome == "consistent" and found.outcome == "inconsistent"
    # The note names the orders that would have been noticed.
    told = next(c.note for c in right.conclusions if "excluded are orders" in c.note)
    below = float(told.partition("orders below ")[2].split()[0].rstrip(","))
    assert wrong < below or order is LinearWidth


def of_size(seed: int, shape: tuple[int, ...], size: float) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=shape)
    return np.asarray(size * drawn / np.linalg.norm(drawn))


@pytest.mark.parametrize(
    ("W", "A", "b", "y", "binding"),
    [
        # lambda0 is lambda1, gamma u lambda1 lambda3, lambda3 in turn.
        (40.0, 30.0, 0.5, 90.0, 0),
        (9.0, 0.1, 5.0, 900.0, 0),
        (0.5, 20.0, 5.0, 9e4, 0),
        (60.0, 3.0, 2.0, 1.0, 2),
        (0.5, 9.0, 3.0, 0.1, 2),
    ],
)
def test_the_features_that_are_asked_for_are_the_least_ones(
    W: float, A: float, b: float, y: float, binding: int
) -> None:
    """(17)-(19) hold at alpha0 = alpha1/(1 + gamma0), and the last one that did fails below it."""
    start = Start(
        of_size(1, (3, 2), 1.5),
        of_size(2, (2, 4), W),
        np.abs(of_size(3, (4, 4), A)),
        of_size(4, (4,), b),
    )
    labels = of_size(5, (3,), y)
    norm_W, norm_A = (float(np.linalg.norm(M, 2)) for M in (start.W, start.A))
    gamma, u = 0.5 / (norm_A + 1), 2.0
    lambda1, lambda3, X = norm_W + 1, b + 1, 1.5
    Z = np.maximum(start.X @ start.W, 0) @ np.linalg.inv(np.eye(4) - gamma * start.A)
    r0 = math.sqrt(np.sum(Z**2) / 4 + y**2)
    c = 1 + (gamma * lambda1 * u) ** 2
    lambda0 = max(lambda1, gamma * u * lambda1 * lambda3, lambda3)

    def rooms(alpha1_squared: float) -> list[float]:
        alpha0 = math.sqrt(alpha1_squared) / 1.5
        return [
            alpha0**2 / (8 * u * lambda0 * X * r0) - 1,
            alpha0**3 / (16 * c * u**2 * lambda3 * X**2 * r0) - 1,
            alpha0**2 / (16 * c * u**2 * lambda3**2 * X**2) - 1,
        ]

    needed = start.needed(labels)
    assert min(rooms(needed * (1 + 1e-9))) > 0 > min(rooms(needed * (1 - 1e-9)))
    assert int(np.argmin(rooms(needed))) == binding


def test_the_width_at_which_the_features_grow_to_what_is_asked_for() -> None:
    """With lambda_* = 1 the m for which m/4 is what (28) asks for at that width."""
    p, order = dq.read(CASE).problem(), QuadraticWidth("corrected")
    m = order.value(p, 4, 7)
    X, y = order.sphere(4, p.model.d, 7), np.sign(order.normal("y", (4,), 7))
    asked = order.start(X, MIDDLE, 7).needed(y) * math.sqrt(m / 64)
    assert m / 4 == pytest.approx(asked, rel=1e-12)
