"""Train the model of each case and judge the theorems on what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from deqcheck import judging
from deqcheck.case.embedded import QUICKSTART
from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import ErrorBoundary
from deqcheck.cli.exit_code import exit_code, gravest
from deqcheck.cli.options import (
    AskedFor,
    case_options,
    choice_options,
    formulas_option,
    output_options,
    quiet_option,
    schema_option,
)
from deqcheck.cli.output import Destination, ending
from deqcheck.cli.output_files import OutputFiles, output_file_options
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.running import cores
from deqcheck.cli.work import open_store, prepare, sentences
from deqcheck.engines import DASK, engine
from deqcheck.explore import entry as entering
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.report import renderer


@click.command("run")
@click.argument("cases", metavar="[CASE]...", nargs=-1, shell_complete=completing.cases)
@choice_options
@case_options
@output_options()
@schema_option
@output_file_options
@quiet_option
@formulas_option
@click.option(
    "--certify",
    is_flag=True,
    help="Compute what doubles decide once more, in exact numbers (needs deqcheck[certify]).",
)
@click.option(
    "--entry/--no-entry",
    default=True,
    show_default=True,
    help="Look for the point of the run from which a theorem applies that does not at the start.",
)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the trials of statements about probabilities in DIR, and go on from those there.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Draw those trials on the Dask cluster at ADDRESS; `local` starts one here.",
)
@click.pass_context
def command(
    ctx: click.Context,
    cases: tuple[str, ...],
    choice: AskedFor,
    changes: Changes,
    form: str,
    schema: int,
    output: Path | None,
    output_files: OutputFiles,
    quiet: bool,
    folder: Path | None,
    certify: bool,
    entry: bool,
    formulas: bool,
    dask: str | None,
) -> None:
    """Train the model of each CASE and judge the theorems on what happened.

    CASE is a YAML file, or the name of an embedded case such as kawaguchi2021/equality
    (`deqcheck cases` lists them). Without CASE, the embedded quick-start case is run.
    """
    destination = Destination(output, quiet, cases)
    tasks = prepare(cases or (QUICKSTART,), changes)
    store = open_store(folder)
    output_files.check(tasks, output)
    with sentences():
        drawn = None if dask is None else engine(DASK, cores(), address=dask)
    reports: list[Report] = []
    boundary = ErrorBoundary()
    try:
        for i, task in enumerate(tasks, start=1):
            with boundary.case(task.case.full_name):
                with sentences(), ProgressLine(quiet) as progress:
                    judged = entering.run if entry else judging.run
                    report = judged(
                        task.problem,
                        choice.of(task.case.question),
                        progress=progress if progress.shown else None,
                        store=store,
                        certify=certify,
                        engine=drawn,
                    )
                reports.append(report)
                if quiet and report.warning:
                    click.echo(f"deqcheck: {report.name}: {report.warning}", err=True)
                if (quiet or output) and report.status is not Status.COMPLETED:
                    click.echo(f"deqcheck: {report.name}: {ending(report)}", err=True)
                if report.status is Status.INTERRUPTED:
                    for left in tasks[i:]:
                        click.echo(f"deqcheck: {left.case.full_name}: not run", err=True)
                    break
    finally:
        # Whatever stops a later case, the finished ones are not lost.
        if reports:
            options = replace(destination.options, schema=schema, formulas=formulas)
            destination.write(renderer(form)(reports, options))
            output_files.write(reports)
    ctx.exit(gravest([exit_code(report.ending for report in reports), *boundary.codes]))
