"""Search for counterexamples to a statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import yaml
from rich.console import RenderableType
from rich.text import Text

from deqcheck import atomic
from deqcheck.cli.errors import Complaint
from deqcheck.cli.nightly import nightly
from deqcheck.cli.options import format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.explore.falsify import Counterexample, Falsified, Limits, falsify
from deqcheck.explore.falsify.search import Found
from deqcheck.judging.errors import UsageError
from deqcheck.records.words import EDITIONS
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import indented, render_text
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.sentences import Clock, numbered, tell

FOUND, NOTHING_SEARCHED = 1, 3
MOST_SIZE = 12


@click.command("falsify")
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--all", "every", is_flag=True, help="Every statement, printed and corrected.")
@click.option(
    "--edition",
    type=click.Choice(EDITIONS),
    help="Default: corrected, or the only one that it has.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop after so long. Default: 60, or no limit with --evaluations.",
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=1),
    help="Stop after so many instances: with --seed the same search everywhere.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--sizes",
    metavar="LOW:HIGH",
    help="How many samples, units, inputs: 1:3. Default: from 1, growing to 4.",
)
@click.option("--also", metavar="FORMULA", default="", help="A further hypothesis.")
@click.option("--degenerate", is_flag=True, help="Admit starts on a kink and hidden ranks.")
@click.option("--feasible", is_flag=True, help="Ask only whether all hypotheses can hold at once.")
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --all: keep what is done in DIR, and go on from there.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.yaml",
    help="Write the simplest counterexample as a case.",
)
@format_option("table", "json")
@click.pass_context
def command(
    ctx: click.Context,
    id_: str | None,
    every: bool,
    edition: str | None,
    seconds: float | None,
    evaluations: int | None,
    seed: int,
    sizes: str | None,
    also: str,
    feasible: bool,
    degenerate: bool,
    folder: Path | None,
    output: Path | None,
    form: str,
) -> None:
    """Search for an instance on which the hypotheses of ID hold and a conclusion fails.

    Exit code 1 if one was found, 0 if not, 3 if too few instances met the hypotheses to speak of a
    search.
    """
    if every == (id_ is not None):
        raise Complaint("deqcheck: name one statement, or take --all")
    limits = Limits(evaluations, 60.0 if seconds is None and evaluations is None else seconds)
    try:
        if every:
            ctx.exit(nightly(limits, seed, folder, form))
        with ProgressLine() as line:
            found = falsify(
                id_ or "",
                edition=edition,
                limits=limits,
                seed=seed,
                sizes=_sizes(sizes),
                also=also,
                feasible=feasible,
                degenerate=degenerate,
                progress=lambda so_far: line.say(_so_far(so_far)),
            )
    except UsageError as error:
        raise Complaint(f"deqcheck: {error}") from None
    to_stdout(dumps(found.to_dict()) if form == "json" else _page(found, feasible))
    if output is not None and found.simplest is not None:
        atomic.replace(output.resolve(), written(found.simplest))
    ctx.exit(_code(found, feasible))


def _sizes(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    if not (low.isdigit() and high.isdigit() and 1 <= int(low) <= int(high) <= MOST_SIZE):
        raise UsageError(f"--sizes {text}: expected LOW:HIGH, such as 1:3, up to {MOST_SIZE}")
    return int(low), int(high)


def _code(found: Falsified, feasible: bool) -> int:
    if feasible:
        return 0 if found.met is not None else NOTHING_SEARCHED
    if found.found:
        return FOUND
    return 0 if found.searched else NOTHING_SEARCHED


def _so_far(found: Found) -> str:
    return f"{found.evaluations} instances, {found.feasible} met the hypotheses"


def written(found: Counterexample) -> str:
    """A case file."""
    text: str = yaml.safe_dump(
        dict(found.case), sort_keys=False, default_flow_style=None, width=100
    )
    return text


def _page(found: Falsified, feasible: bool) -> str:
    return render_text(_lines(found, feasible), options_of_stdout())


def _lines(found: Falsified, feasible: bool) -> Iterator[RenderableType]:
    tried = f"{found.evaluations} instances tried, {found.feasible} met the hypotheses"
    name = f"{found.id} ({found.edition})"
    if feasible:
        yield from _feasibility(found, name)
    elif found.simplest is not None and found.worst is not None:
        yield Text.assemble(("COUNTEREXAMPLE", "bold red"), f" {name}: {tried}")
        yield from _violation("the simplest", found.simplest)
        if found.worst.case != found.simplest.case:
            yield from _violation("the worst", found.worst)
        for edition, outcome in found.simplest.others.items():
            yield indented(f"the {edition} edition is {outcome} on the simplest one")
        yield Text("")
        yield Text(written(found.simplest).rstrip(), no_wrap=True, overflow="ignore")
    else:
        word = "NOT REFUTED" if found.searched else "NOTHING SEARCHED"
        yield Text.assemble((word, "yellow"), f" {name}: {tried}")
        yield from _tightest(found)
        if not found.searched and found.conflicting:
            yield indented(f"nearest to meeting them, what fails: {', '.join(found.conflicting)}")


def _feasibility(found: Falsified, name: str) -> Iterator[RenderableType]:
    if found.met is not None:
        yield Text(f"FEASIBLE {name}: every hypothesis holds on this instance")
        text = yaml.safe_dump(dict(found.met), sort_keys=False, default_flow_style=None, width=100)
        yield Text(text.rstrip(), no_wrap=True, overflow="ignore")
        return
    yield Text(f"NOT FEASIBLE in {found.evaluations} instances: {name}")
    if found.short is not None and found.conflicting:
        rows = ", ".join(found.conflicting)
        yield indented(f"at best they miss by {number(found.short, 3)}; these conflict: {rows}")


def _violation(which: str, found: Counterexample) -> Iterator[RenderableType]:
    told = tell(found.claim, Clock(found.verdict.flow), options_of_stdout())
    yield indented(f"{which} ({found.entries} numbers): {numbered(found.claim)} {told}")


def _tightest(found: Falsified) -> Iterator[RenderableType]:
    for tight in found.tightest:
        yield indented(f"tightest {tight.claim}: slack {number(tight.slack, 3)} of its sides")
