"""Workers of a Dask cluster: batches of messages go there, and those of a lost worker to another.

Each of its workers keeps a process of ours, so that whatever becomes of a message there is the
reply that it would have had here: a crash, a time-out, a killed process.
"""

from __future__ import annotations

import importlib
import logging
import signal
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import Any

from deqcheck import plugins, threads
from deqcheck.engines import End, EngineError, K, Message, Reply
from deqcheck.engines.processes import Worker
from deqcheck.environment import source

LOCAL = "local"
REMEDY = "Dask is not installed: pip install 'deqcheck[dask]'"
# A batch takes about so many seconds, and has at most so many messages; each worker has one that
# waits beside the one it is at.
SECONDS, MOST, AHEAD = 2.0, 50, 2
# Until somebody answers at an address.
PATIENCE = 5.0


class Cluster:
    threads = 1

    def __init__(self, address: str, jobs: int = 1, timeout: float | None = None):
        """`local` starts a cluster of `jobs` processes on this machine. Raises EngineError."""
        if find_spec("distributed") is None:
            raise EngineError(REMEDY)
        self.address, self.jobs, self.timeout = address, jobs, timeout

    def replies(
        self, task: str, messages: Iterable[tuple[K, Message]]
    ) -> Generator[tuple[K, Reply], None, None]:
        distributed: Any = importlib.import_module("distributed")
        with self._client() as client:
            asked = iter(messages)
            pending = distributed.as_completed(loop=client.loop)
            batches: dict[Any, list[tuple[K, Message]]] = {}
            try:
                for batch in _batches(asked, 1, _slots(client)):
                    _submit(client, task, batch, self.timeout, batches, pending)
                for future in pending:
                    batch = batches.pop(future.key)
                    replies = _replies(future, len(batch))
                    if replies is None:
                        # One of them takes its worker down: each by itself.
                        for each in batch:
                            _submit(client, task, [each], self.timeout, batches, pending)
                        continue
                    for (key, _), reply in zip(batch, replies, strict=True):
                        yield key, reply
                    for more in _batches(asked, _size(replies), 1):
                        _submit(client, task, more, self.timeout, batches, pending)
            finally:
                for future in list(batches):
                    client.cancel([future], force=True)
                client.run(_close)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        distributed: Any = importlib.import_module("distributed")
        # What it says while a worker is lost or it is closing is not for the user.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with ExitStack() as stack:
            if self.address == LOCAL:
                with threads.one_in_children(), _deaf():
                    cluster = distributed.LocalCluster(
                        n_workers=self.jobs,
                        threads_per_worker=1,
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL,
                    )
                where: Any = stack.enter_context(cluster)
            else:
                where = self.address
            try:
                joined = distributed.Client(where, timeout=PATIENCE, set_as_default=False)
                client = stack.enter_context(joined)
            except (OSError, ValueError, TimeoutError) as error:
                told = " ".join(str(error).split()) or type(error).__name__
                raise EngineError(f"no Dask scheduler answers at {self.address}: {told}") from None
            yield client


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C: it is their parent's affair."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _slots(client: Any) -> int:
    """How many batches keep everybody busy."""
    every = client.scheduler_info(n_workers=-1)["workers"].values()
    return AHEAD * max(1, sum(int(worker["nthreads"]) for worker in every))


def _batches(asked: Iterator[Any], size: int, count: int) -> Iterator[list[Any]]:
    for _ in range(count):
        batch = list(islice(asked, size))
        if not batch:
            return
        yield batch


def _size(replies: Sequence[Reply]) -> int:
    mean = sum(reply.seconds for reply in replies) / len(replies)
    return max(1, min(MOST, round(SECONDS / max(mean, SECONDS / MOST))))


def _submit(
    client: Any,
    task: str,
    batch: list[tuple[K, Message]],
    timeout: float | None,
    batches: dict[Any, list[tuple[K, Message]]],
    pending: Any,
) -> None:
    words = [dict(message) for _, message in batch]
    future = client.submit(
        answer_batch, task, plugins.places(), source(), words, timeout, pure=False
    )
    batches[future.key] = batch
    pending.add(future)


def _replies(future: Any, asked: int) -> list[Reply] | None:
    """None where a batch of several was lost with its workers. Raises EngineError."""
    from distributed import KilledWorker

    try:
        return [Reply.read(plain) for plain in future.result()]
    except KilledWorker:
        lost = Reply(End.KILLED, "its Dask worker died, as did those that tried it again")
        return [lost] if asked == 1 else None
    except EngineError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())
        raise EngineError(f"the Dask cluster failed: {type(error).__name__}: {told}") from None


_HERE = threading.local()
_EVERY: list[Worker] = []


def answer_batch(
    task: str, places: list[str], text: str, messages: list[Message], timeout: float | None
) -> list[dict[str, Any]]:
    """In a worker of the cluster."""
    if source() != text:
        raise EngineError("the Dask workers have another deqcheck than this one: install the same")
    return [_worker(task, places).ask(message, timeout).plain() for message in messages]


def _worker(task: str, places: list[str]) -> Worker:
    """The one of this thread; another where it is dead or knows other things."""
    found: Worker | None = getattr(_HERE, "worker", None)
    if found is None or not found.alive or _HERE.knows != (task, places):
        if found is not None:
            found.close()
            if found in _EVERY:
                _EVERY.remove(found)
        found = _HERE.worker = Worker(task, places)
        _HERE.knows = (task, places)
        _EVERY.append(found)
    return found


def _close() -> None:
    """On every worker, when the sweep is over."""
    while _EVERY:
        _EVERY.pop().close()
