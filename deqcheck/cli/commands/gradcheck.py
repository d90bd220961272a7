"""Compare the fast gradient with its explicit Kronecker form and with finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import FAILED, say
from deqcheck.cli.options import case_options, format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.work import sentences, task
from deqcheck.gradcheck import Agreement, gradcheck
from deqcheck.records.arithmetic import in_range
from deqcheck.report.json import dumps, finite
from deqcheck.report.parts.console import columns, heading, render_text
from deqcheck.report.parts.render_options import RenderOptions


@click.command("gradcheck")
@click.argument("case", metavar="CASE", shell_complete=completing.cases)
@case_options
@format_option("table", "json")
@click.pass_context
def command(ctx: click.Context, case: str, changes: Changes, form: str) -> None:
    """Compare the fast gradient with its explicit Kronecker form and with central differences.

    CASE is a file or an embedded case, as for `deqcheck run`. Exit code 1 if they disagree.
    """
    with sentences(), in_range():
        problem = task(case, changes).problem
        agreements = gradcheck(problem)
        kinks = problem.start.kinks
    if kinks is not None and kinks.zeros:
        say(
            f"deqcheck: {kinks.zeros} pre-activations are exactly zero, so the loss has no "
            "derivative here: differences may disagree with any formula"
        )
    to_stdout(_json(agreements) if form == "json" else _table(agreements, options_of_stdout()))
    ctx.exit(0 if all(a.agrees for a in agreements) else FAILED)


def _json(agreements: Sequence[Agreement]) -> str:
    entries = []
    for a in agreements:
        numbers = {k: finite(v) if isinstance(v, float) else v for k, v in asdict(a).items()}
        entries.append(numbers | {"agrees": a.agrees})
    return dumps(entries)


def _table(agreements: Sequence[Agreement], options: RenderOptions) -> str:
    titles = heading(("parameter", "gradient", "explicit", "differences", ""))
    return render_text([columns([titles, *(_row(a) for a in agreements)], indent=0)], options)


def _row(a: Agreement) -> tuple[str, ...]:
    return (
        a.parameter,
        f"{a.norm:.4g}",
        f"{a.explicit:.1e} of {a.tolerance_explicit:.0e}",
        f"{a.differences:.1e} of {a.tolerance_differences:.0e}",
        "agrees" if a.agrees else "DISAGREES",
    )
