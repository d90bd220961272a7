"""What a run leaves beside its result: a picture, and a page to send to a co-author."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.options import F
from deqcheck.cli.output import NewFile
from deqcheck.frozen import dataclass
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions

if TYPE_CHECKING:
    from deqcheck.cli.work import Task
    from deqcheck.records.report import Report
    from deqcheck.report.parts.paper import Drawing


@dataclass(frozen=True)
class OutputFiles:
    plot: NewFile | None = None
    html: NewFile | None = None
    # How the picture is to look; None for the whole of it.
    drawing: Drawing | None = None
    # Whether files that are there may be replaced.
    force: bool = False

    @classmethod
    def asked(
        cls, plot: Path | None, html: Path | None, force: bool, look: Mapping[str, Any]
    ) -> OutputFiles:
        """Whatever cannot be written or drawn is refused now, before the long work."""
        chosen = {name: value for name, value in look.items() if value}
        if chosen and plot is None:
            raise Complaint(
                f"deqcheck: --{next(iter(chosen))} says how --plot FILE draws; there is none"
            )
        if plot is not None:
            _check_format(plot)
            if html is not None and plot.resolve() == html.resolve():
                raise Complaint(f"{plot} is to hold two things")
        return cls(
            None if plot is None else NewFile(plot, force),
            None if html is None else NewFile(html, force),
            _drawing(chosen) if chosen else None,
            force,
        )

    def check(self, tasks: Sequence[Task], output: Path | None) -> None:
        """A picture shows one case that trains, or those of one file."""
        for file in (self.plot, self.html):
            if file is not None and output is not None and output.resolve() == file.path:
                raise Complaint(f"{output} is to hold two things")
        if self.plot is None:
            return
        if self.drawing is not None and len(tasks) > 1:
            raise Complaint(f"--panel draws one case; {len(tasks)} were given")
        files = {task.case.source.name for task in tasks}
        if len(tasks) > 1 and (len(files) > 1 or tasks[0].case.source.member is None):
            raise Complaint(f"--plot draws one case; {len(tasks)} were given")
        if tasks[0].case.stated.train is None:
            raise Complaint(
                f"{tasks[0].case.source.name}: nothing to draw: the case has no 'train'"
            )

    def write(self, reports: Sequence[Report]) -> None:
        if self.html is not None:
            self.html.write(renderer("html")(reports, RenderOptions()))
        if self.plot is not None:
            from deqcheck.report.parts import paper
            from deqcheck.report.parts.picture import draw, draw_sweeps

            form = self.plot.path.suffix[1:].lower()
            one = len(reports) == 1
            if self.drawing is not None:
                picture = paper.draw(reports[0], form, self.drawing)
            else:
                picture = draw(reports[0], form) if one else draw_sweeps(reports, form)
            if picture is None:
                lacking = "the run has no steps"
                if self.drawing is not None:
                    lacking = f"the report has nothing for --panel {self.drawing.panel}"
                say(f"{reports[0].name}: nothing to draw: {lacking}")
            else:
                self.plot.write(picture)


def _check_format(plot: Path) -> None:
    from deqcheck.report.parts import picture

    if plot.suffix[1:].lower() not in picture.FORMATS:
        known = ", ".join(f".{form}" for form in picture.FORMATS)
        raise Complaint(f"cannot draw {plot}: expected a name that ends in one of {known}")
    if not picture.available():
        raise Complaint(f"deqcheck: {picture.REMEDY}")


def _drawing(chosen: Mapping[str, Any]) -> Drawing | None:
    """None for the picture of everything, at its own size."""
    from deqcheck.report.parts import paper

    if chosen == {"panel": "all"}:
        return None
    if chosen.get("panel", "all") == "all":
        raise Complaint(
            f"deqcheck: --{next(n for n in chosen if n != 'panel')} needs one panel: "
            f"--panel {', '.join(paper.PANELS[:-2])} or {paper.PANELS[-2]}"
        )
    if chosen.get("raw") and chosen["panel"] != "loss":
        raise Complaint("deqcheck: --raw is about --panel loss")
    size = {"size": _size(chosen["size"])} if "size" in chosen else {}
    found = paper.Drawing(**{**chosen, **size})
    try:
        found.check()
    except paper.DrawingError as error:
        raise Complaint(f"deqcheck: {error}") from None
    return found


def _size(text: str) -> tuple[float, float]:
    from deqcheck.report.parts import paper

    said = re.fullmatch(r"(\d+(?:\.\d*)?)x(\d+(?:\.\d*)?)", text)
    if said is None:
        raise Complaint(
            f"deqcheck: --size {text}: expected WIDTHxHEIGHT in inches, such as 3.3x2.4"
        )
    width, height = float(said[1]), float(said[2])
    least = paper.SMALLEST
    if width < least[0] or height < least[1]:
        raise Complaint(
            f"deqcheck: --size {text} is too small to draw: expected at least {least[0]}x{least[1]}"
        )
    if max(width, height) > 40:
        raise Complaint(f"deqcheck: --size {text} is larger than any page: expected at most 40x40")
    return width, height


def output_file_options(function: F) -> F:
    """`--plot`, `--html` and `--force`, given to the function as `output_files`."""
    path = click.Path(path_type=Path, dir_okay=False)

    @click.option(
        "--plot",
        type=path,
        metavar="FILE",
        help="Draw the run into FILE, whose name ends in .png, .svg or .pdf (needs matplotlib).",
    )
    @click.option(
        "--panel",
        type=click.Choice(["loss", "spectrum", "hypotheses", "all"]),
        help="Draw this panel alone, as a figure for a paper.",
    )
    @click.option("--size", metavar="WxH", help="Its size in inches; default: 3.3x2.4.")
    @click.option("--axes", type=click.Choice(["loglog", "semilogy", "linear"]), help="Its axes.")
    @click.option("--raw", is_flag=True, help="The loss itself, not its gap relative to the start.")
    @click.option(
        "--style",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        metavar="FILE",
        help="A style file of matplotlib, over deqcheck's own.",
    )
    @click.option(
        "--html", type=path, metavar="FILE", help="Write a self-contained page to FILE, too."
    )
    @click.option(
        "--force", is_flag=True, help="Replace the files of --plot, --html and --certificate."
    )
    @wraps(function)
    def wrapped(*args: Any, plot: Path | None, html: Path | None, force: bool, **more: Any) -> Any:
        look = {name: more.pop(name) for name in ("panel", "size", "axes", "raw", "style")}
        return function(*args, output_files=OutputFiles.asked(plot, html, force, look), **more)

    return wrapped  # type: ignore[return-value]
