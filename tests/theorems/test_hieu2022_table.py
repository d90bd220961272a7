"""The table of kernel eigenvalues: what its comparisons notice."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from deqcheck.theorems.hieu2022.kernel_table import REPORTED, RISK, KernelTable, chance

MEANS = np.array([each.mean for each in REPORTED.values()])
LEAST = np.array([each.least for each in REPORTED.values()])
DRAWS = 40


def decisions(
    factor: float = 1.0, bar: float = 0.0, below: int = 0, by: float = np.inf
) -> list[str]:
    """Of draws that spread by a fifth around the reported means; some are below the least ones."""
    values = factor * MEANS * (1 + 0.2 * np.random.default_rng(1).normal(size=(DRAWS, 1)))
    values[:below] = np.maximum(LEAST - by, 0.0)
    claims = KernelTable("corrected").compared(values, np.full(values.shape, bar))
    return [str(claim.judge().decision) for claim in claims]


def test_draws_of_the_law_agree_and_others_do_not() -> None:
    assert decisions() == ["holds"] * 12
    # The means of another scale, and smallest eigenvalues that half of them are below.
    assert decisions(1.5)[:6] == ["violated"] * 6
    assert set(decisions(0.35)) == {"violated"}


def test_a_few_draws_below_the_smallest_are_chance_and_more_are_not() -> None:
    assert decisions(below=1)[6:] == ["holds"] * 6
    assert decisions(below=3)[6:] == ["violated"] * 6
    # The table has three digits after the point.
    assert decisions(below=3, by=4e-4)[6:] == ["holds"] * 6
    assert decisions(below=3, by=6e-4)[6:] == ["violated"] * 6


def test_wide_bars_and_lost_draws_decide_nothing() -> None:
    assert set(decisions(bar=10.0)) == {"undecided"}
    lost = KernelTable("corrected").tallies(None, [None] + [[(m, 0.0) for m in MEANS]] * 5)
    assert {str(claim.judge().decision) for claim in lost} == {"undecided", "holds"}


def test_so_few_draws_are_told() -> None:
    values = np.stack([0.9 * MEANS, 1.1 * MEANS])
    claims = list(KernelTable("corrected").compared(values, 0 * values))
    assert all("not exclude a mean of 0" in claim.note for claim in claims[:6])
    (fault,) = KernelTable("corrected", {"seeds": 1}).faults()
    assert "expected at least 2" in fault


def test_the_chance_is_that_of_a_random_order() -> None:
    """Every choice of the places of n draws among all is as probable as any other."""
    from deqcheck.theorems.hieu2022 import kernel_table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_table, "REPORTED_DRAWS", 4)
        orders = list(combinations(range(7), 3))
        for k in range(4):
            share = sum(set(range(k)) <= set(places) for places in orders) / len(orders)
            assert chance(k, 3) == pytest.approx(share)
    assert chance(0, DRAWS) == 1 and chance(3, DRAWS) < RISK < chance(2, DRAWS)
