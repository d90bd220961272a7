"""The process that judges cases: one path for each line in, one reply for each line out."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from typing import Any

from deqcheck.case import CaseError
from deqcheck.ci.records import End
from deqcheck.ci.single import judge
from deqcheck.engine import UsageError, statements
from deqcheck.registry import kinds


def main() -> None:
    # Ctrl-C reaches the whole group of processes; the parent decides what becomes of a worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not get between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    paths: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(paths,), daemon=True).start()
    _warm_up()
    _send(replies, {"ready": True})
    while True:
        _send(replies, reply(paths.get()))


def reply(path: str) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        answer: dict[str, Any] = {"end": End.RAN.value, "facts": judge(path)}
    except CaseError as error:
        answer = {"end": End.BAD_CASE.value, "sentence": str(error)}
    except UsageError as error:
        answer = {"end": End.BAD_CASE.value, "sentence": f"{path}: {error}"}
    except MemoryError:
        answer = {"end": End.KILLED.value, "sentence": "ran out of memory"}
    except Exception as bug:
        last = traceback.extract_tb(bug.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        sentence = " ".join(f"{type(bug).__name__}: {bug}".split())
        answer = {"end": End.CRASHED.value, "sentence": f"internal error at {place}: {sentence}"}
    return answer | {"seconds": round(time.perf_counter() - started, 3)}


def _warm_up() -> None:
    """Import now what the first case would import on its own time."""
    statements()
    for package in ("data", "models", "losses", "inits", "dynamics"):
        kinds(f"deqcheck.{package}")


def _listen(paths: queue.SimpleQueue[str]) -> None:
    """When the parent is gone, however it went, nobody wants the answer any more."""
    for line in sys.stdin:
        paths.put(json.loads(line))
    os._exit(0)


def _send(replies: Any, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer, allow_nan=False) + "\n")
    replies.flush()
