"""What a run leaves beside its result: a picture, and a page to send to a co-author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deqcheck.cli.errors import Complaint
from deqcheck.cli.options import F
from deqcheck.cli.output import NewFile
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions

if TYPE_CHECKING:
    from deqcheck.cli.work import Task
    from deqcheck.records.report import Report


@dataclass(frozen=True)
class OutputFiles:
    plot: NewFile | None = None
    html: NewFile | None = None
    # Whether files that are there may be replaced.
    force: bool = False

    @classmethod
    def asked(cls, plot: Path | None, html: Path | None, force: bool) -> OutputFiles:
        """Whatever cannot be written is refused now, before the long work."""
        if plot is not None:
            _check_format(plot)
            if html is not None and plot.resolve() == html.resolve():
                raise Complaint(f"{plot} is to hold two things")
        return cls(
            None if plot is None else NewFile(plot, force),
            None if html is None else NewFile(html, force),
            force,
        )

    def check(self, tasks: Sequence[Task], output: Path | None) -> None:
        """A picture shows one case that trains, or those of one file."""
        for file in (self.plot, self.html):
            if file is not None and output is not None and output.resolve() == file.path:
                raise Complaint(f"{output} is to hold two things")
        if self.plot is None:
            return
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
            from deqcheck.report.parts.picture import draw, draw_sweeps

            form = self.plot.path.suffix[1:].lower()
            one = len(reports) == 1
            picture = draw(reports[0], form) if one else draw_sweeps(reports, form)
            if picture is None:
                click.echo(f"{reports[0].name}: nothing to draw: the run has no steps", err=True)
            else:
                self.plot.write(picture)


def _check_format(plot: Path) -> None:
    from deqcheck.report.parts import picture

    if plot.suffix[1:].lower() not in picture.FORMATS:
        known = ", ".join(f".{form}" for form in picture.FORMATS)
        raise Complaint(f"cannot draw {plot}: expected a name that ends in one of {known}")
    if not picture.available():
        raise Complaint(f"deqcheck: {picture.REMEDY}")


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
        "--html", type=path, metavar="FILE", help="Write a self-contained page to FILE, too."
    )
    @click.option(
        "--force", is_flag=True, help="Replace the files of --plot, --html and --certificate."
    )
    @wraps(function)
    def wrapped(*args: Any, plot: Path | None, html: Path | None, force: bool, **more: Any) -> Any:
        return function(*args, output_files=OutputFiles.asked(plot, html, force), **more)

    return wrapped  # type: ignore[return-value]
