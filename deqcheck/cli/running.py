"""What the commands that run many cases share: their options, and the progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from deqcheck.ci.gate import Runner
from deqcheck.ci.records import GateError
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.options import jobs_option, timeout_option
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import open_store

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Plan:
    """How many cases are to be run."""

    jobs: int
    timeout: float | None
    store: Path | None

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """Whatever is refused meanwhile is a complaint."""
        try:
            with ProgressLine() as line:
                yield Runner(
                    self.jobs,
                    self.timeout,
                    open_store(self.store),
                    tell=lambda done, total: line.say(f"{done} of {total} cases"),
                    warn=say,
                )
        except GateError as error:
            raise Complaint(str(error)) from None


def plan_options(function: F) -> F:
    """`--jobs`, `--timeout` and `--store`, given to the function as `plan`."""

    @jobs_option("Number of parallel cases, each in a process of its own with one thread.")
    @timeout_option("case")
    @click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Keep results in DIR and reuse those found there: an interrupted run resumes.",
    )
    @wraps(function)
    def wrapped(
        *args: Any, jobs: int, timeout: float | None, store: Path | None, **more: Any
    ) -> Any:
        return function(*args, plan=Plan(jobs, timeout, store), **more)

    return wrapped  # type: ignore[return-value]
