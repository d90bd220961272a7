"""Run a grid of cases, of any size, and keep, tabulate and draw what comes out."""

from __future__ import annotations

from pathlib import Path

import click

from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import INTERRUPTED, Complaint
from deqcheck.cli.options import (
    AskedFor,
    case_options,
    choice_options,
    jobs_option,
    quiet_option,
    timeout_option,
)
from deqcheck.cli.output import to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.sweeping import (
    Told,
    Varied,
    exit_code,
    script,
    shard_of,
    status_text,
    summary,
)
from deqcheck.cli.swept_files import Drawn, SweptFiles
from deqcheck.cli.work import open_store
from deqcheck.engines import DASK, PROCESSES, EngineError, engine
from deqcheck.explore.single import Results
from deqcheck.explore.sweep import Sweeping
from deqcheck.report.parts.mapped import SHOWN, WORST

STORE = Path(".deqcheck_cache")


@click.command("sweep")
@click.argument("case", metavar="CASE", shell_complete=completing.cases)
@click.option(
    "--grid",
    multiple=True,
    metavar="KEY=VALUES",
    help="Vary a field: 0.05:0.95:20 (from, to, points), log:1e-4:1e-1:10, or 1,2,4,8; "
    "repeatable, all combinations are taken.",
)
@click.option(
    "--zip",
    "zips",
    multiple=True,
    metavar="KEY=V,V,V",
    help="Fields that vary in step with each other; repeatable.",
)
@click.option(
    "--seeds",
    multiple=True,
    metavar="N",
    help="Seeds 0 to N-1, or those of a list; init=N, data=N or train=N vary only what is named.",
)
@click.option(
    "--expect", is_flag=True, help="Keep what the file expects beside --grid and --seeds."
)
@choice_options
@case_options
@jobs_option("Processes, each with one thread; every one runs many members.")
@timeout_option("member")
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=STORE,
    show_default=True,
    metavar="DIR",
    help="Where each finished member is kept: a repeated command does only what is missing.",
)
@click.option("--retry", type=click.Choice(["failed"]), help="Try those again that failed.")
@click.option("--status", is_flag=True, help="Run nothing: count what is done, failed, missing.")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on the Dask cluster at ADDRESS; `local` starts one of --jobs processes.",
)
@click.option("--shard", metavar="I/N", help="Only the I-th of N parts, into a shared --store.")
@click.option(
    "--sbatch", type=click.IntRange(min=1), metavar="N", help="Print a SLURM script of N shards."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A table: .csv, .json, .parquet or .nc.",
)
@click.option(
    "--map",
    "maps",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A map: .png, .svg, .pdf or .html; repeatable.",
)
@click.option("--x", metavar="KEY", help="Across the map. Default: the first key that varies.")
@click.option("--y", metavar="KEY", help="Up the map; without it, curves over --x.")
@click.option(
    "--color",
    "colors",
    multiple=True,
    metavar="WHAT",
    help="ID:rate_tightness, ID:slack, ID:outcome, loss, or the name of a quantity; repeatable for "
    "curves. Default: the outcome of the first statement.",
)
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    default=WORST,
    show_default=True,
    help="Of the members of one cell: the worst, their median, or the share confirmed.",
)
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    case: str,
    grid: tuple[str, ...],
    zips: tuple[str, ...],
    seeds: tuple[str, ...],
    expect: bool,
    choice: AskedFor,
    changes: Changes,
    jobs: int,
    timeout: float | None,
    folder: Path,
    retry: str | None,
    status: bool,
    dask: str | None,
    shard: str | None,
    sbatch: int | None,
    output: Path | None,
    maps: tuple[Path, ...],
    x: str | None,
    y: str | None,
    colors: tuple[str, ...],
    show: str,
    quiet: bool,
) -> None:
    """Run every member of the sweep in CASE, or of the one that --grid, --zip and --seeds make.

    Whatever happens to a member is its result, and the others go on; what is finished is kept.
    What is undecided, not checked or not applicable is no failure. Exit codes: 1 if a member is
    refuted or not as expected, 4 if one broke, else 0.
    """
    varied = Varied(grid, zips, seeds, expect)
    part = shard_of(shard)
    files = SweptFiles(output, maps, Drawn(x, y, colors, show))
    if shard and (output or maps):
        raise Complaint("a shard only fills the store: the same command without --shard writes")
    stream = varied.stream(case, changes, choice)
    files.check((case,), stream.keys)
    if sbatch is not None:
        words = [*varied.arguments(case, changes, choice), "--store", str(folder)]
        words += [] if timeout is None else ["--timeout", f"{timeout:g}"]
        to_stdout(script(sbatch, words))
        return
    store = open_store(folder)
    results = Results(store, lambda sentence: click.echo(sentence, err=True))
    doing = Sweeping(stream, results, retry is not None, part)
    if status:
        to_stdout(status_text(*doing.status()))
        return
    try:
        with ProgressLine(quiet) as line:
            doing.tell = Told(line, quiet)
            sweep = doing.run(engine(DASK if dask else PROCESSES, jobs, timeout, dask or ""))
    except EngineError as error:
        raise Complaint(f"deqcheck: {error}") from None
    except KeyboardInterrupt:
        click.echo(f"deqcheck: interrupted; what is finished is kept in {folder}", err=True)
        ctx.exit(INTERRUPTED)
    files.write(sweep)
    to_stdout(summary(sweep))
    ctx.exit(exit_code(sweep))
