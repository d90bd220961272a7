"""What ends a command early, and the exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from deqcheck.report.parts.visible import visible

OK, FAILED, USAGE, NOTHING_DECIDED, NUMERICAL, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


def say(text: str, nl: bool = True) -> None:
    """On stderr; titles and file names in it do not command the terminal."""
    click.echo(visible(text), nl=nl, err=True)


class Complaint(click.ClickException):
    """Lines for stderr, as they are."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(visible(self.message), file=file, err=file is None)


class NumericalComplaint(Complaint):
    exit_code = NUMERICAL


def report_internal_error(bug: Exception, case: str = "") -> int:
    """With its traceback, if that was asked for; the exit code. A mistake in somebody's own file
    is none of ours."""
    if click.get_current_context().find_root().params["traceback"]:
        import traceback

        traceback.print_exception(bug)
    from deqcheck import plugins

    mistake = plugins.blamed(bug)
    if mistake is not None:
        say(f"deqcheck: {mistake}")
        return USAGE
    if isinstance(bug, MemoryError):
        say(f"deqcheck: {case or 'this'} needs more memory than there is")
        return NUMERICAL
    sentence = " ".join(f"{type(bug).__name__}: {bug}".split())
    where = f" in {case}" if case else ""
    say(f"deqcheck: internal error{where}: {sentence}; please report it")
    return BUG


class ErrorBoundary:
    """Runs case after case: what is wrong with one is told, and the others are not lost."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        try:
            yield
        except Complaint as complaint:
            complaint.show()
            self.codes.append(complaint.exit_code)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as bug:
            self.codes.append(report_internal_error(bug, name))


def silence_stdout() -> None:
    """After a broken pipe: what is still buffered has no reader and must not raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
