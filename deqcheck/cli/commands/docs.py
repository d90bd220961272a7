"""Documentation: verdicts, the case file, the theory, errata, error bars, extending."""

from __future__ import annotations

import click

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.work import sentences
from deqcheck.fields import did_you_mean
from deqcheck.report.parts.console import columns, render_text


@click.command("docs")
@click.argument("topic", metavar="[TOPIC]", required=False, shell_complete=completing.topics)
def command(topic: str | None) -> None:
    """Print the documentation of TOPIC as Markdown; without TOPIC, list the topics."""
    known = docs.topics()
    if topic is None:
        to_stdout(render_text([columns(known.items(), indent=0)], options_of_stdout()))
        return
    if topic not in known:
        hint = did_you_mean(topic, known, "; `deqcheck docs` lists them")
        raise Complaint(f"deqcheck: there is no topic {topic!r}{hint}")
    with sentences():
        text = docs.text(topic, embedded.cases)
    to_stdout(text)
