"""Check a certificate: everything in it is computed again."""

from __future__ import annotations

import json
from pathlib import Path

import click

from deqcheck.cli.errors import Complaint
from deqcheck.cli.options import output_options, quiet_option
from deqcheck.cli.output import Destination, to_stdout


@click.command("verify")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--source", is_flag=True, help="Print the verifier: one file, to be read and copied.")
@click.option(
    "--alone",
    is_flag=True,
    help="Only what the verifier does by itself: formulas and definitions are taken as written.",
)
@output_options("table", "json")
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    file: Path | None,
    source: bool,
    alone: bool,
    form: str,
    output: Path | None,
    quiet: bool,
) -> None:
    """Check a certificate that `deqcheck run CASE --certificate FILE` wrote.

    Each claim is computed again from the arrays of the instance, in rational intervals, and its
    formula and definitions are compared with the catalogue. Exit codes: 0 every claim is re-checked
    or listed as not re-checked; 1 the file was changed or a claim does not follow; 2 not a
    certificate; 3 nothing could be re-checked.
    """
    from deqcheck.certificates import check

    if source:
        to_stdout(check.source())
        return
    if file is None:
        raise Complaint("verify needs the FILE of a certificate, or --source")
    destination = Destination(output, quiet)
    try:
        found = check.verify(file, alone)
    except check.NoCertificate as refused:
        raise Complaint(f"{file}: {refused}") from None
    if form == "json":
        text = json.dumps(found.to_dict(), indent=2, sort_keys=True, allow_nan=False) + "\n"
    else:
        text = check.table(found, quiet)
    destination.write(text)
    ctx.exit(found.exit_code)
