"""Where results go: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import click

from deqcheck.cli.errors import Complaint, hush_stdout
from deqcheck.report.parts.look import Look

NARROW, USUAL, WIDE = 60, 80, 100


def look_of_stdout(quiet: bool = False) -> Look:
    terminal = sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    columns = shutil.get_terminal_size((USUAL, 24)).columns if terminal else USUAL
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Look(min(max(columns, NARROW), WIDE), color, encoding.startswith("utf"), quiet)


class Destination:
    """Checked when made, so that a long run does not end in an unwritable file."""

    def __init__(self, path: Path | None, quiet: bool = False):
        self.path = None if path is None else path.resolve()
        self.look = look_of_stdout(quiet) if path is None else Look(quiet=quiet)
        if self.path is not None and not _special(self.path):
            try:
                tempfile.TemporaryFile(dir=self.path.parent).close()
            except OSError as error:
                raise Complaint(f"cannot write {path}: {error.strerror}") from None

    def write(self, text: str) -> None:
        if self.path is None:
            to_stdout(text)
            return
        try:
            if _special(self.path):
                self.path.write_text(text, encoding="utf-8")
            else:
                _replace(self.path, text.encode())
        except OSError as error:
            to_stdout(text)
            raise Complaint(
                f"cannot write {self.path}: {error.strerror}; the result went to stdout instead"
            ) from None


def save(path: Path, content: bytes) -> None:
    """A file that no terminal can show."""
    try:
        _replace(path.resolve(), content)
    except OSError as error:
        raise Complaint(f"cannot write {path}: {error.strerror}") from None


def to_stdout(text: str) -> None:
    """Quietly, if nobody reads on (`| head`): the exit code still tells the verdict."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        click.echo(text.encode(encoding, "replace").decode(encoding), nl=False, color=True)
        sys.stdout.flush()
    except BrokenPipeError:
        hush_stdout()
    except OSError as error:
        hush_stdout()
        raise Complaint(f"cannot write to stdout: {error.strerror}") from None


def _special(path: Path) -> bool:
    """A device or a pipe is written to, never replaced."""
    return path.exists() and not path.is_file()


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Of the file that is replaced, else what the umask gives to a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
