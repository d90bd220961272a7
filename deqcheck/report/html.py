"""A self-contained page: the answer first, then each statement; no script, no network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from deqcheck.records.report import Report
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.report.json import plain
from deqcheck.report.parts.article import Article, outcome, quantities, unbreakable
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import panels
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import (
    Clock,
    certificate_line,
    full_title,
    reason,
    run_length,
)
from deqcheck.report.parts.style import SHEET
from deqcheck.report.parts.summary import ordered, summary
from deqcheck.report.parts.svg import figure
from deqcheck.report.parts.sweeps import Sweep, sweeps

# The page may load nothing at all, not even from where it lies.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    title = reports[0].title if len(reports) == 1 else f"{len(reports)} cases"
    heading = f"deqcheck: {title or reports[0].name}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", heading),
        tag("style", Markup(SHEET)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        tag("header", tag("h1", heading), _summary(reports)),
        tag(
            "main",
            *(_sweep(s, i) for i, s in enumerate(sweeps(reports), 1)),
            *(_Case(r, i, len(reports) == 1).section() for i, r in enumerate(reports, 1)),
            id="results",
        ),
        tag("footer", tag("p", _made_by(reports))),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def fragment(verdicts: Sequence[Verdict], title: str = "") -> str:
    """For a notebook: a table without a style of its own."""
    names = ("outcome", "statement", "", "reason")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    rows = [
        tag(
            "tr",
            tag("td", verdict.word),
            tag("td", f"{verdict.id} ({verdict.edition})"),
            tag("td", full_title(verdict)),
            tag("td", reason(verdict, RenderOptions())),
        )
        for verdict in verdicts
    ]
    caption = tag("caption", title) if title else None
    return str(tag("table", caption, tag("thead", head), tag("tbody", *rows)))


def _made_by(reports: Sequence[Report]) -> str:
    version = reports[0].environment.get("deqcheck", "")
    return (
        f"Written by deqcheck {version}. Every number carries an error bar; what the error bars "
        "cannot decide is called undecided."
    )


def grouped(report: Report) -> list[list[Verdict]]:
    """The editions of each statement, convergence theorems first."""
    found: dict[str, list[Verdict]] = {}
    for verdict in ordered(report):
        found.setdefault(verdict.id, []).append(verdict)
    return list(found.values())


def _answer(report: Report) -> str:
    """What was checked, what came out, how far the nearest theorem is."""
    track, model = report.trajectory, report.resolved.get("model")
    kind_ = model.get("kind") if isinstance(model, dict) else None
    length = run_length(track, Clock.of(report), RenderOptions()) if track and len(track.k) else ""
    about = ", ".join(part for part in (kind_, length) if part)
    told = summary(report) if report.verdicts else "nothing was judged"
    worst = next((v for v in report.verdicts if v.outcome is Outcome.REFUTED), None)
    why = f" {worst.id} ({worst.edition}): {reason(worst, RenderOptions())}." if worst else ""
    return f"{f'{about}: ' if about else ''}{told}.{why}"


def _summary(reports: Sequence[Report]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("td", outcome(verdict)),
            tag(
                "td",
                tag("a", _breakable(verdict.id), href=f"#{_anchor(i, j)}"),
                f" ({verdict.edition})",
            ),
            tag("td", report.title or report.name),
        )
        for i, report in enumerate(reports, 1)
        for j, group in enumerate(grouped(report), 1)
        for verdict in group
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("outcome", "statement", "case")))
    table = tag("table", tag("thead", head), tag("tbody", *rows)) if rows else None
    if len(reports) == 1:
        answer = tag("p", unbreakable(_answer(reports[0])), class_="answer")
        # One statement has its outcomes right below.
        return join(answer, table if len(grouped(reports[0])) > 1 else None)
    return join(tag("p", _tally(reports), class_="soft"), table)


def _sweep(sweep: Sweep, position: int) -> Markup:
    ident = f"sweep-{position}"
    head = tag("tr", *(tag("th", name, scope="col") for name in sweep.header))
    rows = [tag("tr", *(tag("td", cell) for cell in row)) for row in sweep.rows(RenderOptions())]
    panel = sweep.panel()
    return tag(
        "section",
        tag("h2", sweep.title, id=ident),
        tag("table", tag("thead", head), tag("tbody", *rows)),
        tag("div", figure(panel, f"{ident}-plot"), class_="figures") if panel else None,
        aria_labelledby=ident,
    )


def _tally(reports: Sequence[Report]) -> str:
    counts: dict[str, int] = {}
    for report in reports:
        for verdict in report.verdicts:
            counts[verdict.word] = counts.get(verdict.word, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing was judged"


def _breakable(ident: str) -> Markup:
    paper, slash, name = ident.partition("/")
    return join(paper, slash, tag("wbr"), name)


def _anchor(case: int, statement: int) -> str:
    return f"case-{case}-statement-{statement}"


class _Case:
    """One case of the page."""

    def __init__(self, report: Report, position: int, alone: bool):
        self.report = report
        self.position = position
        # Then the page has its title already.
        self.alone = alone
        self.clock = Clock.of(report)
        self.options = RenderOptions()

    def section(self) -> Markup:
        report = self.report
        found = grouped(report)
        statements = [self._article(group, i) for i, group in enumerate(found, 1)]
        ident = f"case-{self.position}"
        return tag(
            "section",
            tag("h2", "The run" if self.alone else report.title or report.name, id=ident),
            *self._run(),
            self._figures(),
            *statements,
            quantities("Quantities at the start", report.quantities, self.options),
            self._provenance(),
            aria_labelledby=ident,
        )

    def _run(self) -> Iterator[Markup]:
        report = self.report
        if report.status is not Status.COMPLETED:
            yield tag("p", f"{report.status.word}: {report.status.value}", class_="word bad")
        if report.expected_status not in (None, report.status.word):
            yield tag("p", f"expected to end as {report.expected_status}", class_="word bad")
        if report.trajectory is not None and len(report.trajectory.k):
            yield tag("p", unbreakable(run_length(report.trajectory, self.clock, self.options)))
        if report.companion is not None and len(report.companion.k):
            length = run_length(report.companion, self.clock, self.options)
            yield tag("p", f"{report.companion_name}: {length}")
        for note in report.notes:
            yield tag("p", f"Note: {note}")

    def _figures(self) -> Markup | None:
        found = panels(self.report)
        figures = [figure(p, f"case-{self.position}-plot-{i}") for i, p in enumerate(found, 1)]
        return tag("div", *figures, class_="figures") if figures else None

    def _article(self, verdicts: Sequence[Verdict], number_: int) -> Markup:
        ident = _anchor(self.position, number_)
        return Article(verdicts, self.clock, ident, self.report.replay).markup()

    def _provenance(self) -> Markup:
        report = self.report
        facts = {"case": report.name, "digest": report.digest} | dict(report.environment)
        facts["seconds"] = number(report.seconds, 2)
        if report.certificate:
            facts["certificate"] = certificate_line(report)
        pairs = [join(tag("dt", name), tag("dd", value)) for name, value in facts.items()]
        # JSON is YAML: a line for each key makes a case file again.
        lines = (
            f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in plain(report.resolved).items()
        )
        return tag(
            "details",
            tag("summary", "The case as it was read, and where it was run"),
            tag("p", "To run it again: ", tag("code", report.replay)) if report.replay else None,
            tag("dl", *pairs),
            tag("pre", "\n".join(lines), tabindex="0"),
            class_="aside",
        )
