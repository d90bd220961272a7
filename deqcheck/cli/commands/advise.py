"""How near each convergence theorem is, and what would make it apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint
from deqcheck.cli.options import (
    AskedFor,
    case_options,
    choice_options,
    output_options,
    quiet_option,
)
from deqcheck.cli.output import Destination, save
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import sentences, task
from deqcheck.explore.advice import advise
from deqcheck.records.advice import Advice
from deqcheck.records.words import FLOW
from deqcheck.report.parts.advised import as_json, as_text
from deqcheck.report.parts.sentences import Clock


@click.command("advise")
@click.argument("case", metavar="CASE", shell_complete=completing.cases)
@choice_options
@case_options
@output_options("table", "json")
@click.option(
    "--cases",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a ready case for each remedy into DIR.",
)
@click.option(
    "--entry/--no-entry",
    default=True,
    show_default=True,
    help="Train, to see whether a theorem applies from some later point on.",
)
@quiet_option
def command(
    case: str,
    choice: AskedFor,
    changes: Changes,
    form: str,
    output: Path | None,
    folder: Path | None,
    entry: bool,
    quiet: bool,
) -> None:
    """Rank the convergence theorems for CASE by how near they are to applying.

    For each: the hypothesis that binds, what no scale can mend, and what would make the theorem
    apply (labels, other arrays, step size, fields of the model, width, samples, training longer),
    each as a number found by search and judged.
    """
    destination = Destination(output, quiet, (case,))
    found = task(case, changes)
    with sentences(), ProgressLine(quiet) as progress:
        asked = choice.of(replace(found.case.question, statements=None))
        said = advise(found.case, asked, train=entry, progress=progress if progress.shown else None)
    if folder is not None:
        _write(said, folder)
    clock = Clock(found.problem.dynamics == FLOW)
    text = (
        as_json(said)
        if form == "json"
        else as_text(said, clock, destination.options, found.case.replay)
    )
    destination.write(text)


def _write(advice: Sequence[Advice], folder: Path) -> None:
    """`ID-EDITION-NUMBER.yaml`, a file for each remedy."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Complaint(f"cannot write cases into {folder}: {error.strerror}") from None
    for each in advice:
        for i, remedy in enumerate(each.remedies, start=1):
            name = f"{each.id.replace('/', '-')}-{each.edition}-{i}.yaml"
            save(folder / name, f"# {each.id} ({each.edition}), {remedy.name}\n{remedy.case}")
