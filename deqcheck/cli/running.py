"""What the commands that run many cases share: their options, and the progress on stderr."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from deqcheck.ci.gate import Runner
from deqcheck.ci.records import GateError
from deqcheck.cli.errors import Complaint
from deqcheck.cli.progress import ProgressLine
from deqcheck.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def runner_options(function: F) -> F:
    """`--jobs`, `--timeout` and `--store`."""
    options = (
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=_cores,
            show_default="the cores",
            help="So many cases at a time, each in a process of its own with one thread.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0, min_open=True, max=1e6),
            metavar="SECONDS",
            help="Give up on a case after so long; the others go on.",
        ),
        click.option(
            "--store",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Keep results in DIR and take from it what is there: a killed run goes on.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@contextmanager
def running(jobs: int, timeout: float | None, store: Path | None) -> Iterator[Runner]:
    with ProgressLine() as line:
        yield Runner(
            jobs,
            timeout,
            _open(store),
            tell=lambda done, total: line.say(f"{done} of {total} cases"),
            warn=lambda sentence: click.echo(sentence, err=True),
        )


@contextmanager
def refusals() -> Iterator[None]:
    """What the gate refuses, as a complaint."""
    try:
        yield
    except GateError as error:
        raise Complaint(str(error)) from None


def _open(folder: Path | None) -> Store | None:
    try:
        return None if folder is None else Store(folder)
    except OSError as error:
        raise GateError(f"cannot keep results in {folder}: {error.strerror}") from None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
