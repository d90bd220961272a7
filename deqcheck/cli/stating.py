"""All about one statement, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deqcheck.case import evidence
from deqcheck.case.evidence import AGAINST, FOR
from deqcheck.judging import catalogue
from deqcheck.plugins import where
from deqcheck.report.parts.console import columns, heading, indented, unbroken
from deqcheck.report.parts.differences import Marked, differences
from deqcheck.report.parts.notation import names
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import numbered, shown
from deqcheck.theorems.base import CORRECTED, DESCENT, FLOW, PRINTED, STATIC, AnyStatement
from deqcheck.theorems.editions import Row
from deqcheck.theorems.proofs import lines
from deqcheck.theorems.roles import Role

HEADINGS = {
    Role.ASSUMED: "assumed",
    Role.CLAIMED: "claimed",
    Role.REMARK: "remarks of deqcheck, which decide nothing",
}
STATUS = {
    "sound": "SOUND",
    "typo": "A TYPO IN PRINT",
    "false": "FALSE AS PRINTED",
    "vacuous": "VACUOUS AS PRINTED",
    "unproven": "UNPROVEN AS PRINTED",
}
DYNAMICS = {FLOW: "gradient flow", DESCENT: "gradient descent", STATIC: "any parameters"}
# So many cases of a kind are named.
NAMED = 2


def page(s: type[AnyStatement], options: RenderOptions) -> Iterator[RenderableType]:
    yield Text(f"{s.id}  {s.title}", "bold")
    yield Text(f"{s.cite}; {', '.join(s.models)}; {', '.join(DYNAMICS[d] for d in s.dynamics)}")
    if where(s) != "deqcheck":
        yield Text(f"source: {where(s)}")
    if s.aliases:
        yield Text(f"formerly {', '.join(s.aliases)}")
    if s.condition_in:
        yield Text(f"a condition, met or not met, in the edition {' and '.join(s.condition_in)}")
    yield from _erratum(s)
    yield Text("")
    yield Text(s.text())
    found = evidence.rows_of(s)
    for role, title in HEADINGS.items():
        of_role = [row for row in found if row.role is role]
        if of_role:
            yield Text("")
            yield Text(title, "bold")
            yield from (part for row in of_role for part in _row(s, row, options))
    if len(s.editions) > 1 and all(row.same for row in found):
        yield Text("")
        yield Text("The formulas of both editions are the same; the erratum tells what differs.")
    yield from _legend(s, found, options)
    if s.constants:
        yield Text("")
        yield Text("free constants", "bold")
        yield columns(s.constants.items())
    yield from _cases(s)
    yield from _proofs(s)


def _erratum(s: type[AnyStatement]) -> Iterator[RenderableType]:
    yield Text("")
    if not s.erratum:
        yield Text(STATUS[s.soundness], "bold")
        return
    told = "SOUND, with a remark" if s.soundness == "sound" else STATUS[s.soundness]
    yield Text(told, "bold green" if s.soundness == "sound" else "bold red")
    yield indented(s.erratum)


def _row(s: type[AnyStatement], row: Row, options: RenderOptions) -> Iterator[RenderableType]:
    yield indented(_called(row))
    if row.same or len(s.editions) == 1:
        yield indented(shown(row.any.formula.text, options, s.id), 4)
        return
    if row.printed is None or row.corrected is None:
        edition = PRINTED if row.corrected is None else CORRECTED
        yield indented(f"only {edition}:  {shown(row.any.formula.text, options, s.id)}", 4)
        return
    pair = (shown(each.formula.text, options, s.id) for each in (row.printed, row.corrected))
    marked = zip(differences(*pair), STYLES, strict=True)
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row(*heading((PRINTED, CORRECTED)))
    table.add_row(*(_marked(part, options, style) for part, style in marked))
    yield Padding(table, (0, 0, 0, 4))


STYLES = ("bold red", "bold green")


def _called(row: Row) -> str:
    """By its name and number; where the editions number it differently, by both."""
    told = dict.fromkeys(numbered(check) for check in (row.printed, row.corrected) if check)
    return " / ".join(told)


def _marked(parts: Marked, options: RenderOptions, style: str) -> Text:
    """In colour, or else in brackets."""
    text = Text()
    left, right = "⟦⟧" if options.unicode else "[]"
    for part, differs in parts:
        if not differs:
            text.append(part)
        elif options.color:
            text.append(part, style)
        else:
            text.append(f"{left}{part}{right}")
    return text


def _legend(
    s: type[AnyStatement], found: list[Row], options: RenderOptions
) -> Iterator[RenderableType]:
    """How names of the text are written in the formulas."""
    if not options.unicode:
        return
    checks = [check for row in found for check in (row.printed, row.corrected) if check]
    written = {n: t for check in checks for n, t in names(check.formula.text, s.id).items()}
    # Words and plain indices read the same.
    other = [f"{t} {n}" for n, t in sorted(written.items()) if t.replace(" ", "_") != n]
    if other:
        yield Text("")
        yield Text(f"names: {', '.join(other)}", "dim")


def _cases(s: type[AnyStatement]) -> Iterator[RenderableType]:
    found = [(edition, told) for edition in s.editions for told in _commands(s, edition)]
    if found:
        yield Text("")
        yield Text("cases", "bold")
    for edition, (word, count, commands) in found:
        more = f", the first {len(commands)} of {count}" if count > len(commands) else ""
        yield indented(f"{word} as {edition}{more}")
        yield from (unbroken(command, 4) for command in commands)


def _commands(s: type[AnyStatement], edition: str) -> Iterator[tuple[str, int, list[str]]]:
    """What speaks against it and what for it: the outcome, how many cases, and the plainest."""
    known = evidence.of(s.id).get(edition, evidence.NONE)
    option = f" --edition {edition}" if len(s.editions) > 1 else ""
    for outcome in (*AGAINST, *FOR):
        cases = known.cases(outcome)
        if cases:
            named = [f"deqcheck run {case} --only {s.id}{option}" for case in cases[:NAMED]]
            yield outcome, len(cases), named


def _proofs(s: type[AnyStatement]) -> Iterator[RenderableType]:
    place = list(lines(s, catalogue()))
    if place:
        yield Text("")
        yield Text("proof map", "bold")
        yield columns(place)
    yield Text("")
    yield unbroken(f"cite: deqcheck theorems show {s.id} --bibtex", 0)
