"""Runs what documents show: ```console blocks with `$ ` prompts, in a folder of their own.

A fence with a file name, such as ```yaml case.yaml, writes that file first; where the file lies in
`deqcheck/`, the commands run on a copy of the package that has it. A line `...` stands for any
lines, at the end of a line for the rest of it. Timings are not compared, numbers to the precision
at which machines differ.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from deqcheck.cli.main import cli

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = set("|&;<>$`\"'*?(){}~#")
# Words in quotes in which the shell sees nothing.
QUOTED = re.compile(r'"[^"$`\\]*"')
EXIT_CODE = '; echo "exit code $?"'
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
TIMING = re.compile(r"\b\d+(\.\d+)?(e-?\d+)? s\b")
# Of four digits shown the last one may differ; of a rounding error only its size is the same.
CLOSE, ROUNDING, ERROR_FACTOR = 2e-3, 1e-8, 100.0


@dataclass(frozen=True)
class Step:
    """A file to write (`name` and `text`), or a command and what it prints."""

    text: str
    name: str = ""
    command: str = ""


def steps(document: str) -> Iterator[Step]:
    for language, name, body in FENCE.findall(document):
        if name:
            yield Step(body, name=name)
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield Step(output, command=command)


def perform(document: str, folder: Path) -> list[str]:
    """The differences that running the document shows; none is good."""
    todo = list(steps(document))
    root = ROOT
    if any(step.name.startswith("deqcheck/") for step in todo):
        root = folder
        for name in ("deqcheck", "cases"):
            shutil.copytree(ROOT / name, folder / name)
    wrong = []
    for step in todo:
        if step.name:
            path = folder / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        else:
            printed = _run(step.command, folder, root)
            if not alike(step.text, printed):
                wrong.append(f"$ {step.command}\n--- shown\n{step.text}--- printed\n{printed}")
    return wrong


def perform_one(step: Step, folder: Path) -> str:
    """What this command prints."""
    return _run(step.command, folder, ROOT)


def _run(command: str, folder: Path, root: Path) -> str:
    plain = command.removesuffix(EXIT_CODE)
    simple = command.startswith("deqcheck ") and not SHELL & set(QUOTED.sub("", plain))
    if not simple or root != ROOT:
        return _shell(command, folder, root)
    output, code = _here(plain, folder)
    return output if plain == command else f"{output}exit code {code}\n"


def _here(command: str, folder: Path) -> tuple[str, int]:
    """Within this process: no second import of numpy and scipy."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(cli, shlex.split(command)[1:], prog_name="deqcheck")
        return done.output, done.exit_code
    finally:
        os.chdir(before)


def _shell(command: str, folder: Path, root: Path) -> str:
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    for name, module in (("deqcheck", "-m deqcheck"), ("python3", ""), ("python", "")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(root)}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def alike(shown: str, printed: str) -> bool:
    return _match(_lines(shown), _lines(printed))


def _lines(text: str) -> list[list[str]]:
    """Words of each line: columns may shift by a digit. Blank lines at the end do not count."""
    return [TIMING.sub("SECONDS s", line).split() for line in text.rstrip().splitlines()]


def _match(shown: list[list[str]], printed: list[list[str]]) -> bool:
    for i, line in enumerate(shown):
        if line == ["..."]:
            rest = shown[i + 1 :]
            return not rest or any(_match(rest, printed[j:]) for j in range(i, len(printed) + 1))
        if i >= len(printed) or not _same_line(line, printed[i]):
            return False
    return len(shown) == len(printed)


def _same_line(shown: list[str], printed: list[str]) -> bool:
    if shown[-1:] == ["..."]:
        # The beginning of a line.
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    if len(shown) != len(printed):
        return False
    previous = ["", *shown]
    pairs = zip(previous, shown, printed, strict=False)
    return all(_same_word(a, b, before == "±") for before, a, b in pairs)


def _same_word(shown: str, printed: str, error_bar: bool) -> bool:
    if shown == printed:
        return True
    ours, theirs = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("0", shown) != NUMBER.sub("0", printed) or len(ours) != len(theirs):
        return False
    values = zip(NUMBER.finditer(shown), NUMBER.finditer(printed), strict=True)
    return all(_close(float(a[0]), float(b[0]), error_bar) for a, b in values)


def _close(a: float, b: float, error_bar: bool) -> bool:
    if error_bar or max(abs(a), abs(b)) < ROUNDING:
        return a * b > 0 and 1 / ERROR_FACTOR < a / b < ERROR_FACTOR
    return abs(a - b) <= CLOSE * max(abs(a), abs(b))
