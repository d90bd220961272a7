"""One case, judged: the task that engines are given, and what the store keeps of it."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from deqcheck import judging, plugins
from deqcheck.case import Case, CaseError
from deqcheck.case.read import checked
from deqcheck.case.source import Source
from deqcheck.engines import End, Message, Reply, crashed
from deqcheck.environment import environment as versions
from deqcheck.environment import source
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status
from deqcheck.store import Store

TASK = __name__
# Where a message has several, and a reply those to them.
TOGETHER = "together"
# What depends on the expectations, or is told elsewhere.
LEFT_OUT = ("expected", "met", "erratum", "quantities")


def message(case: Case, store: Store | None = None) -> Message:
    """What an engine is sent; the trials of statements over seeds go to the store."""
    return {"source": case.source.message(), "store": store and str(store.folder.absolute())}


def together(messages: Sequence[Message]) -> Message:
    """One message for several: their runs are advanced together, where that can be."""
    return {TOGETHER: list(messages)}


def replies_in(reply: Reply) -> list[Reply] | None:
    """Those to the messages that were sent together; None if there are none."""
    if reply.facts is None:
        return None
    return [Reply.read(plain) for plain in reply.facts[TOGETHER]]


def answer(message: Message) -> Reply:
    if TOGETHER in message:
        replies = _answers([(_case(m), _store(m)) for m in message[TOGETHER]])
        seconds = round(sum(each.seconds for each in replies), 3)
        return Reply(End.RAN, "", {TOGETHER: [each.plain() for each in replies]}, seconds)
    return reply(_case(message), _store(message))


def _case(message: Message) -> Case:
    # What a sweep sets was checked against what it expects where the file was read.
    return checked(Source.received(message["source"]), as_written=False)


def _store(message: Message) -> Store | None:
    return Store(message["store"]) if message["store"] else None


def _answers(cases: Sequence[tuple[Case, Store | None]]) -> list[Reply]:
    started = time.perf_counter()
    problems: dict[int, AnyProblem] = {}
    for i, (case, _) in enumerate(cases):
        # What is wrong with a case is said when it is looked at by itself.
        with suppress(Exception):
            problems[i] = case.problem()
    asked = [(problem, cases[i][0].question) for i, problem in problems.items()]
    made = dict(zip(problems, judging.trained_together(asked), strict=True))
    share = (time.perf_counter() - started) / len(cases)
    replies = [
        reply(case, store, problems.get(i), made.get(i)) for i, (case, store) in enumerate(cases)
    ]
    return [replace(each, seconds=round(each.seconds + share, 3)) for each in replies]


def warm_up() -> None:
    """Nearly every case needs it; models and statements are imported with the first that does."""
    importlib.import_module("scipy.linalg")


def judge(
    case: Case,
    store: Store | None = None,
    problem: AnyProblem | None = None,
    made: Trajectory | None = None,
) -> dict[str, Any]:
    """The facts of a case: nothing in them depends on its name, title or expectations. Its problem
    and its run may be there already.

    Raises CaseError or UsageError; what is interrupted has none.
    """
    try:
        report = judging.run(problem or case.problem(), case.question, store=store, made=made)
    except (NoEquilibrium, OutOfRange) as stop:
        return _facts(case.digest, stop.status, [str(stop)])
    if report.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return _facts(case.digest, report.status, list(report.notes), report)


def reply(
    case: Case,
    store: Store | None = None,
    problem: AnyProblem | None = None,
    made: Trajectory | None = None,
) -> Reply:
    """The facts of a case, or why there are none."""
    started = time.perf_counter()
    found = _answer(case, store, problem, made)
    return Reply(found.end, found.sentence, found.facts, round(time.perf_counter() - started, 3))


def _answer(
    case: Case, store: Store | None, problem: AnyProblem | None, made: Trajectory | None
) -> Reply:
    try:
        return Reply(End.RAN, facts=judge(case, store, problem, made))
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
