"""What is known before training: spectra, conditions with margins, rates, step sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from deqcheck import judging
from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import ErrorBoundary, say
from deqcheck.cli.exit_code import gravest, status_code
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
from deqcheck.cli.searching import searched
from deqcheck.cli.work import prepare, sentences
from deqcheck.records.arithmetic import in_range
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.report import renderer


@click.command("bounds")
@click.argument(
    "cases", metavar="CASE...", nargs=-1, required=True, shell_complete=completing.cases
)
@click.option("--init", "at_init", is_flag=True, help="At the initialisation, as always.")
@click.option(
    "--search",
    "searching",
    is_flag=True,
    help="Find the scales for which statements begin to apply, and print a ready case for each.",
)
@choice_options
@case_options
@output_options()
@schema_option
@quiet_option
@formulas_option
@click.pass_context
def command(
    ctx: click.Context,
    cases: tuple[str, ...],
    at_init: bool,
    searching: bool,
    choice: AskedFor,
    changes: Changes,
    form: str,
    schema: int,
    output: Path | None,
    quiet: bool,
    formulas: bool,
) -> None:
    """What is known of each CASE before training.

    The equilibrium, the spectra, every condition with its margin, admissible step sizes and
    guaranteed rates. CASE is a file or an embedded case, as for `deqcheck run`.
    """
    destination = Destination(output, quiet, cases)
    if searching:
        with sentences(), in_range():
            found = [searched(task, choice) for task in prepare(cases, changes)]
        destination.write("".join(found))
        return
    reports: list[Report] = []
    boundary = ErrorBoundary()
    for task in prepare(cases, changes):
        with boundary.case(task.case.full_name), sentences():
            report = judging.bounds(task.problem, choice.of(task.case.question))
            reports.append(report)
            if quiet and report.status is not Status.COMPLETED:
                say(f"deqcheck: {report.name}: {ending(report)}")
    if reports:
        options = replace(destination.options, schema=schema, formulas=formulas)
        destination.write(renderer(form)(reports, options))
    ctx.exit(gravest([status_code(report.ending for report in reports), *boundary.codes]))
