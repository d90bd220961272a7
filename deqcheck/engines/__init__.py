"""Where work is done: in this process, in several, or on a cluster, with the same replies from all.

A task is a module with a function `answer(message) -> Reply`, and `warm_up()`, which imports ahead
what the first answer would import on its own time. Messages and what replies carry are what JSON
can hold. Whatever becomes of a process is the reply to the message that it was at.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from deqcheck.frozen import dataclass

K = TypeVar("K")
Message = Mapping[str, Any]
PROCESSES, HERE, DASK = "processes", "here", "dask"
# Whether this process is one of an engine: it starts no others.
INSIDE: list[bool] = []


class EngineError(Exception):
    """Nothing can be done there; one sentence."""


class End(Enum):
    """How the process of a case ended."""

    RAN = "ran"
    BAD_CASE = "bad case"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    KILLED = "killed"


@dataclass(frozen=True)
class Reply:
    """What came of one message: facts, or why there are none."""

    end: End
    sentence: str = ""
    facts: Mapping[str, Any] | None = None
    seconds: float = 0.0

    def plain(self) -> dict[str, Any]:
        return vars(self) | {"end": self.end.value}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Reply:
        return cls(**{**plain, "end": End(plain["end"])})


class Engine(Protocol):
    # How many threads the linear algebra of each process has, how many processes there are as far
    # as is known, and the seconds that a message may take.
    threads: int
    jobs: int
    timeout: float | None

    def replies(
        self, task: str, messages: Iterable[tuple[K, Message]]
    ) -> Generator[tuple[K, Reply], None, None]:
        """The reply to each message, with its key, as they come; messages are taken as needed.
        Raises EngineError."""
        ...


def answered(task: str, message: Message) -> Reply:
    """In this process; an error that nobody foresaw is a reply."""
    try:
        found: Reply = importlib.import_module(task).answer(message)
        return found
    except Exception as bug:
        return crashed(bug)


def crashed(bug: Exception) -> Reply:
    if isinstance(bug, MemoryError):
        return Reply(End.KILLED, "ran out of memory")
    import traceback

    last = traceback.extract_tb(bug.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    sentence = " ".join(f"{type(bug).__name__}: {bug}".split())
    return Reply(End.CRASHED, f"internal error at {place}: {sentence}")


def engine(
    where: str = PROCESSES, jobs: int = 1, timeout: float | None = None, address: str = ""
) -> Engine:
    """`processes`, `here`, or `dask` at an address, such as `local`. Raises EngineError."""
    from deqcheck.engines.cluster import Cluster
    from deqcheck.engines.here import Here
    from deqcheck.engines.processes import Processes

    if where == DASK:
        return Cluster(address, jobs, timeout)
    return Here() if where == HERE else Processes(jobs, timeout)
