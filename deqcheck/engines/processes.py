"""Worker processes that can be killed: each answers message after message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from queue import SimpleQueue
from typing import Any, Generic

from deqcheck import plugins, threads
from deqcheck.engines import End, K, Message, Reply

# The worker imports exactly what its parent would.
PROGRAM = (
    "import json, sys; sys.path[:], task, plugins = json.loads(sys.argv.pop()); "
    "from deqcheck.engines.worker import main; main(task, plugins)"
)
# Messages that wait while each worker is at one: nobody is idle while a reply is looked at.
AHEAD = 2


class Worker:
    def __init__(self, task: str, places: list[str] | None = None) -> None:
        places = plugins.places() if places is None else places
        self._talk = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, json.dumps([sys.path, task, places])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._talk,
                env=os.environ | threads.ONE,
                text=True,
                encoding="utf-8",
            )
        except OSError:
            self._talk.close()
            raise
        self._ready = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, message: Message, timeout: float | None) -> Reply:
        # The time for importing numpy and scipy is not that of the message.
        if not self._ready and self._receive() is None:
            return self._death()
        self._ready = True
        late = threading.Event()
        timer = threading.Timer(timeout, self._stop, [late]) if timeout else None
        if timer:
            timer.start()
        try:
            self._send(message)
            answer = self._receive()
        finally:
            if timer:
                timer.cancel()
        if answer is not None:
            if late.is_set():
                self._process.wait()
            return Reply.read(answer)
        if late.is_set():
            # Until it is gone, it would pass for alive.
            self._process.wait()
            return Reply(End.TIMED_OUT, f"no result after {timeout:g} s", seconds=timeout or 0.0)
        return self._death()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._talk):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def kill(self) -> None:
        self._process.kill()

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self.kill()

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            # It is dead; that there is no answer will tell.
            return

    def _receive(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def _death(self) -> Reply:
        code = self._process.wait()
        if code < 0:
            return Reply(End.KILLED, f"its process was killed by {_signal(-code)}")
        self._talk.seek(0)
        said = self._talk.read()[-1000:].decode("utf-8", "replace").strip().splitlines()
        last = f": {said[-1]}" if said else ""
        return Reply(End.CRASHED, f"its process ended with exit code {code}{last}")


class Processes:
    """At most `jobs` workers, made when needed and replaced when dead."""

    threads = 1

    def __init__(self, jobs: int, timeout: float | None = None):
        self.jobs = jobs
        self.timeout = timeout

    def replies(
        self, task: str, messages: Iterable[tuple[K, Message]]
    ) -> Generator[tuple[K, Reply], None, None]:
        todo: SimpleQueue[tuple[K, Message] | None] = SimpleQueue()
        done: SimpleQueue[tuple[K, Reply]] = SimpleQueue()
        servers: list[_Server[K]] = []
        waiting = 0
        try:
            for each in messages:
                todo.put(each)
                waiting += 1
                if len(servers) < self.jobs:
                    servers.append(_Server(task, self.timeout, todo, done))
                if waiting >= AHEAD * self.jobs:
                    yield done.get()
                    waiting -= 1
            for _ in range(waiting):
                yield done.get()
        finally:
            for server in servers:
                server.stop()
                todo.put(None)
            for server in servers:
                server.thread.join()


class _Server(Generic[K]):
    """A thread with a worker of its own."""

    def __init__(
        self,
        task: str,
        timeout: float | None,
        todo: SimpleQueue[tuple[K, Message] | None],
        done: SimpleQueue[tuple[K, Reply]],
    ):
        self._task, self._timeout, self._todo, self._done = task, timeout, todo, done
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._stopped = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Whatever it is at."""
        with self._lock:
            self._stopped = True
            if self._worker is not None:
                self._worker.kill()

    def _serve(self) -> None:
        while (each := self._todo.get()) is not None and not self._stopped:
            self._done.put((each[0], self._answer(each[1])))
        if self._worker is not None:
            self._worker.close()

    def _answer(self, message: Message) -> Reply:
        try:
            with self._lock:
                if self._worker is not None and not self._worker.alive:
                    self._worker.close()
                    self._worker = None
                if self._stopped:
                    return Reply(End.KILLED, "stopped")
                worker = self._worker = self._worker or Worker(self._task)
            return worker.ask(message, self._timeout)
        except OSError as error:
            return Reply(End.CRASHED, f"no process could be started: {error.strerror}")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
