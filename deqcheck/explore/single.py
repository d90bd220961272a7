"""One case, judged: the task that engines are given, and what the store keeps of it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deqcheck import judging, plugins
from deqcheck.case import Case, CaseError
from deqcheck.case.read import checked
from deqcheck.case.source import Source
from deqcheck.engines import End, Message, Reply, crashed
from deqcheck.environment import environment as versions
from deqcheck.environment import source
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.store import Store

TASK = __name__
# What depends on the expectations, or is told elsewhere.
LEFT_OUT = ("expected", "met", "erratum", "quantities")


def message(case: Case, store: Store | None = None) -> Message:
    """What an engine is sent; the trials of statements over seeds go to the store."""
    return {"source": case.source.message(), "store": store and str(store.folder.absolute())}


def answer(message: Message) -> Reply:
    # What a sweep sets was checked against what it expects where the file was read.
    case = checked(Source.received(message["source"]), as_written=False)
    return reply(case, message["store"] and Store(message["store"]))


def warm_up() -> None:
    """Nearly every case needs it; models and statements are imported with the first that does."""
    importlib.import_module("scipy.linalg")


def judge(case: Case, store: Store | None = None) -> dict[str, Any]:
    """The facts of a case: nothing in them depends on its name, title or expectations.

    Raises CaseError or UsageError; what is interrupted has none.
    """
    try:
        report = judging.run(case.problem(), case.question, store=store)
    except (NoEquilibrium, OutOfRange) as stop:
        return _facts(case.digest, stop.status, [str(stop)])
    if report.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return _facts(case.digest, report.status, list(report.notes), report)


def reply(case: Case, store: Store | None = None) -> Reply:
    """The facts of a case, or why there are none."""
    started = time.perf_counter()
    found = _answer(case, store)
    return Reply(found.end, found.sentence, found.facts, round(time.perf_counter() - started, 3))


def _answer(case: Case, store: Store | None) -> Reply:
    try:
        return Reply(End.RAN, facts=judge(case, store))
    except CaseError as error:
        return Reply(End.BAD_CASE, str(error))
    except judging.UsageError as error:
        return Reply(End.BAD_CASE, f"{case.source.name}: {error}")
    except Exception as bug:
        mistake = plugins.blamed(bug)
        if mistake is not None:
            return Reply(End.BAD_CASE, f"{case.source.name}: {mistake}")
        return crashed(bug)


def _facts(
    digest: str, status: Status, notes: list[str], report: Report | None = None
) -> dict[str, Any]:
    facts: dict[str, Any] = {"digest": digest, "status": status.word, "notes": notes}
    if report is None:
        return facts | {"statements": [], "quantities": {}, "loss": None}
    told = replace(report, trajectory=None, companion=None).to_dict()
    facts["statements"] = [
        {name: value for name, value in entry.items() if name not in LEFT_OUT}
        for entry in told["statements"]
    ]
    numbers = told["quantities"].items()
    facts["quantities"] = {name: m for name, m in numbers if not isinstance(m["value"], list)}
    return facts | {"loss": _last_loss(report)}


def _last_loss(report: Report) -> dict[str, Any] | None:
    """At the end of the run."""
    track = report.trajectory
    if track is None or not len(track.k):
        return None
    value, error = float(track.loss.value[-1]), float(track.loss.error[-1])
    return {"value": value, "error": error} if abs(value) + error < float("inf") else None


def environment(threads: int = 1) -> dict[str, Any]:
    """That of the workers."""
    return versions() | {"threads": threads}


def _made(threads: int) -> dict[str, Any]:
    """What the facts of a case depend on beside the case: the environment, and deqcheck itself."""
    return {"environment": environment(threads), "source": source()}


class Results:
    """Replies by the digest of their case: in a store, if there is one that can be written to."""

    def __init__(
        self,
        store: Store | None,
        warn: Callable[[str], None] = lambda sentence: None,
        threads: int = 1,
    ):
        self.store, self._warn = store, warn
        # Looked up once, not for every one of many cases.
        self._made = _made(threads)
        self._here: dict[str, Reply] = {}

    def get(self, digest: str) -> Reply | None:
        entry = None if self.store is None else self.store.get(self._key(digest))
        if entry is None:
            return self._here.get(digest)
        return Reply(End.RAN, facts=entry["facts"], seconds=entry["seconds"])

    def failure(self, digest: str) -> Reply | None:
        """Why an earlier run has no facts of it."""
        entry = None if self.store is None else self.store.get(self._key(digest, failed=True))
        return None if entry is None else Reply.read(entry)

    def keep(self, digest: str, reply: Reply, failures: bool = False) -> None:
        """Failures only where they are asked for."""
        if self.store is None:
            self._here[digest] = reply
            return
        try:
            if reply.facts is not None:
                entry = {"facts": dict(reply.facts), "seconds": reply.seconds}
                self.store.put(self._key(digest), entry)
            elif failures:
                self.store.put(self._key(digest, failed=True), reply.plain())
        except OSError as error:
            self._warn(f"cannot keep results in {self.store.folder}: {error.strerror}")
            self.store = None
            self._here[digest] = reply

    def _key(self, digest: str, failed: bool = False) -> str:
        found = json.dumps({"case": digest, **self._made}, sort_keys=True)
        return f"failed {found}" if failed else found
