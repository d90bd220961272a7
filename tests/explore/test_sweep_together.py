"""Members that are sent together: the same records as one by one, and each its own result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deqcheck.case.source import Changes
from deqcheck.case.streamed import Stream, read_stream
from deqcheck.engines import End, Reply
from deqcheck.engines.here import Here
from deqcheck.explore import together
from deqcheck.explore.single import TOGETHER, Results
from deqcheck.explore.sweep import Sweeping
from deqcheck.store import Store

CASE = """\
deqcheck: 1
title: Small descents
data: {kind: gaussian, n: 3, dim: 2, target: gaussian}
model: {kind: relu-deq, width: 6}
init: {kind: each, W: {kind: gaussian, scale: 0.2, fan: in}, U: gaussian, a: gaussian}
train: {kind: gd, step: 1e-3, steps: 8}
theorems: [ling2022/pl]
"""


class Watched(Here):
    """Tells how many members each message has; those with several may come to grief."""

    def __init__(self, timeout: float | None = None, lost: bool = False):
        super().__init__()
        self.timeout, self.lost, self.sizes = timeout, lost, list[int]()

    def replies(self, task: str, messages: Iterable[Any]) -> Iterator[Any]:
        for key, message in messages:
            self.sizes.append(len(message.get(TOGETHER, "1")))
            if self.lost and TOGETHER in message:
                yield key, Reply(End.KILLED, "a misfortune")
            else:
                yield from super().replies(task, [(key, message)])


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    # Half of the members diverge.
    (tmp_path / "case.yaml").write_text(CASE)
    grid = {"grid": {"train.step": [1e-3, 1e5]}, "seeds": 4}
    return read_stream(str(tmp_path / "case.yaml"), Changes(), grid)


def told(sweeping: Sweeping, engine: Here) -> list[str]:
    members = sweeping.run(engine).members
    return [json.dumps([m.status, m.sentence, m.facts], sort_keys=True) for m in members]


def test_the_records_are_those_of_members_one_by_one(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = Watched()
    jointly = told(Sweeping(stream, Results(None)), engine)
    assert engine.sizes == [4, 4] and len(set(jointly)) == 8
    # Half of them there already: other members are together.
    store = Store(tmp_path / "store")
    told(Sweeping(stream, Results(store), shard=(2, 3)), Watched())
    assert told(Sweeping(stream, Results(store)), Watched()) == jointly
    monkeypatch.setattr(together, "FEWEST", 100)
    engine = Watched()
    assert told(Sweeping(stream, Results(None)), engine) == jointly
    assert engine.sizes == [1] * 8


def test_what_has_no_answer_among_others_is_asked_by_itself(stream: Stream) -> None:
    jointly, engine = told(Sweeping(stream, Results(None)), Watched()), Watched(lost=True)
    assert told(Sweeping(stream, Results(None)), engine) == jointly
    assert engine.sizes == [4, 4, *[1] * 8]


def test_a_limit_of_time_is_that_of_one_member(stream: Stream) -> None:
    engine = Watched(timeout=60.0)
    Sweeping(stream, Results(None), shard=(1, 3)).run(engine)
    assert engine.sizes == [1, 1, 1]


def test_only_what_is_worth_it_goes_together(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(CASE)

    def size(*settings: str) -> int:
        many = read_stream(str(tmp_path / "case.yaml"), Changes(settings), {"seeds": 4})
        case = many.case(many.member(0))
        ((key, _),) = together._grouped([(0, case)], None, 40)
        assert key == 0
        return together._worth(case)

    assert size() > size("data.n=100") > together.FEWEST
    assert size("train.steps=20000") == 2
    values = "data={kind: values, X: [[1, 2]], y: [1, 1]}"
    assert size(values) == size("data.n=100")
    alone = ("model.width=33", "data.n=100000", "train={kind: flow, horizon: 0.1}", "train=null")
    assert [size(setting) < together.FEWEST for setting in alone] == [True] * 4


def test_a_case_that_cannot_be_built_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(CASE)
    fine = {"kind": "gaussian", "n": 2, "dim": 2, "target": "gaussian"}
    zero = {"kind": "values", "X": [[0, 1], [0, 1]], "y": [1, 1]}
    grid = {"grid": {"data": [fine, zero]}, "seeds": 4}
    engine = Watched()
    stream = read_stream(str(tmp_path / "case.yaml"), Changes(), grid)
    ends = [m.status for m in Sweeping(stream, Results(None)).run(engine).members]
    assert engine.sizes == [4, 4] and ends == [*["completed"] * 4, *["bad case"] * 4]
