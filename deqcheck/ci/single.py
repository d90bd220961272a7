"""One case, judged: what a worker does and what the store keeps."""

from __future__ import annotations

import json
import time
import traceback
from pathlib import Path
from typing import Any

from deqcheck import judging, plugins
from deqcheck.case import Case, CaseError
from deqcheck.ci.records import End, Reply
from deqcheck.environment import environment as versions
from deqcheck.environment import source
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.report.json import statement

# What depends on the expectations, or is told elsewhere.
LEFT_OUT = ("expected", "met", "erratum", "quantities")


def judge(case: Case) -> dict[str, Any]:
    """The facts of a case: nothing in them depends on its name, title or expectations.

    Raises CaseError or UsageError.
    """
    try:
        report = judging.run(case.problem(), case.question)
    except (NoEquilibrium, OutOfRange) as stop:
        return _facts(case.digest, stop.status, [str(stop)], [])
    return _facts(case.digest, report.status, list(report.notes), _statements(report))


def reply(case: Case) -> Reply:
    """The facts of a case, or why there are none."""
    started = time.perf_counter()
    end, sentence, facts = _answer(case)
    return Reply(end, sentence, facts, round(time.perf_counter() - started, 3))


def _answer(case: Case) -> tuple[End, str, dict[str, Any] | None]:
    try:
        return End.RAN, "", judge(case)
    except CaseError as error:
        return End.BAD_CASE, str(error), None
    except judging.UsageError as error:
        return End.BAD_CASE, f"{case.source.name}: {error}", None
    except MemoryError:
        return End.KILLED, "ran out of memory", None
    except Exception as bug:
        mistake = plugins.blamed(bug)
        if mistake is not None:
            return End.BAD_CASE, f"{case.source.name}: {mistake}", None
        last = traceback.extract_tb(bug.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        sentence = " ".join(f"{type(bug).__name__}: {bug}".split())
        return End.CRASHED, f"internal error at {place}: {sentence}", None


def _facts(
    digest: str, status: Status, notes: list[str], statements: list[dict[str, Any]]
) -> dict[str, Any]:
    return {"digest": digest, "status": status.word, "notes": notes, "statements": statements}


def _statements(report: Report) -> list[dict[str, Any]]:
    entries = (statement(verdict) for verdict in report.verdicts)
    return [{k: v for k, v in entry.items() if k not in LEFT_OUT} for entry in entries]


def environment() -> dict[str, Any]:
    """That of the workers: one thread each."""
    return versions() | {"threads": 1}


def key(digest: str) -> str:
    """What the facts of a case depend on: the case, the environment, and deqcheck itself."""
    parts = {"case": digest, "environment": environment(), "source": source()}
    return json.dumps(parts, sort_keys=True)
