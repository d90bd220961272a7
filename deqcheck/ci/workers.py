"""Worker processes that can be killed: whatever happens to one is the result of its case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any

from deqcheck import plugins, threads
from deqcheck.case import Case
from deqcheck.ci.discover import FoundCase
from deqcheck.ci.records import End, Reply

# The worker imports exactly what its parent would.
PROGRAM = (
    "import json, sys; sys.path[:], plugins = json.loads(sys.argv.pop()); "
    "from deqcheck.ci.worker import main; main(plugins)"
)


class Worker:
    def __init__(self) -> None:
        self._talk = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, json.dumps([sys.path, plugins.places()])],
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

    def judge(self, case: Case, timeout: float | None) -> Reply:
        # The time for importing numpy and scipy is not the case's.
        if not self._ready and self._receive() is None:
            return self._death()
        self._ready = True
        late = threading.Event()
        timer = threading.Timer(timeout, self._stop, [late]) if timeout else None
        if timer:
            timer.start()
        try:
            self._send(case)
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

    def _send(self, case: Case) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(case.source.message()) + "\n")
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


class Pool:
    """At most `jobs` workers, made when needed and replaced when dead."""

    def __init__(self, jobs: int, timeout: float | None = None):
        self.jobs = jobs
        self.timeout = timeout
        self._slots: SimpleQueue[Worker | None] = SimpleQueue()
        self._all: list[Worker] = []
        self._closed = False
        self._lock = threading.Lock()
        for _ in range(jobs):
            self._slots.put(None)

    def judge_all(
        self, cases: Mapping[FoundCase, Case], done: Callable[[FoundCase, Reply], None]
    ) -> None:
        """Call `done` in this thread with the reply for each case, as they come."""
        try:
            self._judge_all(cases, done)
        finally:
            for worker in self._all:
                worker.close()

    def _judge_all(
        self, cases: Mapping[FoundCase, Case], done: Callable[[FoundCase, Reply], None]
    ) -> None:
        with ThreadPoolExecutor(self.jobs) as threads:
            open_: dict[Future[Reply], FoundCase] = {}
            try:
                open_ = {threads.submit(self._judge, case): found for found, case in cases.items()}
                while open_:
                    finished, _ = wait(open_, return_when=FIRST_COMPLETED)
                    for future in finished:
                        done(open_.pop(future), future.result())
            finally:
                for future in open_:
                    future.cancel()
                with self._lock:
                    self._closed = True
                    for worker in self._all:
                        worker.kill()

    def _judge(self, case: Case) -> Reply:
        worker = self._slots.get()
        try:
            with self._lock:
                if self._closed:
                    return Reply(End.KILLED, "the gate was stopped")
                if worker is None or not worker.alive:
                    worker = Worker()
                    self._all.append(worker)
            return worker.judge(case, self.timeout)
        except OSError as error:
            return Reply(End.CRASHED, f"no process could be started: {error.strerror}")
        finally:
            self._slots.put(worker)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
