"""The process that answers: one reply for each line in."""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from deqcheck import garbage, plugins, postponed
from deqcheck.engines import INSIDE, answered


def main(task: str, places: Sequence[str] = ()) -> None:
    # Ctrl-C reaches the whole group of processes; the parent decides what becomes of a worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    INSIDE.append(True)
    garbage.looked_for_seldom()
    postponed.until_used()
    # Whatever a library prints must not get between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    plugins.load_again(places)
    importlib.import_module(task).warm_up()
    _send(replies, {"ready": True})
    while True:
        _send(replies, answered(task, asked.get()).plain())


def _listen(asked: queue.SimpleQueue[dict[str, Any]]) -> None:
    """When the parent is gone, however it went, nobody wants the answer any more."""
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)


def _send(replies: Any, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer, allow_nan=False) + "\n")
    replies.flush()
