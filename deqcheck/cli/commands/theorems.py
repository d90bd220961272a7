"""The catalogue of statements: formulas, status, errata, citations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint
from deqcheck.cli.options import format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.fields import unknown
from deqcheck.judging import catalogue
from deqcheck.judging.catalogue import find, meant
from deqcheck.judging.errors import UsageError
from deqcheck.kinds import Model
from deqcheck.plugins import where
from deqcheck.registry import is_now, kinds
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import columns, heading, indented, render_text
from deqcheck.report.parts.sentences import numbered
from deqcheck.theorems.base import ANY, DESCENT, FLOW, STATIC, AnyStatement
from deqcheck.theorems.proofs import lines, proof
from deqcheck.theorems.references import bibtex

# What a statement may be, as printed.
STATUSES = ("sound", "typo", "false", "vacuous", "unproven")


@click.group("theorems", invoke_without_command=True)
@click.option("--model", metavar="KIND", help="Only statements about this model.")
@click.option(
    "--dynamics",
    type=click.Choice([FLOW, DESCENT, STATIC]),
    help="Only statements about gradient flow, gradient descent, or any parameters.",
)
@click.option("--status", type=click.Choice(STATUSES), help="Only statements that are so in print.")
@format_option("table", "json")
@click.pass_context
def command(
    ctx: click.Context, model: str | None, dynamics: str | None, status: str | None, form: str
) -> None:
    """List the statements that deqcheck can judge; `theorems show ID` tells all about one."""
    if ctx.invoked_subcommand is not None:
        return
    if model is not None and model not in kinds(Model):
        raise Complaint(f"deqcheck: {unknown('there is no model', model, kinds(Model))}")
    found = [
        s
        for s in catalogue().values()
        if model is None or s.models is ANY or model in s.models
        if dynamics is None or dynamics in s.dynamics
        if status is None or status == s.soundness
    ]
    _list(found, form)


def _list(found: Sequence[type[AnyStatement]], form: str) -> None:
    if form == "json":
        to_stdout(dumps([_entry(s) for s in found]))
        return
    if not found:
        click.echo("deqcheck: no statement is all of that: leave out a filter", err=True)
        return
    own = any(_source(s) for s in found)
    titles = ("id", "model", "status", "editions", "title, source" if own else "title")
    rows = (heading(titles), *(_row(s) for s in found))
    to_stdout(render_text([columns(rows, indent=0)], options_of_stdout()))


def _row(s: type[AnyStatement]) -> tuple[Text, ...]:
    editions = s.editions[0] if len(s.editions) == 1 else "both"
    cells = (s.id, ", ".join(s.models), s.soundness, editions)
    source = _source(s)
    # An id that is cut cannot be pasted.
    whole = (Text(cell, no_wrap=True) for cell in cells)
    return (*whole, Text(f"{s.title} ({source})" if source else s.title))


@command.command("show")
@click.argument("id_", metavar="ID", shell_complete=completing.statements)
@click.option("--bibtex", "citing", is_flag=True, help="Only the BibTeX entry of its paper.")
@format_option("table", "json")
def show(id_: str, citing: bool, form: str) -> None:
    """The statement ID: text, formulas with their equation numbers, status, erratum, citation.

    The name of a paper lists its statements, the end of an id those that have it.
    """
    try:
        statement = find(id_)
    except UsageError as error:
        several = meant(id_)
        if not several:
            raise Complaint(f"deqcheck: {error}") from None
        if len(several) > 1 and not citing:
            _list(several, form)
            return
        statement = several[0]
    if statement.id != id_ and statement not in meant(id_):
        click.echo(f"deqcheck: {is_now(id_, statement.id)}", err=True)
    if citing:
        entry = bibtex(statement)
        if entry is None:
            raise Complaint(f"deqcheck: no BibTeX entry is known for {statement.cite.paper}")
        to_stdout(f"{entry}\n")
    elif form == "json":
        to_stdout(dumps(_entry(statement) | _details(statement)))
    else:
        to_stdout(render_text(_page(statement), options_of_stdout()))


def _source(s: type[AnyStatement]) -> str:
    """Empty for what comes with deqcheck."""
    return "" if where(s) == "deqcheck" else os.path.relpath(where(s))


def _entry(s: type[AnyStatement]) -> dict[str, Any]:
    return {
        "id": s.id,
        "paper": s.cite.paper,
        "number": s.cite.number,
        "title": s.title,
        "model": s.models[0] if len(s.models) == 1 else list(s.models),
        "dynamics": list(s.dynamics),
        "status": s.soundness,
        "editions": list(s.editions),
        "condition": list(s.condition_in),
        "aliases": list(s.aliases),
        "erratum": s.erratum or None,
        "source": where(s),
    }


def _details(s: type[AnyStatement]) -> dict[str, Any]:
    place = proof(s, catalogue())
    return {
        "statement": s.text(),
        "bibtex": bibtex(s),
        "equations": s.cite.equations,
        "constants": dict(s.constants),
        "uses": list(place.uses),
        "used_by": list(place.used_by),
        "falls_with": list(place.falls_with),
        "checks": [
            {"name": c.name, "equation": c.equation, "formula": c.formula.text} for c in s.checks()
        ],
    }


def _page(s: type[AnyStatement]) -> Iterator[RenderableType]:
    yield Text(f"{s.id}  {s.title}", "bold")
    yield Text(str(s.cite))
    yield Text(f"model: {', '.join(s.models)}; dynamics: {', '.join(s.dynamics)}")
    yield Text(f"status: {s.soundness}; editions: {', '.join(s.editions)}")
    if s.condition_in:
        yield Text(f"a condition, met or not met, in the edition {' and '.join(s.condition_in)}")
    if s.aliases:
        yield Text(f"formerly {', '.join(s.aliases)}")
    yield Text(f"source: {where(s)}")
    yield Text("")
    yield Text(s.text())
    yield Text("")
    for check in s.checks():
        yield Text(numbered(check))
        yield indented(check.formula.text, 4)
    if s.constants:
        yield Text("")
        yield Text("constants", "dim")
        yield columns(s.constants.items())
    if s.erratum:
        yield Text("")
        yield Text(f"erratum: {s.erratum}")
    place = list(lines(s, catalogue()))
    if place:
        yield Text("")
        yield columns(place)
