"""Where results go: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from deqcheck import atomic
from deqcheck.cli.errors import Complaint, silence_stdout
from deqcheck.records.report import Report
from deqcheck.report.parts.render_options import RenderOptions

NARROW, USUAL, WIDE = 60, 80, 100


def options_of_stdout(quiet: bool = False) -> RenderOptions:
    # Python has no stdout where it was closed.
    terminal = sys.stdout is not None and sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    columns = shutil.get_terminal_size((USUAL, 24)).columns if terminal else USUAL
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return RenderOptions(min(max(columns, NARROW), WIDE), color, encoding.startswith("utf"), quiet)


class Destination:
    """Checked when made, so that a long run does not end in an unwritable file."""

    def __init__(self, path: Path | None, quiet: bool = False, inputs: Iterable[str | Path] = ()):
        self.path = None if path is None else path.resolve()
        self.options = options_of_stdout(quiet) if path is None else RenderOptions(quiet=quiet)
        if self.path is not None and any(_is_case(self.path, Path(i).resolve()) for i in inputs):
            raise Complaint(f"cannot write {path}: it is a case of this run")
        if self.path is not None and not _special(self.path):
            _try_folder(self.path, path)

    def write(self, text: str) -> None:
        if self.path is None:
            to_stdout(text)
            return
        try:
            if _special(self.path):
                self.path.write_text(text, encoding="utf-8")
            else:
                atomic.replace(self.path, text)
        except OSError as error:
            to_stdout(text)
            raise Complaint(
                f"cannot write {self.path}: {error.strerror}; the result went to stdout instead"
            ) from None


def ending(report: Report) -> str:
    """How a run ended, in one line; the reason of one that never began."""
    sentence = report.status.value
    if report.trajectory is not None or not report.notes:
        return sentence
    return f"{sentence.removesuffix('.')} ({'; '.join(report.notes)})."


def save(path: Path, content: str | bytes | Iterable[str]) -> None:
    """A file that no terminal can show."""
    try:
        atomic.replace(path.resolve(), content)
    except OSError as error:
        raise Complaint(f"cannot write {path}: {error.strerror}") from None


class NewFile:
    """Beside the result: a file that is not there yet, unless it may be replaced."""

    def __init__(self, path: Path, force: bool):
        # Messages call the file what the user calls it.
        self.path, self.named, self.force = path.resolve(), path, force
        self._refuse_existing()
        if _special(self.path):
            raise Complaint(f"cannot write {path}: not a plain file")
        _try_folder(self.path, path)

    def write(self, content: str | bytes) -> None:
        self._refuse_existing()
        save(self.named, content)

    def _refuse_existing(self) -> None:
        if os.path.isfile(self.path) and not self.force:
            raise Complaint(f"{self.named} is there already; --force replaces it")


def _try_folder(path: Path, named: Path | None) -> None:
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise Complaint(f"cannot write {named}: {error.strerror}") from None


def to_stdout(text: str) -> None:
    """Quietly, if nobody reads on (`| head`): the exit code still tells the verdict."""
    if sys.stdout is None:
        raise Complaint("cannot write to stdout: it is closed")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False, color=True)
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise Complaint(f"cannot write to stdout: {error.strerror}") from None


def _is_case(path: Path, given: Path) -> bool:
    """Whether the path is an input, or a case below a folder of inputs."""
    below = given in path.parents and path.suffix in (".yaml", ".yml") and os.path.isfile(path)
    return path == given or below


def _special(path: Path) -> bool:
    """A device or a pipe is written to, never replaced."""
    # Not Path.exists: it raises where a folder may not be entered.
    return os.path.exists(path) and not os.path.isfile(path)
