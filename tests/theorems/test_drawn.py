"""A search looks at one in sixteen of the points that a statement draws: the same points."""

from __future__ import annotations

from typing import Any

import pytest

from deqcheck.case import build_problem, read_case
from deqcheck.judging import catalogue
from deqcheck.theorems.drawn import ONE_IN, fewer, looked_at, number
from deqcheck.theorems.xie2021.common import DRAWS, points, states_around
from tests.shipped import FOLDER


def test_one_in_sixteen_is_looked_at_inside_only() -> None:
    with fewer():
        assert list(looked_at(range(33))) == [0, 16, 32]
        assert [number(count) for count in (1, 16, 17, 80)] == [1, 1, 2, 5]
    assert list(looked_at(range(9))) == list(range(9))
    assert number(20) == 20


# Statements that tell the point with the least room, and a case of each.
LEAST = {
    "gao2022/lem4.3": "gao2022/lemmas",
    "hieu2022/lem3.3.4": "hieu2022/lemmas",
    "kawaguchi2021/pl": "quickstart",
    "xie2021/lem19": "xie2021/lem19-given-bound",
}


def _shipped(case: str) -> Any:
    return build_problem(read_case(FOLDER / f"{case}.yaml"))


def _rooms(statement: Any, p: Any) -> dict[str, float]:
    """Right over left, by claim; a claim without such a ratio has no room of its own."""
    found = {c.name: c.judge().ratio for c in statement.claims(p, p.start)}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


@pytest.mark.parametrize("id_", LEAST)
def test_the_least_room_of_few_points_is_no_less_than_that_of_all(id_: str) -> None:
    statement = catalogue()[id_]()
    p = _shipped(LEAST[id_])
    every = _rooms(statement, p)
    with fewer():
        few = _rooms(statement, p)
    assert few.keys() == every.keys() and few
    assert all(few[name] >= every[name] for name in few)
    # One of sixteen rarely has the least of all.
    assert any(few[name] > every[name] for name in few)


def test_states_that_are_looked_at_are_the_first_ones() -> None:
    p = _shipped("xie2021/lem19-given-bound")
    every = states_around(p, "some", 2 * DRAWS)
    with fewer():
        few = points(p, "some", 2 * DRAWS)
    assert len(few) == 2 * DRAWS / ONE_IN
    assert (few == every[: len(few)]).all()
    assert (points(p, "some", 2 * DRAWS) == every).all()
