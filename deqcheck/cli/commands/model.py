"""A check-up of a trained equilibrium network: five questions, answered by theorems."""

from __future__ import annotations

from pathlib import Path

import click

from deqcheck.cli.errors import FAILED, NOTHING_DECIDED, OK
from deqcheck.cli.options import output_options, quiet_option
from deqcheck.cli.output import Destination
from deqcheck.cli.work import sentences
from deqcheck.explore.checkup import Asked, checkup
from deqcheck.models.equilibrium.parametrised import WAYS
from deqcheck.records.checkup import Checkup, Posed
from deqcheck.report.parts.checked import as_json, as_text
from deqcheck.report.parts.checked_page import as_page
from deqcheck.report.parts.render_options import RenderOptions

CODES = {Posed.YES: OK, Posed.NO: FAILED, Posed.OPEN: NOTHING_DECIDED}


@click.command("model")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--map",
    "names",
    metavar="LAYOUT|NAME=TENSOR",
    multiple=True,
    help="A layout (mondeq-quant, monotone_op_net, nemon, implicitdl, torch-linear), or what the "
    "file calls W (or A, B, d), U, C, b, c0, D: W=cell.weight; repeatable.",
)
@click.option("--m", type=float, help="Of monotone and nemon weights, where the file has none.")
@click.option("--activation", default="relu", show_default=True, metavar="NAME")
@click.option("--slope", type=float, help="Of leaky-relu on the negative side; default 0.01.")
@click.option("--weights", type=click.Choice(WAYS), help="How W is made; default: the layout's.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="X.npz",
    help="Inputs X, and if you like targets Y or classes y, and points z from your own solver.",
)
@output_options("table", "json", "html")
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    names: tuple[str, ...],
    m: float | None,
    activation: str,
    slope: float | None,
    weights: str | None,
    data: Path | None,
    form: str,
    output: Path | None,
    quiet: bool,
) -> None:
    """Check the trained equilibrium network in FILE, z = s(W z + U x + b), y = C z + c0.

    Answered are: does exactly one equilibrium exist for every input; how far is a point from it;
    which solver is guaranteed; does the cheap gradient descend; how far can a change of the input
    move the outputs. FILE is a checkpoint of PyTorch, a safetensors or an .npz file; nothing in it
    is run. Exit codes: 0 if there is exactly one equilibrium, 1 if there are two for some input, 3
    if neither is known.
    """
    inputs = [file] if data is None else [file, data]
    destination = Destination(output, quiet, inputs)
    with sentences():
        found = checkup(
            Asked(
                path=str(file),
                map=names,
                m=m,
                activation=activation,
                slope=slope,
                weights=weights or "",
                data=data,
            )
        )
    destination.write(_written(found, form, destination.options))
    ctx.exit(CODES[found.posed])


def _written(found: Checkup, form: str, options: RenderOptions) -> str:
    if form == "json":
        return as_json(found)
    return as_page(found) if form == "html" else as_text(found, options)
