"""Orders over draws: what they notice, and what they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import deqcheck as dq
from deqcheck.theorems.gao2022.draws import (
    FeaturesOfDraws,
    FirstPredictions,
    FromDraws,
    LinearWidth,
    NeededFeatures,
    NormOfB,
    NormOfW,
    QuadraticWidth,
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
