"""The process that judges cases: one for each line in, and one reply for each line out."""

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

from deqcheck import plugins
from deqcheck.case.read import checked
from deqcheck.case.source import Source
from deqcheck.ci.single import reply
from deqcheck.judging import catalogue
from deqcheck.kinds import FAMILIES
from deqcheck.registry import kinds


def main(places: Sequence[str] = ()) -> None:
    # Ctrl-C reaches the whole group of processes; the parent decides what becomes of a worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever a library prints must not get between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    plugins.load_again(places)
    _warm_up()
    _send(replies, {"ready": True})
    while True:
        # What a sweep sets was checked against what it expects where the file was read.
        case = checked(Source.received(asked.get()), as_written=False)
        _send(replies, reply(case).plain())


def _warm_up() -> None:
    """Import now what the first case would import on its own time."""
    list(catalogue())
    for family in FAMILIES:
        list(kinds(family))
    # Brings most other parts along.
    importlib.import_module("scipy.integrate")


def _listen(asked: queue.SimpleQueue[dict[str, Any]]) -> None:
    """When the parent is gone, however it went, nobody wants the answer any more."""
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)


def _send(replies: Any, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer, allow_nan=False) + "\n")
    replies.flush()
