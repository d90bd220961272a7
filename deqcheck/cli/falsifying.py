"""What `falsify` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from deqcheck.case.write import case_text
from deqcheck.cli.output import options_of_stdout
from deqcheck.explore.falsify import Counterexample, Falsified
from deqcheck.report.parts.console import indented, render_text
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.sentences import Clock, numbered, tell


def page(found: Falsified) -> str:
    lines = _feasibility(found) if found.only_feasible else _lines(found)
    return render_text(lines, options_of_stdout())


def _lines(found: Falsified) -> Iterator[RenderableType]:
    tried = f"{found.evaluations} instances tried, {found.feasible} met the hypotheses"
    name = f"{found.id} ({found.edition})"
    if found.simplest is not None and found.worst is not None:
        yield Text.assemble(("COUNTEREXAMPLE", "bold red"), f" {name}: {tried}")
        yield from _violation("the simplest", found.simplest)
        if found.worst.margin < found.simplest.margin:
            yield from _violation("the worst", found.worst)
        yield indented(f"it rests on: {found.simplest.confirmed_by}")
        for edition, outcome in found.simplest.others.items():
            yield indented(f"the {edition} edition on the simplest one: {outcome}")
        yield from _tightest(found)
        shown = found.each or (found.simplest,)
        for one in shown:
            if found.each:
                yield from _violation("for its own claim", one)
            yield Text("")
            yield _case(one.text)
    else:
        word = "NOT REFUTED" if found.searched else "NOTHING SEARCHED"
        yield Text.assemble((word, "yellow"), f" {name}: {tried}")
        if found.withdrawn:
            single = found.withdrawn == 1
            many = "a refutation was" if single else f"{found.withdrawn} refutations were"
            again = "it" if single else "them"
            yield indented(f"{many} withdrawn: another route did not find {again} again")
        if not found.searched and found.conflicting:
            yield indented(f"nearest to meeting them, what fails: {', '.join(found.conflicting)}")
        yield from _tightest(found)


def _case(text: str) -> Text:
    return Text(text.rstrip(), no_wrap=True, overflow="ignore")


def _feasibility(found: Falsified) -> Iterator[RenderableType]:
    name = f"{found.id} ({found.edition})"
    if found.met is not None:
        yield Text(
            f"FEASIBLE {name}: every hypothesis holds on this instance, found after "
            f"{found.evaluations}"
        )
        yield Text("")
        yield _case(case_text(found.met))
        return
    yield Text(f"NOT FEASIBLE {name}: none in {found.evaluations} instances")
    if found.short is not None and found.conflicting:
        rows = ", ".join(found.conflicting)
        yield indented(f"best worst margin {number(-found.short, 3)}; these conflict: {rows}")


def _violation(which: str, found: Counterexample) -> Iterator[RenderableType]:
    told = tell(found.claim, Clock(found.verdict.flow), options_of_stdout())
    yield indented(f"{which} ({found.entries} numbers): {numbered(found.claim)} {told}")


def _tightest(found: Falsified) -> Iterator[RenderableType]:
    for tight in found.tightest:
        yield indented(f"never violated: {tight.claim}, tightest slack {number(tight.slack, 3)}")
