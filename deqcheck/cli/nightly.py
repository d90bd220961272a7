"""Every statement searched for counterexamples: what is false as printed must fall, and nothing
that was corrected may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from deqcheck.cli.errors import say
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.explore.falsify import Asking, asked, falsify
from deqcheck.explore.falsify.kept import Kept
from deqcheck.explore.falsify.worker import each_in_processes
from deqcheck.judging import catalogue
from deqcheck.judging.errors import UsageError
from deqcheck.records.words import PRINTED
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import columns, heading, render_text
from deqcheck.theorems.base import AnyStatement

SCHEMA = "deqcheck-falsify-all/1"
GREEN, RED = 0, 1
Results = dict[tuple[str, str], dict[str, Any]]


def must_fall(s: AnyStatement) -> bool | None:
    """None where either answer is fine: what is vacuous or unproven need not fall, nor need what is
    printed with a slip."""
    if not s.printed:
        return False
    return {"false": True, "sound": False}.get(s.soundness)


def _green(s: AnyStatement, found: dict[str, Any]) -> bool:
    wanted = must_fall(s)
    return wanted is None or bool(found["found"]) == wanted


def tasks() -> Iterator[AnyStatement]:
    for cls in catalogue().values():
        for edition in cls.editions:
            try:
                yield asked(cls, edition)
            except UsageError:
                continue


def nightly(asking: Asking, kept: Kept, jobs: int, form: str) -> int:
    """A table, resumable; green if nothing is as it must not be."""
    every = list(tasks())
    results: Results = {}
    for s in every:
        known = kept.get(s, asking, 1, "all")
        if known is not None:
            results[s.id, s.edition] = known
    left = [s for s in every if (s.id, s.edition) not in results]
    with ProgressLine() as line:

        def done(s: AnyStatement, found: dict[str, Any]) -> None:
            results[s.id, s.edition] = found
            kept.put(s, asking, 1, "all", found)
            line.say(f"{len(results)}/{len(every)} {s.id} ({s.edition})")

        if jobs > 1:
            each_in_processes(left, asking, jobs, done)
        else:
            for s in left:
                done(s, falsify(type(s), s.edition, asking).to_dict())
    return _told(every, results, form)


def _told(every: list[AnyStatement], results: Results, form: str) -> int:
    bad = [s for s in every if not _green(s, results[s.id, s.edition])]
    if form == "json":
        found = [results[s.id, s.edition] for s in every]
        wrong = [f"{s.id} ({s.edition})" for s in bad]
        to_stdout(dumps({"schema": SCHEMA, "results": found, "not_as_they_must_be": wrong}))
    else:
        rows = [_row(s, results[s.id, s.edition]) for s in every]
        titles = heading(("id", "edition", "status", "tried", "feasible", "answer"))
        to_stdout(render_text([columns([titles, *rows], indent=0)], options_of_stdout()))
    say(f"{len(every)} searched, {len(bad)} not as they must be")
    return RED if bad else GREEN


def _row(s: AnyStatement, found: dict[str, Any]) -> tuple[Text, ...]:
    answer = f"counterexample: {found['claim']}" if found["found"] else "not refuted"
    good = _green(s, found)
    return (
        Text(s.id, no_wrap=True),
        Text(s.edition),
        Text(s.soundness if s.edition == PRINTED else ""),
        Text(str(found["evaluations"])),
        Text(str(found["feasible"])),
        Text(answer if good else f"NOT AS IT MUST BE: {answer}", "" if good else "bold red"),
    )
