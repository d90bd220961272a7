"""Read and check cases without running anything."""

from __future__ import annotations

import click

from deqcheck import judging
from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import USAGE, Complaint
from deqcheck.cli.options import case_options
from deqcheck.cli.output import to_stdout
from deqcheck.cli.work import sentences, tasks_of


@click.command("validate")
@click.argument(
    "cases", metavar="CASE...", nargs=-1, required=True, shell_complete=completing.cases
)
@case_options
@click.pass_context
def command(ctx: click.Context, cases: tuple[str, ...], changes: Changes) -> None:
    """Read, check and build each CASE without running anything.

    CASE is a file or an embedded case, as for `deqcheck run`.
    """
    wrong = False
    for word in cases:
        try:
            found = tasks_of(word, changes)
            with sentences():
                for task in found:
                    judging.choose(task.case.question, task.problem)
        except Complaint as complaint:
            complaint.show()
            wrong = True
        else:
            for task in found:
                to_stdout(f"{task.case.full_name}: ok (digest {task.case.digest})\n")
    ctx.exit(USAGE if wrong else 0)
