"""What the names of a formula stand for, computed again: the exact number lies within the bar."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records.claim import Claim
from deqcheck.records.formula import NOISE
from deqcheck.records.measured import Measured
from deqcheck.records.tower import compared, rational
from tests.independent.harness import Instance
from tests.independent.ling2022 import INSTANCES

pytest.importorskip("flint")

# Statements on the population kernel, whose layers are nodes of their own.
KERNEL = ("ling2022/thm3", "ling2022/thm3-steps", "ling2022/lem3", "ling2022/def1")
PAPERS = ("gao2022", "hieu2022", "kawaguchi2021", "ling2022", "xie2021")
# Instances of which exact numbers take long.
LONG = ("large", "many outputs")
ASKED = [each for each in INSTANCES if each.id in KERNEL]


def claims_of(instance: Instance) -> list[Any]:
    p, cls = instance.problem(), dq.statements()[instance.id]
    s = cls(instance.edition, instance.constants)
    return [*s.hypotheses(p), *s.claims(p, p.start)]


def outside_their_bars(instance: Instance) -> tuple[list[str], int]:
    """Names whose exact number is not within its bar, and how many were compared."""
    wrong, found = [], 0
    for claim in claims_of(instance):
        # An identity up to `noise` is judged by other exact numbers; curves have none.
        if not isinstance(claim, Claim) or NOISE in claim.formula:
            continue
        for name, x in claim.leaves.items():
            if not isinstance(x, Measured) or x.again is None or np.ndim(x.value):
                continue
            low, high = (compared(x.again, rational(float(end))) for end in (x.low, x.high))
            if low.sign not in (0, 1, None) or high.sign not in (-1, 0, None):
                wrong.append(f"{claim.name}: {name}")
            found += low.sign is not None
    return wrong, found


@pytest.mark.parametrize("instance", ASKED, ids=str)
def test_the_exact_number_lies_within_the_bar(instance: Instance) -> None:
    wrong, found = outside_their_bars(instance)
    assert found and not wrong


@pytest.mark.parametrize("paper", PAPERS)
def test_exact_numbers_of_every_statement_lie_within_their_bars(paper: str) -> None:
    """One instance of every edition of every statement."""
    every: dict[tuple[str, str], Instance] = {}
    for each in import_module(f"tests.independent.{paper}").INSTANCES:
        if each.label not in LONG:
            every.setdefault((each.id, each.edition), each)
    results = [outside_their_bars(each) for each in every.values()]
    assert sum(found for _, found in results) > len(results)
    assert not [name for wrong, _ in results for name in wrong]
