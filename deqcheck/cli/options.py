"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deqcheck.case.source import Changes
from deqcheck.cli import completing
from deqcheck.frozen import dataclass
from deqcheck.judging import Question
from deqcheck.records.words import BOTH, EDITIONS, editions
from deqcheck.report import formats
from deqcheck.threads import cores

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class AskedFor:
    """Which statements are judged, and in which editions; None leaves it to the case."""

    editions: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()

    def of(self, question: Question) -> Question:
        return question.narrowed(self.only, self.editions)


def case_options(function: F) -> F:
    """`--set` and `--seed`, given to the function as `changes`."""

    @click.option("--seed", type=click.IntRange(min=0), help="Replace the seed of the case.")
    @click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="Replace a field of the case, such as train.step=1e-3; repeatable.",
    )
    @wraps(function)
    def wrapped(*args: Any, seed: int | None, settings: tuple[str, ...], **more: Any) -> Any:
        return function(*args, changes=Changes(settings, seed), **more)

    return wrapped  # type: ignore[return-value]


def choice_options(function: F) -> F:
    """`--edition` and `--only`, given to the function as `choice`."""

    @click.option(
        "--edition",
        type=click.Choice([*EDITIONS, BOTH]),
        help="Judge the statements as printed, as corrected, or both. Default: what the case says, "
        "else corrected.",
    )
    @click.option(
        "--only",
        metavar="ID",
        multiple=True,
        shell_complete=completing.statements,
        help="Judge only this statement, such as kawaguchi2021/cor1; repeatable.",
    )
    @wraps(function)
    def wrapped(*args: Any, edition: str | None, only: tuple[str, ...], **more: Any) -> Any:
        chosen = None if edition is None else editions(edition)
        return function(*args, choice=AskedFor(chosen, only), **more)

    return wrapped  # type: ignore[return-value]


def output_options(*names: str) -> Callable[[F], F]:
    """`--format` and `--output`; without names, every report format."""

    def decorate(function: F) -> F:
        function = click.option(
            "--output",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write the result to FILE, whole or not at all, instead of stdout.",
        )(function)
        return format_option(*names)(function)

    return decorate


if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    # Not generic before click 8.2.
    _Choice = click.Choice


class ReportFormat(_Choice):
    """Every report format, those of plugins included."""

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(formats())

    @choices.setter
    def choices(self, _: Sequence[str]) -> None:
        """Looked up when they are asked for."""


def format_option(*names: str) -> Callable[[F], F]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(names) if names else ReportFormat(()),
        default="table",
        show_default=True,
        help="How the result is written.",
    )


def jobs_option(help: str) -> Callable[[F], F]:
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=cores,
        show_default="the cores",
        help=help,
    )


def timeout_option(unit: str) -> Callable[[F], F]:
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True, max=1e6),
        metavar="SECONDS",
        help=f"Time limit per {unit}; the others go on.",
    )


quiet_option = click.option(
    "--quiet", is_flag=True, help="No progress; in the table only one line for each statement."
)
formulas_option = click.option(
    "-v",
    "--formulas",
    is_flag=True,
    help="In the table, the formula of each check above its numbers.",
)
table_option = click.option(
    "--table",
    "table",
    type=click.Choice(["checks", "verdicts", "trajectory"]),
    help="Which table --format csv writes; default: checks.",
)
schema_option = click.option(
    "--schema",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Version of the JSON report; 1 is that of deqcheck 0.1.",
)
