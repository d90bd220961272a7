"""Make the figures and tables of the papers again, and judge what the papers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint
from deqcheck.cli.figuring import KEPT, made
from deqcheck.cli.options import format_option
from deqcheck.cli.output import Destination, options_of_stdout, save, to_stdout
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import open_store, sentences
from deqcheck.environment import environment
from deqcheck.figures import figures, find
from deqcheck.figures.images import Shelf
from deqcheck.records.figure import Picture, Word
from deqcheck.report.figures import drawn, told
from deqcheck.report.gallery import file_name, page
from deqcheck.report.json import dumps
from deqcheck.report.parts import picture as drawing
from deqcheck.report.parts.console import columns, heading, indented, render_text

# Described by report/schema/deqcheck-figures-1.json.
SCHEMA = "deqcheck-figures/1"
STYLES = {Word.SUPPORTS: "green", Word.CONTRADICTS: "red", Word.NOT_DECIDED: "yellow"}


@click.command("figures")
@click.argument("ids", metavar="[PAPER/FIGURE ...]", nargs=-1, shell_complete=completing.figures)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the figure to FILE (.png, .svg or .pdf); needs matplotlib.",
)
@click.option(
    "--gallery",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Draw the named figures, or all, into DIR, with a page that shows them.",
)
@click.option("--full", is_flag=True, help="At the paper's size, which takes hours; goes on.")
@click.option("--variant", metavar="WORD", help="Where the authors' code differs from their text.")
@click.option(
    "--images",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="A folder with a folder for each set of images: DIR/mnist, DIR/cifar10, ...",
)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep what is done in DIR, and go on from there. Default with --full: .deqcheck.",
)
@format_option("table", "json")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(
    ids: tuple[str, ...],
    output: Path | None,
    gallery: Path | None,
    full: bool,
    variant: str | None,
    images: Path | None,
    folder: Path | None,
    form: str,
    quiet: bool,
) -> None:
    """Make figures and tables of the papers again; without a name, list them.

    What the paper says of a figure is judged on what is drawn: it supports or contradicts the
    sentence, or decides nothing. The exit code is 0 whatever the judgement is.
    """
    if not ids and gallery is None:
        _only(output, full, variant, images)
        _list(form)
        return
    with sentences():
        chosen = [find(id_).id for id_ in ids] or list(figures())
    _check(chosen, output, gallery, variant)
    store = open_store(folder or (KEPT if full else None))
    found = []
    with ProgressLine(quiet) as line:
        for id_ in chosen:
            found.append(made(id_, line, store, full, variant, Shelf(images)))
            if gallery is not None:
                save(gallery / file_name(found[-1]), drawn(found[-1], "png"))
                # After each, so that an interruption leaves a page.
                save(gallery / "index.html", page(found))
    if output is not None:
        save(output, drawn(found[0], output.suffix[1:].lower()))
    to_stdout(_json(found) if form == "json" else _table(found))


def _only(output: Path | None, full: bool, variant: str | None, images: Path | None) -> None:
    if output or full or variant or images:
        raise Complaint("deqcheck: name a figure; `deqcheck figures` lists them")


def _list(form: str) -> None:
    known = [figures()[id_] for id_ in figures()]
    if form == "json":
        every = [
            {"id": f.id, "number": f.number, "title": f.title, "variants": dict(f.variants)}
            for f in known
        ]
        to_stdout(dumps(every))
        return
    rows = [
        (
            Text(f.id, no_wrap=True),
            f"{f.number.partition(', ')[2]}: {f.title}{_variants(f.variants)}",
        )
        for f in known
    ]
    titles = heading(("figure", "what it shows"))
    to_stdout(render_text([columns([titles, *rows], indent=0)], options_of_stdout()))


def _variants(known: object) -> str:
    words = ", ".join(map(str, known)) if isinstance(known, dict) else ""
    return f" (variants: {words})" if words else ""


def _check(
    chosen: Sequence[str], output: Path | None, gallery: Path | None, variant: str | None
) -> None:
    """What would be a pity to learn only after the work."""
    if len(chosen) > 1 and (output is not None or variant is not None):
        option = "--output" if output is not None else "--variant"
        raise Complaint(f"deqcheck: {option} goes with one figure; {len(chosen)} were named")
    if output is not None and output.suffix[1:].lower() not in drawing.FORMATS:
        known = ", ".join(f".{each}" for each in drawing.FORMATS)
        raise Complaint(f"cannot draw {output}: expected a name that ends in one of {known}")
    if (output is not None or gallery is not None) and not drawing.available():
        raise Complaint(f"deqcheck: {drawing.REMEDY}")
    if gallery is not None:
        try:
            gallery.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Complaint(f"cannot write {gallery}: {error.strerror}") from None
    for path in (output, None if gallery is None else gallery / "index.html"):
        Destination(path)


def _json(found: Sequence[Picture]) -> str:
    made = [each.to_dict() for each in found]
    return dumps({"schema": SCHEMA, "environment": environment(), "figures": made})


def _table(found: Sequence[Picture]) -> str:
    parts: list[RenderableType] = []
    for each in found:
        parts += [Text(each.headline, "bold"), *_page(each), Text("")]
    return render_text(parts[:-1], options_of_stdout())


def _page(each: Picture) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if each.caveat and each.sentences:
        parts.append(Text(f"What the paper says, {each.caveat}:"))
    for said in each.sentences:
        word = Text(str(said.word).upper(), STYLES[said.word])
        parts.append(Text.assemble(word, f" {said.text}"))
        parts += [indented(told(claim), 4) for claim in said.claims]
        if said.note:
            parts.append(indented(f"({said.note})", 4))
    for table in each.tables:
        parts.append(Text(table.title))
        parts.append(columns([heading(table.columns), *table.rows]))
    parts += [indented(Text(note, "dim"), 0) for note in each.notes]
    return parts
