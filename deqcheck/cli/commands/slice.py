"""Cut the loss along a random plane through the end point of training."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click
import numpy as np

from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint, NumericalComplaint
from deqcheck.cli.options import case_options, format_option, quiet_option
from deqcheck.cli.output import Destination, options_of_stdout, save, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import Task, sentences, task
from deqcheck.judging import UsageError, train
from deqcheck.models.monotone_deq.model import MonotoneDeq
from deqcheck.models.monotone_deq.slice import Slice, cut
from deqcheck.records.arithmetic import in_range
from deqcheck.report.json import dumps, finite
from deqcheck.report.parts import contour
from deqcheck.report.parts.console import columns, heading, render_text

PICTURES = (".png", ".svg", ".pdf")


@click.command("slice")
@click.argument("case", metavar="CASE", shell_complete=completing.cases)
@click.option(
    "--points",
    type=click.IntRange(3, 501),
    default=51,
    show_default=True,
    help="Grid points per direction; an odd number, so that the end point is one of them.",
)
@click.option(
    "--reach",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=1.0,
    show_default=True,
    help="Half-width of the plane.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the grids to FILE, an .npz file, whole or not at all.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw contours to FILE (.png, .svg or .pdf); needs matplotlib.",
)
@case_options
@format_option("table", "json")
@quiet_option
def command(
    case: str,
    points: int,
    reach: float,
    output: Path | None,
    picture: Path | None,
    changes: Changes,
    form: str,
    quiet: bool,
) -> None:
    """Evaluate the loss on a filter-normalised plane around the end point of training.

    For the equilibrium model and for its weight-tied unrollings with 6, 11 and 18 repeats. CASE is
    a file or an embedded case whose model is monotone-deq, as for `deqcheck run`.
    """
    if points % 2 == 0:
        raise Complaint(f"deqcheck: --points {points}: expected an odd number")
    _check(output, picture)
    with sentences(), in_range(), ProgressLine(quiet) as progress:
        found = _cut(task(case, changes), points, reach, progress)
    if output is not None:
        save(output, _npz(found))
    if picture is not None:
        form_of = picture.suffix[1:]
        save(picture, contour.contours(found.alpha, found.beta, found.losses, form_of))
    to_stdout(_json(found) if form == "json" else _table(found))


def _check(output: Path | None, picture: Path | None) -> None:
    """What would be a pity to learn only after the work."""
    for path in (output, picture):
        Destination(path)
    if output is not None and output.suffix != ".npz":
        raise Complaint(f"deqcheck: {output}: expected a name that ends in .npz")
    if picture is not None:
        if picture.suffix not in PICTURES:
            raise Complaint(f"deqcheck: {picture}: expected one of {', '.join(PICTURES)}")
        if not contour.available():
            raise Complaint("deqcheck: pictures need matplotlib: pip install deqcheck[plot]")


def _cut(given: Task, points: int, reach: float, progress: ProgressLine) -> Slice:
    problem = given.problem
    if problem.model.kind != MonotoneDeq.kind:
        raise UsageError(
            f"slice applies to {MonotoneDeq.kind}, the case's model is {problem.model.kind}"
        )
    if problem.train is None:
        raise UsageError("the case does not train: a slice needs an end point (add train)")
    run = train(problem, (), progress)
    if not run.complete:
        raise NumericalComplaint(f"deqcheck: no end point: {run.status.value}")
    return cut(problem.model, run.final, problem.seed, points, reach)


def _npz(found: Slice) -> bytes:
    buffer = io.BytesIO()
    grids: dict[str, Any] = {f"loss_{name}": grid for name, grid in found.losses.items()}
    np.savez(buffer, alpha=found.alpha, beta=found.beta, **grids)
    return buffer.getvalue()


def _summary(grid: np.ndarray) -> dict[str, float]:
    with np.errstate(all="ignore"):
        return {
            "smallest": float(np.min(grid)),
            "largest": float(np.max(grid)),
            "share_below_1": float(np.mean(grid < 1)),
        }


def _json(found: Slice) -> str:
    return dumps(
        {
            name: {key: finite(value) for key, value in _summary(grid).items()}
            for name, grid in found.losses.items()
        }
    )


def _table(found: Slice) -> str:
    titles = heading(("model", "smallest loss", "largest loss", "share below 1"))
    rows = [
        (name.replace("_", " "), *(f"{value:.4g}" for value in _summary(grid).values()))
        for name, grid in found.losses.items()
    ]
    return render_text([columns([titles, *rows], indent=0)], options_of_stdout())
