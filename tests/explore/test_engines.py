"""Every engine gives the same records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deqcheck as dq
from deqcheck import engines
from deqcheck.engines import End, EngineError, Reply, cluster
from deqcheck.engines.processes import Processes
from deqcheck.report.parts.swept import as_json

from .test_sweep import CASE, Alike

# As many warnings as Dask likes.
pytestmark = pytest.mark.filterwarnings("ignore")
HERE = "deqcheck.trials"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engines") / "case.yaml"
    path.write_text(CASE)
    return path


def swept(case: Path, engine: Any) -> str:
    return "".join(as_json(dq.sweep(case, {"model.gamma": [0.2, 0.6]}, seeds=2, engine=engine)))


def test_dask_gives_the_same_bytes(case: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as there:
        found = swept(case, f"dask:{there.scheduler_address}")
        # Nothing of ours is left there.
        assert not cluster._EVERY
    assert found == swept(case, Alike())


def test_nobody_answers_at_an_address(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    with pytest.raises(dq.UsageError, match="no Dask scheduler answers at tcp"):
        swept(case, "dask:tcp://127.0.0.1:9")
    with pytest.raises(dq.UsageError, match="no engine 'grid'; expected processes, here, dask or "):
        swept(case, "grid")


def test_without_dask_its_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"pip install 'deqcheck\[dask\]'"):
        engines.engine(engines.DASK, address="local")


class Lost:
    """A batch whose workers died."""

    def __init__(self, error: Exception):
        self.error = error

    def result(self) -> Any:
        raise self.error


def test_a_batch_that_kills_its_workers_is_taken_apart() -> None:
    distributed = pytest.importorskip("distributed")
    lost = Lost(distributed.KilledWorker("task", None, 3))
    assert cluster._replies(lost, 5) is None
    (reply,) = cluster._replies(lost, 1) or ()
    assert (reply.end, reply.facts) == (End.KILLED, None)
    with pytest.raises(EngineError, match="the Dask cluster failed: OSError: gone"):
        cluster._replies(Lost(OSError("gone")), 1)
    with pytest.raises(EngineError, match="have another deqcheck than this one"):
        cluster.answer_batch(HERE, [], "another text", [], None)


def test_batches_are_of_about_two_seconds() -> None:
    for seconds, size in ((0.0, 50), (0.1, 20), (0.5, 4), (10.0, 1)):
        assert cluster._size([Reply(End.RAN, seconds=seconds)] * 3) == size


def test_messages_are_taken_as_they_are_needed() -> None:
    """And whatever an answer raises is a reply: these are no messages of that task."""
    taken: list[int] = []

    def messages() -> Any:
        for i in range(100):
            taken.append(i)
            yield i, {"nothing": i}

    replies = Processes(1).replies(HERE, messages())
    key, reply = next(replies)
    assert (key, reply.end) == (0, End.CRASHED)
    assert reply.sentence.endswith("KeyError: 'task'")
    assert taken == [0, 1]
    replies.close()
