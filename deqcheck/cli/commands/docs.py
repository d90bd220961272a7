"""Documentation: verdicts, the case file, the theory, errata, error bars, extending."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.markdown import Markdown
from rich.text import Text

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.options import jobs_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.work import sentences
from deqcheck.fields import did_you_mean
from deqcheck.report.parts.console import columns, render_text

SEARCH = "search"


@click.command("docs")
@click.argument(
    "words", metavar="[TOPIC | search WORD...]", nargs=-1, shell_complete=completing.topics
)
@click.option(
    "--site",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write it to DIR as a static site: a page for each statement, erratum, case and paper. "
    "Runs all cases and makes all figures, which takes some minutes.",
)
@click.option("--force", is_flag=True, help="Write the site into a folder that is not empty.")
@click.option(
    "--quick",
    is_flag=True,
    help="A site without figures, with the outcomes that come along; every page says so.",
)
@jobs_option("Number of cases that the site runs at a time.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the site keeps what is done, and goes on from. Default: .deqcheck.",
)
@click.option("--no-pager", is_flag=True, help="Print a topic at once, however long.")
def command(
    words: tuple[str, ...],
    site: Path | None,
    force: bool,
    quick: bool,
    jobs: int,
    store: Path | None,
    no_pager: bool,
) -> None:
    """Show the documentation of TOPIC; without TOPIC, list the topics. `docs search WORD...` finds
    the lines that have all the words. In a terminal a topic is rendered and paged; a pipe gets it
    as Markdown."""
    if site is not None:
        if words:
            raise Complaint("deqcheck: a site has all topics; leave out the words")
        _write_site(site, force, quick, jobs, store)
    elif force or quick or store:
        raise Complaint("deqcheck: --force, --quick and --store go with --site DIR")
    elif not words:
        known = docs.topics()
        to_stdout(render_text([columns(known.items(), indent=0)], options_of_stdout()))
    elif words[0] == SEARCH and words[0] not in docs.topics():
        _search(words[1:])
    elif len(words) > 1:
        raise Complaint(f"deqcheck: one topic at a time; `deqcheck docs search {' '.join(words)}`?")
    else:
        _show(_text(words[0]), no_pager)


def _text(topic: str) -> str:
    known = docs.topics()
    if topic not in known:
        hint = did_you_mean(topic, known, "; `deqcheck docs` lists them")
        raise Complaint(f"deqcheck: there is no topic {topic!r}{hint}")
    with sentences():
        return docs.text(topic, embedded.cases)


def _show(text: str, no_pager: bool) -> None:
    if sys.stdout is None or not sys.stdout.isatty():
        to_stdout(text)
        return
    options = options_of_stdout()
    rendered = render_text([Markdown(text, code_theme="ansi_dark", hyperlinks=False)], options)
    if no_pager:
        to_stdout(rendered)
        return
    # Colours pass, and what fits on the screen stays on it.
    os.environ.setdefault("LESS", "-RFX")
    click.echo_via_pager(rendered, color=options.color)


def _search(words: Sequence[str]) -> None:
    if not words:
        raise Complaint("deqcheck: nothing to search for; expected `deqcheck docs search WORD...`")
    with sentences():
        cases = embedded.cases()
        found = [
            hit
            for topic in docs.topics()
            for hit in _hits(topic, docs.text(topic, lambda: cases), words)
        ]
    if not found:
        say(f"deqcheck: no topic has a line with {' and '.join(words)}")
        return
    to_stdout(render_text((Text(f"{topic}: {line}") for topic, line in found), options_of_stdout()))


def _hits(topic: str, text: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A topic that is named so, and lines that have all the words, of a paragraph taken as one."""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines() if paragraph.startswith(("|", "-", "```")) else [paragraph]
        for line in lines:
            if all(word.lower() in line.lower() for word in words):
                yield topic, " ".join(line.split())


def _write_site(folder: Path, force: bool, quick: bool, jobs: int, store: Path | None) -> None:
    from deqcheck import site
    from deqcheck.cli.siting import Build, write

    if not site.is_free(folder) and not force:
        raise Complaint(f"deqcheck: {folder} is not empty; --force writes into it all the same")
    with sentences():
        write(folder, site.from_baseline if quick else Build(jobs, store))
