"""The catalogue of statements: formulas, status, errata, citations."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from deqcheck.case import evidence
from deqcheck.cli import completing
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.options import format_option
from deqcheck.cli.output import options_of_stdout, to_stdout
from deqcheck.cli.stating import page
from deqcheck.cli.stating_latex import fragment
from deqcheck.fields import unknown
from deqcheck.judging import catalogue
from deqcheck.judging.catalogue import find, meant
from deqcheck.judging.errors import UsageError
from deqcheck.kinds import Model
from deqcheck.plugins import where
from deqcheck.registry import is_now, kinds
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import (
    ENDLESS,
    columns,
    heading,
    indented,
    render_text,
    unbroken,
)
from deqcheck.report.parts.notation import in_latex
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.theorems.base import ANY, DESCENT, FLOW, STATIC, AnyStatement, Check
from deqcheck.theorems.editions import Row
from deqcheck.theorems.proofs import proof
from deqcheck.theorems.references import bibtex

# So much room a title needs beside what it is the title of.
TITLE = 24
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
        say("deqcheck: no statement is all of that: leave out a filter")
        return
    options = _whole()
    to_stdout(render_text(_lines(found, options.width), options))


def _whole() -> RenderOptions:
    """A pipe gets one line for each statement."""
    options = options_of_stdout()
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return options if terminal else replace(options, width=ENDLESS)


def _lines(found: Sequence[type[AnyStatement]], width: int) -> Iterator[RenderableType]:
    """Nothing is cut: a title that has no room beside the rest stands below it."""
    rows = [_row(s) for s in found]
    taken = sum(max(len(row[i]) + 2 for row in rows) for i in range(4))
    if width - taken < TITLE:
        for *cells, title in rows:
            yield unbroken("  ".join(cells), 0)
            yield indented(title, 4)
        return
    own = any(_source(s) for s in found)
    titles = ("id", "model", "status", "editions", "title, source" if own else "title")
    whole = (tuple(Text(cell, no_wrap=i < 4) for i, cell in enumerate(row)) for row in rows)
    yield columns((heading(titles), *whole), indent=0)


def _row(s: type[AnyStatement]) -> tuple[str, ...]:
    editions = s.editions[0] if len(s.editions) == 1 else "both"
    source = f" ({_source(s)})" if _source(s) else ""
    return s.id, ", ".join(s.models), s.soundness, editions, f"{s.title}{source}"


@command.command("show")
@click.argument("id_", metavar="ID", shell_complete=completing.statements)
@click.option("--bibtex", "citing", is_flag=True, help="Only the BibTeX entry of its paper.")
@click.option("--latex", is_flag=True, help="As LaTeX, to be put into a paper or a review.")
@format_option("table", "json")
def show(id_: str, citing: bool, latex: bool, form: str) -> None:
    """The statement ID: what is wrong in print, what it assumes, claims and what we remark, as
    printed beside as corrected; cases that confirm and refute it, its proof map, its citation.

    The name of a paper lists its statements, the end of an id those that have it.
    """
    try:
        statement = find(id_)
    except UsageError as error:
        several = meant(id_)
        if not several:
            raise Complaint(f"deqcheck: {error}") from None
        if len(several) > 1 and not (citing or latex):
            _list(several, form)
            return
        statement = several[0]
    if statement.id != id_ and statement not in meant(id_):
        say(f"deqcheck: {is_now(id_, statement.id)}")
    if citing:
        entry = bibtex(statement)
        if entry is None:
            raise Complaint(f"deqcheck: no BibTeX entry is known for {statement.cite.paper}")
        to_stdout(f"{entry}\n")
    elif latex:
        to_stdout(fragment(statement, evidence.rows_of(statement)))
    elif form == "json":
        to_stdout(dumps(_entry(statement) | _details(statement)))
    else:
        options = options_of_stdout()
        to_stdout(render_text(page(statement, options), options))


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
    place, known = proof(s, catalogue()), evidence.of(s.id)
    return {
        "statement": s.text(),
        "bibtex": bibtex(s),
        "equations": s.cite.equations,
        "constants": dict(s.constants),
        "uses": list(place.uses),
        "used_by": list(place.used_by),
        "falls_with": list(place.falls_with),
        "cases": {
            edition: dict(known[edition].outcomes) for edition in s.editions if edition in known
        },
        "checks": [check for row in evidence.rows_of(s) for check in _checks(s, row)],
    }


def _checks(s: type[AnyStatement], row: Row) -> Iterator[dict[str, Any]]:
    """Its formulas, with the editions that have them."""
    by_check: dict[Check, list[str]] = {}
    for edition in s.editions:
        check = row.of(edition)
        if check is not None:
            by_check.setdefault(check, []).append(edition)
    for check, editions in by_check.items():
        yield {
            "name": check.name,
            "equation": check.equation,
            "formula": check.formula.text,
            "latex": in_latex(check.formula.text, s.id),
            "role": row.role.value,
            "editions": editions,
        }
