"""List the embedded cases, or show one."""

from __future__ import annotations

import click

from deqcheck.case import embedded
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint
from deqcheck.cli.options import format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.fields import did_you_mean
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import columns, render_text


@click.group("cases", invoke_without_command=True)
@format_option("table", "json")
@click.pass_context
def command(ctx: click.Context, form: str) -> None:
    """List the cases that come with deqcheck; `deqcheck run NAME` runs one, `deqcheck cases show
    NAME` shows its file."""
    if ctx.invoked_subcommand is not None:
        return
    titles = embedded.titles()
    if form == "json":
        to_stdout(dumps([{"name": name, "title": title} for name, title in titles.items()]))
        return
    to_stdout(render_text([columns(titles.items(), indent=0)], options_of_stdout()))


@command.command("show")
@click.argument("name", shell_complete=completing.named)
def show(name: str) -> None:
    """The YAML file of the embedded case NAME, with its comments."""
    found = embedded.find(name)
    if found is None:
        hint = did_you_mean(name, embedded.names(), "; `deqcheck cases` lists them")
        raise Complaint(f"deqcheck: there is no embedded case {name!r}{hint}")
    to_stdout(found.read_text(encoding="utf-8"))
