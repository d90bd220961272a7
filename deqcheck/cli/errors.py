"""What ends a command early, and the exit codes."""

from __future__ import annotations

import os
import sys
from typing import IO, Any

import click

OK, FAILED, USAGE, NOTHING_DECIDED, NUMERICAL, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


class Complaint(click.ClickException):
    """Lines for stderr, as they are."""

    exit_code = USAGE

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=file is None)


class NumericalComplaint(Complaint):
    exit_code = NUMERICAL


def hush_stdout() -> None:
    """After a broken pipe: what is still buffered has no reader and must not raise at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
