"""Every statement searched for counterexamples: what is false as printed must fall, and nothing
that was corrected may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.environment import environment
from deqcheck.explore.falsify import Limits, asked, falsify
from deqcheck.judging import catalogue
from deqcheck.judging.errors import UsageError
from deqcheck.records.words import CORRECTED, PRINTED
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import columns, heading, render_text
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement

GREEN, RED = 0, 1


@dataclass(frozen=True)
class Task:
    statement: type[AnyStatement]
    edition: str

    @property
    def must_fall(self) -> bool | None:
        """None where either answer is fine: what is vacuous or unproven need not fall."""
        if self.edition == CORRECTED:
            return False
        return {"false": True, "sound": False, "typo": None}.get(self.statement.soundness)

    def green(self, found: dict[str, Any]) -> bool:
        return self.must_fall is None or bool(found["found"]) == self.must_fall


def tasks() -> Iterator[Task]:
    for cls in catalogue().values():
        for edition in cls.editions:
            try:
                asked(cls, edition)
            except UsageError:
                continue
            yield Task(cls, edition)


def nightly(limits: Limits, seed: int, folder: Path | None, form: str) -> int:
    """A table, resumable; green if nothing is as it must not be."""
    store = None if folder is None else Store(folder)
    done: list[tuple[Task, dict[str, Any]]] = []
    with ProgressLine() as line:
        for task in tasks():
            line.say(f"{task.statement.id} ({task.edition})")
            done.append((task, _searched(task, limits, seed, store)))
    bad = [task for task, found in done if not task.green(found)]
    if form == "json":
        to_stdout(dumps({"schema": "deqcheck-falsify-all/1", "results": [f for _, f in done]}))
    else:
        rows = [_row(task, found) for task, found in done]
        titles = heading(("id", "edition", "status", "instances", "feasible", "answer"))
        to_stdout(render_text([columns([titles, *rows], indent=0)], options_of_stdout()))
        click.echo(f"{len(done)} searched, {len(bad)} not as they must be", err=True)
    return RED if bad else GREEN


def _searched(task: Task, limits: Limits, seed: int, store: Store | None) -> dict[str, Any]:
    asks = {"id": task.statement.id, "edition": task.edition, "seed": seed}
    key = json.dumps({**asks, **asdict(limits), "environment": environment()}, sort_keys=True)
    found = None if store is None else store.get(key)
    if found is None:
        made = falsify(task.statement, edition=task.edition, limits=limits, seed=seed)
        found = made.to_dict()
        if store is not None:
            store.put(key, found)
    return found


def _row(task: Task, found: dict[str, Any]) -> tuple[Text, ...]:
    answer = f"counterexample: {found['claim']}" if found["found"] else "not refuted"
    style = "" if task.green(found) else "bold red"
    return (
        Text(task.statement.id, no_wrap=True),
        Text(task.edition),
        Text(task.statement.soundness if task.edition == PRINTED else ""),
        Text(str(found["evaluations"])),
        Text(str(found["feasible"])),
        Text(answer, style),
    )
