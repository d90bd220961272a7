"""Which checks have teeth: how near to equality each inequality comes, and on which case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.text import Text

from deqcheck.case import embedded
from deqcheck.ci.discover import FoundCase, discover
from deqcheck.ci.judge import CODES
from deqcheck.ci.power import Power, powers
from deqcheck.ci.records import Interrupted, Result
from deqcheck.cli import completing
from deqcheck.cli.errors import INTERRUPTED, NUMERICAL, say
from deqcheck.cli.exit_code import gravest
from deqcheck.cli.options import output_options
from deqcheck.cli.output import Destination
from deqcheck.cli.running import Plan, plan_options
from deqcheck.records.verdict import Status
from deqcheck.report.json import dumps
from deqcheck.report.parts.console import ENDLESS, render_text
from deqcheck.report.parts.render_options import RenderOptions

SCHEMA = "deqcheck-power/1"


@click.command("power")
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=completing.cases)
@plan_options
@output_options("table", "json")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    plan: Plan,
    form: str,
    output: Path | None,
) -> None:
    """For each inequality of each statement, the case on which it comes nearest to equality.

    The slack is the factor by which the inequality could be stronger before that case refutes it:
    1.00x means that nothing stronger is true. Of a decaying bound it is the factor on the rate. Of
    an identity, the accuracy to which it was seen. Without PATH, the embedded cases are run,
    those in a folder `slow` left out.
    """
    destination = Destination(output, inputs=paths)
    unfinished: tuple[str, ...] = ()
    with plan.runner() as runner:
        try:
            results = runner.results(discover(paths).cases if paths else _embedded())
        except Interrupted as stop:
            results, unfinished = stop.results, stop.unfinished
    lost = [result for result in results if result.reply.facts is None]
    for result in lost:
        say(f"{result.path}: {result.reply.end.value}: {result.reply.sentence}")
    failed = list(_failed(results))
    for sentence in failed:
        say(sentence)
    found = powers(results)
    render = _json if form == "json" else _table
    destination.write(render(found, unfinished, destination.options))
    if unfinished:
        say("deqcheck: interrupted")
        ctx.exit(INTERRUPTED)
    ctx.exit(gravest([*(CODES[result.reply.end] for result in lost), *(NUMERICAL for _ in failed)]))


def _failed(results: Iterable[Result]) -> Iterator[str]:
    """The cases whose run broke off without being expected to."""
    for result in results:
        facts = result.reply.facts
        expected = result.expect.status
        if facts is not None and facts["status"] not in (Status.COMPLETED.word, expected):
            yield f"{result.path}: {facts['status']}: {'; '.join(facts['notes'])}"


def _embedded() -> list[FoundCase]:
    return [case for case in discover([embedded.folder()]).cases if not embedded.slow(case.id)]


def _json(found: Sequence[Power], unfinished: Sequence[str], options: RenderOptions) -> str:
    return dumps(
        {
            "schema": SCHEMA,
            "partial": bool(unfinished),
            "unfinished": list(unfinished),
            "checks": [asdict(power) for power in found],
        }
    )


def _table(found: Sequence[Power], unfinished: Sequence[str], options: RenderOptions) -> str:
    """A heading for each statement; every check is one line, however long."""
    wide = max((len(power.check) for power in found), default=0)
    lines: list[Text] = []
    title = ""
    for power in found:
        if title != f"{power.id} ({power.edition})":
            title = f"{power.id} ({power.edition})"
            lines.append(Text(title, "bold"))
        case = ", ".join(power.violated) or power.case or ""
        lines.append(Text(f"  {slack(power):>15}  {power.check:<{wide}}  {case}"))
    if unfinished:
        lines.append(Text(f"partial, interrupted; not finished: {', '.join(unfinished)}"))
    return render_text(lines, replace(options, width=ENDLESS))


def slack(power: Power) -> str:
    """`1.002x`; an identity is told by its accuracy, unless rounding is all that it grants."""
    if power.violated:
        return "violated by"
    if power.rounding:
        return "up to rounding"
    if power.caught is None:
        return "a sign"
    if power.relation == "==":
        return f"equal to {power.caught - 1:.0e}"
    return f"{power.caught:.3f}x" if power.caught < 10 else f"{power.caught:.3g}x"
