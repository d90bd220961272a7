"""What `deqcheck sweep` is made of: what varies, where it is done, what is told meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TextIO

import click
from rich.text import Text

from deqcheck import judging, plugins
from deqcheck.case.source import Changes
from deqcheck.case.streamed import Stream, read_stream, typed_sweep
from deqcheck.cli.errors import FAILED, NUMERICAL, OK, Complaint
from deqcheck.cli.exit_code import gravest
from deqcheck.cli.options import AskedFor
from deqcheck.cli.output import options_of_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import sentences
from deqcheck.explore.sweep import Tally
from deqcheck.fields import Refusal
from deqcheck.records.sweep import Sweep
from deqcheck.records.words import BOTH
from deqcheck.report.parts.console import columns, heading, render_text

# Seconds between two lines where nobody watches.
PAUSE = 30.0


@dataclass(frozen=True)
class Varied:
    """`--grid`, `--zip`, `--seeds` and `--expect` as they were typed."""

    grid: tuple[str, ...] = ()
    zips: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    expect: bool = False

    def stream(self, case: str, changes: Changes, choice: AskedFor) -> Stream:
        """Checked as far as can be told before anything is run."""
        try:
            typed = typed_sweep(self.grid, self.zips, self.seeds)
        except Refusal as refusal:
            told = (f"{key.replace('.', ' ', 1)}: {said}" for key, said in refusal.problems)
            raise Complaint("\n".join(told)) from None
        with sentences():
            stream = read_stream(case, _with_choice(changes, choice), typed, self.expect)
            built = stream.built()
            if built is not None:
                judging.choose(built[0].question, built[1])
        return stream

    def arguments(self, case: str, changes: Changes, choice: AskedFor) -> list[str]:
        """The words that say the same again."""
        words = [case]
        options = (("--grid", self.grid), ("--zip", self.zips), ("--seeds", self.seeds))
        for option, values in (*options, ("--only", choice.only)):
            words += [word for value in values for word in (option, value)]
        words += ["--expect"] if self.expect else []
        words += ["--edition", _edition(choice)] if choice.editions else []
        return [*words, *changes.arguments(), *plugins.options()]


def _edition(choice: AskedFor) -> str:
    editions = choice.editions or ()
    return editions[0] if len(editions) == 1 else BOTH


def _with_choice(changes: Changes, choice: AskedFor) -> Changes:
    """`--only` and `--edition` as settings: they are part of what a member is."""
    settings = list(changes.settings)
    if choice.only:
        settings.append(f"theorems={json.dumps(list(choice.only))}")
    if choice.editions:
        settings.append(f"edition={_edition(choice)}")
    return changes._replace(settings=tuple(settings))


def shard_of(text: str | None) -> tuple[int, int]:
    """`I/N`, from 1 on."""
    if text is None:
        return 1, 1
    mine, _, parts = text.partition("/")
    if not (mine.isdigit() and parts.isdigit() and 1 <= int(mine) <= int(parts)):
        raise Complaint(f"--shard {text}: expected I/N with I from 1 to N, such as 3/8")
    return int(mine), int(parts)


class Told:
    """How far a sweep is: a live line on a terminal, else a line now and then."""

    def __init__(
        self,
        line: ProgressLine,
        quiet: bool,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._line, self._quiet, self._clock = line, quiet, clock
        self._stream = stream or sys.stderr
        self._last = clock()

    def __call__(self, tally: Tally) -> None:
        if self._line.shown:
            if self._clock() - self._last >= 0.1 or tally.done == tally.total:
                self._last = self._clock()
                self._line.say(progress_text(tally))
        elif not self._quiet and self._clock() - self._last >= PAUSE:
            self._last = self._clock()
            click.echo(progress_text(tally), file=self._stream)


def progress_text(tally: Tally) -> str:
    parts = [f"{tally.done} of {tally.total} members", _counted(tally.counts)]
    if tally.left is not None and tally.done < tally.total:
        parts.append(f"{timedelta(seconds=round(tally.left))} left")
    return "  ".join(filter(None, parts))


def _counted(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ordered)


def status_text(tally: Tally, failed: int) -> str:
    missing = tally.total - tally.done
    told = (
        f"{tally.total} members: {tally.done - failed} done, {failed} failed, {missing} missing\n"
    )
    return told + (f"{_counted(tally.counts)}\n" if tally.counts else "")


def summary(sweep: Sweep) -> str:
    """How many members, by statement and outcome; then what broke."""
    counts: dict[tuple[str, str], int] = {}
    broken: dict[str, tuple[int, str]] = {}
    for member in sweep:
        for statement in member.statements:
            name = f"{statement['id']} ({statement['edition']})"
            counts[name, statement["outcome"]] = counts.get((name, statement["outcome"]), 0) + 1
        if member.broken:
            first = broken.get(member.status, (0, member.replay))
            broken[member.status] = (first[0] + 1, first[1])
    rows = [(Text(name), Text(str(n)), Text(word)) for (name, word), n in sorted(counts.items())]
    parts = [Text(f"{len(sweep)} members")]
    table = columns([heading(("statement", "members", "outcome")), *rows])
    told = render_text([*parts, *([table] if rows else [])], options_of_stdout())
    # A command stays in one line.
    return told + "".join(f"{n} {word}; first: {again}\n" for word, (n, again) in broken.items())


def exit_code(sweep: Sweep) -> int:
    """1 if something is refuted or not as expected, 4 if a member broke."""
    codes = {NUMERICAL if member.broken else OK for member in sweep}
    codes |= {FAILED if member.failed else OK for member in sweep}
    return gravest(codes)


def script(parts: int, words: Sequence[str]) -> str:
    """A job array for SLURM; each of its jobs does one part, all of them into one store."""
    command = shlex.join(["deqcheck", "sweep", *words])
    return f"""#!/bin/sh
#SBATCH --job-name=deqcheck-sweep
#SBATCH --array=1-{parts}
#SBATCH --cpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --output=deqcheck-sweep-%a.log
# Once all parts are done, the same command without --shard reads them from the store.
cd {shlex.quote(os.getcwd())} || exit 1
{command} --jobs "${{SLURM_CPUS_PER_TASK:-1}}" --shard "$SLURM_ARRAY_TASK_ID/{parts}"
"""
