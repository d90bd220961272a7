"""What a person sees: a real terminal of 80 columns."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys

import pytest

fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
QUICK = (
    *("run", "quickstart", "--only", "kawaguchi2021/cor1"),
    *("--set", "train.horizon=0.1", "--set", "record.points=20"),
)


def terminal(*words: str, **environment: str) -> str:
    """Everything that appears on the terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    plain = {n: v for n, v in os.environ.items() if n not in ("NO_COLOR", "COLUMNS", "LINES")}
    run = subprocess.Popen(
        [sys.executable, "-m", "deqcheck", *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=plain | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"} | environment,
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(master)
    assert run.wait() == 0
    return seen.decode().replace("\r\n", "\n")


def test_a_run_shows_its_progress_and_clears_it():
    # Long enough for a second line: stiff.
    seen = terminal(*QUICK, "--set", "model.gamma=0.85")
    progress, _, table = seen.rpartition("\r")
    number = r"[\d.e+-]+"
    line = rf"flow  k = \d+  t = {number}  \d+%  gap {number}  bound {number}  \d:\d\d:\d\d left"
    assert re.search(line, progress)
    assert progress.endswith(" ")
    assert "flow  k" not in table


def test_the_table_fits_and_is_coloured_unless_colours_are_unwanted():
    coloured = terminal(*QUICK).rpartition("\r")[2]
    plain = terminal(*QUICK, NO_COLOR="1").rpartition("\r")[2]
    assert ESCAPES.search(coloured)
    assert not ESCAPES.search(plain)
    seconds = re.compile(r"[\d.]+ s$", re.MULTILINE)
    assert seconds.sub("", ESCAPES.sub("", coloured)) == seconds.sub("", plain)
    assert max(map(len, plain.splitlines())) <= 80


def test_quiet_is_the_verdict_lines_alone():
    seen = terminal(*QUICK, "--quiet", NO_COLOR="1")
    assert seen == "CONFIRMED kawaguchi2021/cor1 (corrected) quickstart\n"


@pytest.mark.parametrize("words", [("cases",), ("docs",), ("bounds", "--init", "quickstart")])
def test_lists_fit_into_eighty_columns(deqcheck, words):
    assert max(map(len, deqcheck(*words).stdout.splitlines())) <= 80


def test_documentation_is_rendered_in_a_terminal():
    shown = ESCAPES.sub("", terminal("docs", "errors", "--no-pager", NO_COLOR="1"))
    assert "```" not in shown and "# How" not in shown
    assert "How error bars are made" in shown
    paged = terminal("docs", "errors", PAGER="head -n 3", NO_COLOR="1")
    assert "How error bars are made" in paged and len(paged.splitlines()) <= 4
