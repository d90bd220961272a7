"""One statement on a page: both editions in one block, what is wrong in print before the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.report.parts.differences import differences
from deqcheck.report.parts.entries import entry_told
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.notation import in_mathml, in_unicode
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock, full_title, kind, numbered, tell, vector
from deqcheck.report.parts.svg import bar

GOOD = ("confirmed", "consistent", "met", "hypotheses hold")
BAD = ("refuted", "inconsistent")
SIGNS = {
    Decision.HOLDS: ("✓ holds", "good"),
    Decision.VIOLATED: ("✗ fails", "bad"),
    Decision.UNDECIDED: ("? open", "open"),
}
# An edition, where only that one has it, and a judged claim.
Row = tuple[str, Judged]


def outcome(verdict: Verdict) -> Markup:
    name = verdict.word
    if verdict.outcome is Outcome.REFUTED:
        name += f" ({kind(verdict)})"
    tone = "good" if verdict.word in GOOD else "bad" if verdict.word in BAD else "open"
    missed = tag("span", f" (expected {verdict.expected})", class_="word bad")
    return join(tag("span", name, class_=f"word {tone}"), missed if verdict.met is False else None)


def unbreakable(text: str) -> Markup:
    """A number does not end at its minus."""
    parts = re.split(r"(\S*\d[\d.]*e[-+]\d+\S*)", text)
    return join(*(tag("span", p, class_="n") if i % 2 else p for i, p in enumerate(parts) if p))


class Article:
    """The editions of one statement that were judged."""

    def __init__(self, verdicts: Sequence[Verdict], clock: Clock, ident: str, replay: str):
        self.verdicts, self.clock, self.ident, self.replay = verdicts, clock, ident, replay
        self.options = RenderOptions()
        self.first = verdicts[0]
        self.id = self.first.id

    def markup(self) -> Markup:
        first = self.first
        heads = [
            tag("span", outcome(v), " ", tag("span", v.edition, class_="soft"), class_="edition")
            for v in self.verdicts
        ]
        return tag(
            "article",
            tag("h3", f"{first.id}: {full_title(first)}", id=self.ident),
            tag("p", *(part for head in heads for part in (head, " "))),
            tag("p", first.citation, class_="soft") if first.citation else None,
            *(tag("p", *line) for v in self.verdicts for line in self._reasons(v)),
            self._erratum(),
            self._says(),
            self._table("Hypotheses", "hypotheses"),
            self._table(self._concluding, "conclusions"),
            self._table("Remarks of deqcheck, which decide nothing", "remarks"),
            *(self._promises(v) for v in self.verdicts),
            *(tag("p", self._which(v), f"Note: {note}") for v in self.verdicts for note in v.notes),
            self._again(),
            aria_labelledby=self.ident,
        )

    @property
    def _concluding(self) -> str:
        for_information = all(verdict.failing for verdict in self.verdicts)
        return "Conclusions, for information" if for_information else "Conclusions"

    def _which(self, verdict: Verdict) -> str:
        return f"{verdict.edition}: " if len(self.verdicts) > 1 else ""

    def _reasons(self, v: Verdict) -> Iterator[tuple[Any, ...]]:
        for h in v.failing:
            told = tell(h, self.clock, self.options, v.id)
            yield self._which(v), unbreakable(f"because {numbered(h)} {told}")
        if v.entry is not None:
            yield self._which(v), unbreakable(entry_told(v.entry, self.clock))
        for limit in v.unchecked:
            yield self._which(v), f"Not checked: {limit}"

    def _says(self) -> Markup | None:
        """The statement's text and the values of its free constants."""
        chosen: dict[str, str] = {}
        for v in self.verdicts:
            values = ", ".join(f"{name} = {number(x)}" for name, x in v.constants.items())
            if values:
                # Of both editions where they agree.
                chosen[values] = "" if values in chosen else self._which(v)
        if not self.first.text and not chosen:
            return None
        paragraphs = [tag("p", part) for part in self.first.text.split("\n\n") if part]
        constants = [tag("p", f"{which}Judged with {x}.") for x, which in chosen.items()]
        summary = tag("summary", "What it says")
        return tag("details", summary, *paragraphs, *constants, open="")

    def _erratum(self) -> Markup | None:
        first = self.first
        if not first.erratum:
            return None
        if first.status == "sound":
            return tag("p", f"Remark: {first.erratum}", class_="erratum")
        status = f" ({first.status} as printed)" if first.status else ""
        return tag("p", f"Erratum{status}: {first.erratum}", class_="erratum")

    def _rows(self, part: str) -> list[Row]:
        """What both editions share once; else one after the other."""
        first = [(self.verdicts[0].edition, j) for j in getattr(self.verdicts[0], part)]
        if len(self.verdicts) == 1:
            return [("", judged) for _, judged in first]
        edition = self.verdicts[1].edition
        others = list(getattr(self.verdicts[1], part))
        found: list[Row] = []
        for mine, judged in first:
            twin = next((o for o in others if _same(o, judged)), None)
            found.append(("" if twin else mine, judged))
            partner = twin or next((o for o in others if o.name == judged.name), None)
            if partner is not None:
                others.remove(partner)
                if twin is None:
                    found.append((edition, partner))
        return [*found, *((edition, other) for other in others)]

    def _table(self, heading: str, part: str) -> Markup | None:
        rows = self._rows(part)
        if not rows:
            return None
        names = ("", "claim", "finding", "margin")
        head = tag("tr", *(tag("th", name, scope="col") for name in names))
        before = [None, *rows[:-1]]
        body = [self._row(row, last) for row, last in zip(rows, before, strict=True)]
        table = tag("table", tag("thead", head), tag("tbody", *body), class_="judged")
        return join(tag("h4", heading), table)

    def _row(self, row: Row, before: Row | None) -> Markup:
        edition, judged = row
        sign, tone = SIGNS[judged.decision]
        # The formula stands beside it.
        finding = tell(judged, self.clock, self.options)
        if judged.note:
            finding += f" ({judged.note})"
        which = tag("div", edition, class_="only") if edition else None
        formula = None
        if judged.formula:
            formula = tag("div", in_mathml(judged.formula, self.id), class_="formula")
        return tag(
            "tr",
            tag("td", tag("span", sign, class_=f"word {tone}"), which),
            tag("td", numbered(judged), formula, self._difference(row, before)),
            tag("td", unbreakable(finding), tag("div", str(judged.basis), class_="soft")),
            tag("td", *_margin(judged)),
            class_="differs" if edition else None,
        )

    def _difference(self, row: Row, before: Row | None) -> Markup | None:
        """In the second of a pair: what is not as in the first."""
        paired = before and before[0] and row[0] and before[1].name == row[1].name
        if not before or not paired or before[1].formula == row[1].formula:
            return None
        texts = (in_unicode(each.formula, self.id) for each in (before[1], row[1]))
        marked = [tag("mark", t) if differs else t for t, differs in differences(*texts)[1]]
        return tag("div", *marked, class_="soft formula", aria_hidden="true")

    def _promises(self, verdict: Verdict) -> Markup | None:
        heading = f"{self._which(verdict)}What it promises before training"
        return quantities(heading, verdict.quantities, self.options)

    def _again(self) -> Markup | None:
        if not self.replay:
            return None
        edition = "both" if len(self.verdicts) > 1 else self.first.edition
        line = f"{self.replay} --only {self.id} --edition {edition}"
        return tag("p", "Again, this statement alone: ", tag("code", line))


def quantities(heading: str, found: Any, options: RenderOptions) -> Markup | None:
    if not found:
        return None
    rows = [_quantity(name, m, options) for name, m in found.items()]
    table = tag("table", tag("tbody", *rows), class_="numbers")
    return tag("details", tag("summary", heading), table, class_="aside")


def _quantity(name: str, m: Measured, options: RenderOptions) -> Markup:
    return tag("tr", tag("th", name, scope="row"), tag("td", unbreakable(vector(m, options))))


def _same(one: Judged, other: Judged) -> bool:
    """Whether both say the same of the same."""
    keys = [(j.name, j.equation, j.formula, j.decision, j.ratio, j.note) for j in (one, other)]
    return keys[0] == keys[1]


def _margin(judged: Judged) -> Iterator[Any]:
    """An identity has no margin, and neither has a comparison with 0."""
    if judged.ratio is not None and judged.relation != "==":
        yield bar(judged.ratio, judged.decision)
        yield tag("span", f" {number(judged.ratio, 3)}", class_="n")
