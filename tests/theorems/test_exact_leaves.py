"""What the names of a formula stand for, computed again: the exact number lies within the bar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records.measured import Measured
from deqcheck.records.tower import compared, rational
from tests.independent.harness import Instance
from tests.independent.ling2022 import INSTANCES

pytest.importorskip("flint")

# Statements on the population kernel, whose layers are nodes of their own.
KERNEL = ("ling2022/thm3", "ling2022/thm3-steps", "ling2022/lem3", "ling2022/def1")
ASKED = [each for each in INSTANCES if each.id in KERNEL]


def claims_of(instance: Instance) -> list[Any]:
    p, cls = instance.problem(), dq.statements()[instance.id]
    s = cls(instance.edition, instance.constants)
    return [*s.hypotheses(p), *s.claims(p, p.start)]


@pytest.mark.parametrize("instance", ASKED, ids=str)
def test_the_exact_number_lies_within_the_bar(instance: Instance) -> None:
    found = 0
    for claim in claims_of(instance):
        for name, x in claim.leaves.items():
            if not isinstance(x, Measured) or x.again is None or np.ndim(x.value):
                continue
            low, high = (compared(x.again, rational(float(end))) for end in (x.low, x.high))
            assert low.sign in (0, 1, None) and high.sign in (-1, 0, None), (claim.name, name)
            found += low.sign is not None
    assert found
