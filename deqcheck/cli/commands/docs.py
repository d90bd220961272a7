"""Documentation: verdicts, the case file, the theory, errata, error bars, extending."""

from __future__ import annotations

import difflib

import click

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.cli.errors import Complaint
from deqcheck.cli.output import look_of_stdout, to_stdout
from deqcheck.cli.work import sentences
from deqcheck.report.parts.console import columns, render_text


@click.command("docs")
@click.argument("topic", metavar="[TOPIC]", required=False)
def command(topic: str | None) -> None:
    """Print the documentation of TOPIC as Markdown; without TOPIC, list the topics."""
    known = docs.topics()
    if topic is None:
        to_stdout(render_text([columns(known.items(), indent=0)], look_of_stdout()))
        return
    if topic not in known:
        near = difflib.get_close_matches(topic, known, 1, cutoff=0.5)
        hint = f" (did you mean {near[0]!r}?)" if near else "; `deqcheck docs` lists them"
        raise Complaint(f"deqcheck: there is no topic {topic!r}{hint}")
    with sentences():
        text = docs.text(topic, embedded.cases)
    to_stdout(text)
