"""List the embedded cases."""

from __future__ import annotations

import click

from deqcheck.case import embedded
from deqcheck.cli.options import format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import columns, render_text


@click.command("cases")
@format_option("table", "json")
def command(form: str) -> None:
    """List the cases that come with deqcheck; `deqcheck run NAME` runs one."""
    titles = embedded.titles()
    if form == "json":
        to_stdout(dumps([{"name": name, "title": title} for name, title in titles.items()]))
        return
    to_stdout(render_text([columns(titles.items(), indent=0)], options_of_stdout()))
