"""One case, judged: what a worker does and what the store keeps."""

from __future__ import annotations

import json
import time
import traceback
from pathlib import Path
from typing import Any

from deqcheck import engine
from deqcheck.case import CaseError, build_problem, read_cases
from deqcheck.ci.records import End, Reply
from deqcheck.engine import UsageError
from deqcheck.environment import environment as versions
from deqcheck.environment import source
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.records.verdict import Report, Status
from deqcheck.report.json import statement

# What depends on the expectations, or is told elsewhere.
LEFT_OUT = ("expected", "met", "erratum", "quantities")


def judge(path: str | Path, member: str = "") -> dict[str, Any]:
    """The facts of a case: nothing in them depends on its name, title or expectations.

    `member` is its label, where the file states several. Raises CaseError or UsageError.
    """
    case = next(c for c in read_cases(path) if member == (c.member.label if c.member else ""))
    try:
        report = engine.run(case, build_problem(case))
    except (NoEquilibrium, OutOfRange) as stop:
        return _facts(case.digest, stop.status, [str(stop)], [])
    return _facts(case.digest, report.status, list(report.notes), _statements(report))


def reply(path: str | Path, member: str = "") -> Reply:
    """The facts of a case, or why there are none."""
    started = time.perf_counter()
    end, sentence, facts = _answer(path, member)
    return Reply(end, sentence, facts, round(time.perf_counter() - started, 3))


def _answer(path: str | Path, member: str) -> tuple[End, str, dict[str, Any] | None]:
    try:
        return End.RAN, "", judge(path, member)
    except CaseError as error:
        return End.BAD_CASE, str(error), None
    except UsageError as error:
        return End.BAD_CASE, f"{path}: {error}", None
    except MemoryError:
        return End.KILLED, "ran out of memory", None
    except Exception as bug:
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
