"""Search for counterexamples to a statement."""

from __future__ import annotations

from pathlib import Path

import click

from deqcheck.cli.errors import Complaint
from deqcheck.cli.falsifying import page
from deqcheck.cli.nightly import nightly
from deqcheck.cli.options import format_option
from deqcheck.cli.output import Destination, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.explore.falsify import Asking, Limits
from deqcheck.explore.falsify.kept import Kept
from deqcheck.explore.falsify.search import Found
from deqcheck.judging.errors import UsageError
from deqcheck.records.words import EDITIONS
from deqcheck.report.json import dumps

MOST_SIZE = 12
MINUTE = 60.0


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
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that share the search; with --all, the statements.",
)
@click.option(
    "--sizes",
    metavar="LOW:HIGH",
    help="How many samples, units, inputs: 1:3. Default: from 1, growing to 4.",
)
@click.option(
    "--also",
    metavar="FORMULA",
    default="",
    help="A further hypothesis, in the names of the statement's formulas: 'norm2_W < 0.5'.",
)
@click.option("--degenerate", is_flag=True, help="Admit starts on a kink and hidden ranks.")
@click.option("--feasible", is_flag=True, help="Ask only whether all hypotheses can hold at once.")
@click.option(
    "--keep-per-claim", is_flag=True, help="A counterexample for each claim that is violated."
)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what is done in DIR, and go on from there.",
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
    jobs: int,
    sizes: str | None,
    also: str,
    feasible: bool,
    degenerate: bool,
    keep_per_claim: bool,
    folder: Path | None,
    output: Path | None,
    form: str,
) -> None:
    """Search for an instance on which the hypotheses of ID hold and a conclusion fails.

    Exit codes: 1 if one was found, 0 if not, 3 if none was found and fewer than 50 instances met
    the hypotheses. With --feasible: 0 if all hypotheses hold on some instance, else 3. With --all:
    0 if no corrected edition falls and every false printed one does, else 1.
    """
    if every == (id_ is not None):
        raise Complaint("deqcheck: name one statement, or take --all")
    limits = Limits(evaluations, MINUTE if seconds is None and evaluations is None else seconds)
    try:
        asking = Asking(limits, seed, _sizes(sizes), also, feasible, degenerate, keep_per_claim)
        kept = Kept(folder)
        if every:
            if edition or also or feasible or output:
                raise UsageError(
                    "--all goes with neither --edition, --also, --feasible nor --output"
                )
            ctx.exit(nightly(asking, kept, jobs, form))
        destination = None if output is None else Destination(output)
        with ProgressLine() as line:
            found = kept.falsify(
                id_ or "", edition, asking, jobs, lambda so_far: line.say(_so_far(so_far))
            )
    except UsageError as error:
        raise Complaint(f"deqcheck: {error}") from None
    to_stdout(dumps(found.to_dict()) if form == "json" else page(found))
    if destination is not None and found.simplest is not None:
        destination.write(found.simplest.text)
    ctx.exit(found.code)


def _sizes(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    if not (low.isdigit() and high.isdigit() and 1 <= int(low) <= int(high) <= MOST_SIZE):
        raise UsageError(f"--sizes {text}: expected LOW:HIGH, such as 1:3, up to {MOST_SIZE}")
    return int(low), int(high)


def _so_far(found: Found) -> str:
    return f"{found.evaluations} instances, {found.feasible} met the hypotheses"
