"""Train the model of each case and judge the theorems on what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from deqcheck import judging
from deqcheck.case.embedded import QUICKSTART
from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.certifying import CertificateFile
from deqcheck.cli.errors import Complaint, ErrorBoundary, say
from deqcheck.cli.exit_code import exit_code, gravest
from deqcheck.cli.options import (
    AskedFor,
    case_options,
    choice_options,
    formulas_option,
    output_options,
    quiet_option,
    schema_option,
    table_option,
)
from deqcheck.cli.output import Destination, ending
from deqcheck.cli.output_files import OutputFiles, output_file_options
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import open_store, prepare, sentences
from deqcheck.engines import DASK, engine
from deqcheck.explore import entry as entering
from deqcheck.records import tower
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.report import renderer
from deqcheck.threads import cores


@click.command("run")
@click.argument("cases", metavar="[CASE]...", nargs=-1, shell_complete=completing.cases)
@choice_options
@case_options
@output_options()
@table_option
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
    "--effort",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    metavar="X",
    help="X times the usual budget for exact numbers, where a check says that it was used up.",
)
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what a stranger needs to check the verdicts (`deqcheck verify FILE`); certifies.",
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
    table: str | None,
    schema: int,
    output: Path | None,
    output_files: OutputFiles,
    quiet: bool,
    folder: Path | None,
    certify: bool,
    effort: float,
    certificate: Path | None,
    entry: bool,
    formulas: bool,
    dask: str | None,
) -> None:
    """Train the model of each CASE and judge the theorems on what happened.

    CASE is a YAML file, or the name of an embedded case such as kawaguchi2021/equality
    (`deqcheck cases` lists them). Without CASE, the embedded quick-start case is run.
    """
    if table is not None and form != "csv":
        raise Complaint(
            f"deqcheck: --table {table} is a table of --format csv; the format is {form}"
        )
    destination = Destination(output, quiet, cases)
    tasks = prepare(cases or (QUICKSTART,), changes)
    store = open_store(folder)
    output_files.check(tasks, output)
    asked = None if certificate is None else CertificateFile(certificate, output_files.force, tasks)
    with sentences():
        drawn = None if dask is None else engine(DASK, cores(), address=dask)
    reports: list[Report] = []
    boundary = ErrorBoundary()
    try:
        for i, task in enumerate(tasks, start=1):
            with boundary.case(task.case.full_name):
                with sentences(), tower.effort(effort), ProgressLine(quiet) as progress:
                    judged = entering.run if entry else judging.run
                    if asked is not None:
                        judged = asked.kept(judged)
                    report = judged(
                        task.problem,
                        choice.of(task.case.question),
                        progress=progress if progress.shown else None,
                        store=store,
                        certify=certify or asked is not None,
                        engine=drawn,
                    )
                reports.append(report)
                if quiet and report.warning:
                    say(f"deqcheck: {report.name}: {report.warning}")
                if (quiet or output) and report.status is not Status.COMPLETED:
                    say(f"deqcheck: {report.name}: {ending(report)}")
                if report.status is Status.INTERRUPTED:
                    for left in tasks[i:]:
                        say(f"deqcheck: {left.case.full_name}: not run")
                    break
    finally:
        # Whatever stops a later case, the finished ones are not lost.
        if reports:
            options = replace(
                destination.options, schema=schema, formulas=formulas, table=table or "checks"
            )
            destination.write(renderer(form)(reports, options))
            output_files.write(reports)
            if asked is not None:
                asked.write()
    ctx.exit(gravest([exit_code(report.ending for report in reports), *boundary.codes]))
