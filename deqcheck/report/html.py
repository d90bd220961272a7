"""A self-contained page: no script, no network, every picture inside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deqcheck.records.claim import Judged
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.report.json import plain
from deqcheck.report.parts.entries import entry_told
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import panels
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import (
    Clock,
    certificate_line,
    full_title,
    kind,
    numbered,
    reason,
    run_length,
    tell,
    vector,
)
from deqcheck.report.parts.style import SHEET
from deqcheck.report.parts.svg import bar, figure
from deqcheck.report.parts.sweeps import Sweep, sweeps

GOOD = ("confirmed", "consistent", "met", "hypotheses hold")
BAD = ("refuted", "inconsistent")
SIGNS = {
    Decision.HOLDS: ("✓ holds", "good"),
    Decision.VIOLATED: ("✗ fails", "bad"),
    Decision.UNDECIDED: ("? open", "open"),
}
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
            *(_Case(r, i).section() for i, r in enumerate(reports, 1)),
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


def _summary(reports: Sequence[Report]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("td", _outcome(verdict)),
            tag(
                "td",
                tag("a", _breakable(verdict.id), href=f"#{_anchor(i, j)}"),
                f" ({verdict.edition})",
            ),
            tag("td", report.title or report.name),
        )
        for i, report in enumerate(reports, 1)
        for j, verdict in enumerate(report.verdicts, 1)
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("outcome", "statement", "case")))
    return join(
        tag("p", _tally(reports), class_="soft"),
        tag("table", tag("thead", head), tag("tbody", *rows)) if rows else None,
    )


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


def _outcome(verdict: Verdict) -> Markup:
    name = verdict.word
    if verdict.outcome is Outcome.REFUTED:
        name += f" ({kind(verdict)})"
    tone = "good" if verdict.word in GOOD else "bad" if verdict.word in BAD else "open"
    missed = tag("span", f" (expected {verdict.expected})", class_="word bad")
    return join(tag("span", name, class_=f"word {tone}"), missed if verdict.met is False else None)


def _margin(judged: Judged) -> Iterator[Any]:
    """An identity has no margin, and neither has a comparison with 0."""
    if judged.ratio is not None and judged.relation != "==":
        yield bar(judged.ratio, judged.decision)
        yield f" {number(judged.ratio, 3)}"


def _breakable(ident: str) -> Markup:
    paper, slash, name = ident.partition("/")
    return join(paper, slash, tag("wbr"), name)


def _anchor(case: int, statement: int) -> str:
    return f"case-{case}-statement-{statement}"


class _Case:
    """One case of the page."""

    def __init__(self, report: Report, position: int):
        self.report = report
        self.position = position
        self.clock = Clock.of(report)
        self.options = RenderOptions()

    def section(self) -> Markup:
        report = self.report
        statements = [self._statement(v, i) for i, v in enumerate(report.verdicts, 1)]
        ident = f"case-{self.position}"
        return tag(
            "section",
            tag("h2", report.title or report.name, id=ident),
            *self._run(),
            self._figures(),
            *statements,
            self._quantities("Quantities at the start", report.quantities),
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
            yield tag("p", run_length(report.trajectory, self.clock, self.options))
        if report.companion is not None and len(report.companion.k):
            length = run_length(report.companion, self.clock, self.options)
            yield tag("p", f"{report.companion_name}: {length}")
        for note in report.notes:
            yield tag("p", f"Note: {note}")

    def _figures(self) -> Markup | None:
        found = panels(self.report)
        figures = [figure(p, f"case-{self.position}-plot-{i}") for i, p in enumerate(found, 1)]
        return tag("div", *figures, class_="figures") if figures else None

    def _statement(self, verdict: Verdict, number_: int) -> Markup:
        ident = _anchor(self.position, number_)
        applies = not verdict.failing
        return tag(
            "article",
            tag("h3", _outcome(verdict), " ", verdict.id, f" ({verdict.edition})", id=ident),
            tag("p", full_title(verdict)),
            tag("p", verdict.citation, class_="soft") if verdict.citation else None,
            *(
                tag("p", f"because {numbered(h)} {tell(h, self.clock, self.options, True)}")
                for h in verdict.failing
            ),
            None if verdict.entry is None else tag("p", entry_told(verdict.entry, self.clock)),
            *(tag("p", f"Not checked: {reason}") for reason in verdict.unchecked),
            self._says(verdict),
            self._judged("Hypotheses", verdict.hypotheses, needed=True),
            self._judged(
                "Conclusions" if applies else "Conclusions, for information", verdict.conclusions
            ),
            self._judged("Remarks of deqcheck, which decide nothing", verdict.remarks),
            self._quantities("What it promises before training", verdict.quantities),
            *(tag("p", f"Note: {note}") for note in verdict.notes),
            self._erratum(verdict),
            self._replay(verdict),
            aria_labelledby=ident,
        )

    def _says(self, verdict: Verdict) -> Markup | None:
        """The statement's text and the values of its free constants."""
        if not verdict.text and not verdict.constants:
            return None
        paragraphs = [tag("p", part) for part in verdict.text.split("\n\n") if part]
        chosen = ", ".join(f"{name} = {number(x)}" for name, x in verdict.constants.items())
        constants = tag("p", f"Judged with {chosen}.") if chosen else None
        summary = tag("summary", "What it says")
        return tag("details", summary, *paragraphs, constants, open="")

    def _judged(
        self, heading: str, judged: Sequence[Judged], needed: bool = False
    ) -> Markup | None:
        if not judged:
            return None
        names = ("", "claim", "finding", "margin")
        head = tag("tr", *(tag("th", name, scope="col") for name in names))
        rows = [self._row(j, needed) for j in judged]
        table = tag("table", tag("thead", head), tag("tbody", *rows), class_="judged")
        return join(tag("h4", heading), table)

    def _row(self, judged: Judged, needed: bool) -> Markup:
        sign, tone = SIGNS[judged.decision]
        finding = tell(judged, self.clock, self.options, needed)
        if judged.note:
            finding += f" ({judged.note})"
        formula = tag("div", judged.formula, class_="formula") if judged.formula else None
        return tag(
            "tr",
            tag("td", tag("span", sign, class_=f"word {tone}")),
            tag("td", numbered(judged), formula),
            tag("td", finding, tag("div", str(judged.basis), class_="soft")),
            tag("td", *_margin(judged)),
        )

    def _quantities(self, heading: str, quantities: Mapping[str, Measured]) -> Markup | None:
        if not quantities:
            return None
        rows = [
            tag("tr", tag("th", name, scope="row"), tag("td", vector(m, self.options)))
            for name, m in quantities.items()
        ]
        table = tag("table", tag("tbody", *rows), class_="numbers")
        return tag("details", tag("summary", heading), table)

    def _erratum(self, verdict: Verdict) -> Markup | None:
        if not verdict.erratum:
            return None
        if verdict.status == "sound":
            return tag("p", f"Remark: {verdict.erratum}", class_="erratum")
        status = f" ({verdict.status} as printed)" if verdict.status else ""
        return tag("p", f"Erratum{status}: {verdict.erratum}", class_="erratum")

    def _replay(self, verdict: Verdict) -> Markup | None:
        if not self.report.replay:
            return None
        line = f"{self.report.replay} --only {verdict.id} --edition {verdict.edition}"
        return tag("p", "Again, this statement alone: ", tag("code", line))

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
            open="",
        )
