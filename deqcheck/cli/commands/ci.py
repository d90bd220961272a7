"""Run every case below some paths and compare with expectations and a baseline."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from deqcheck import atomic
from deqcheck.ci import baseline as base
from deqcheck.ci.discover import discover
from deqcheck.ci.formats import formats, renderer
from deqcheck.ci.gate import agreed, hold
from deqcheck.ci.parts.words import missing
from deqcheck.ci.records import Gate, GateError, NoCase
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.exit_code import exit_code, gravest
from deqcheck.cli.options import output_options
from deqcheck.cli.output import Destination
from deqcheck.cli.running import Plan, plan_options


@click.command("ci")
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, shell_complete=completing.cases
)
@click.option(
    "--baseline",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Compare outcomes, margins, slacks and rates with those in FILE.",
)
@click.option(
    "--update-baseline", "update", is_flag=True, help="Write what came out to the baseline."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Every YAML file below the paths must be a case, and every case must say `expect:`.",
)
@plan_options
@output_options(*formats())
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    file: Path | None,
    update: bool,
    strict: bool,
    plan: Plan,
    form: str,
    output: Path | None,
) -> None:
    """Run every case below each PATH and compare it with its `expect:` and with a baseline.

    A PATH is a case file, or a folder: every YAML file below it with a key `deqcheck` is a case.
    A crash, a time-out or a bad file is the result of its case and does not stop the others.
    Exit codes: those of `deqcheck run`, the gravest of all cases; a deviation from the baseline
    counts as 1, a time-out as 4. Interrupted (130), it reports the cases that were finished.
    """
    destination = Destination(output, inputs=paths)
    with plan.runner() as runner:
        old = _baseline(file, update)
        known = None if update else old
        try:
            discovery = discover(paths, every=strict)
        except NoCase as none:
            raise GateError(f"{none}: a gate that checks nothing fails") from None
        gate = hold(runner, discovery, exit_code, gravest, known, strict)
    gate = replace(gate, baseline=None if file is None else file.as_posix())
    destination.write(renderer(form)(gate, destination.options))
    if output is not None:
        _tell_failures(gate)
    if gate.partial:
        say("deqcheck: interrupted")
    if update and file is not None and old is not None:
        _write(file, gate, old)
    ctx.exit(gate.exit_code)


def _tell_failures(gate: Gate) -> None:
    """What went wrong, where the report is not on the screen."""
    for row in gate.rows:
        if not row.ok:
            say(f"{row.result.id}: {row.word}: {'; '.join(row.troubles)}")
            say(f"    replay: {row.result.replay}")
    for name in gate.missing:
        say(missing(name))


def _baseline(file: Path | None, update: bool) -> base.Baseline | None:
    """The baseline to compare with, or to write anew; checked before any work starts."""
    if file is None:
        if update:
            raise GateError("deqcheck: --update-baseline needs --baseline FILE")
        return None
    if not update:
        return base.read(file)
    try:
        tempfile.TemporaryFile(dir=file.absolute().parent).close()
    except OSError as error:
        raise GateError(f"cannot write {file}: {error.strerror}") from None
    try:
        return base.read(file)
    except GateError:
        return base.Baseline()


def _write(file: Path, gate: Gate, old: base.Baseline) -> None:
    if gate.partial:
        say(f"baseline {file} was not written: the run is partial")
        return
    new = agreed(gate, old)
    try:
        atomic.replace(Path(os.path.realpath(file)), base.text(new))
    except OSError as error:
        raise Complaint(f"cannot write {file}: {error.strerror}; it is as it was") from None
    say(f"baseline {file} was written; cases in it: {len(new.cases)}")
