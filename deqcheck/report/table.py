"""The table for people: title, run, plot, and one block for each statement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.records.words import PRINTED
from deqcheck.report.parts.console import ENDLESS, columns, heading, indented, render_text
from deqcheck.report.parts.curves import bounds, relative_bound
from deqcheck.report.parts.entries import entry_lines, entry_told
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.plot import Line, plot
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import (
    Clock,
    certificate_line,
    full_title,
    kind,
    numbered,
    reason,
    run_length,
    shown,
    tell,
    vector,
)
from deqcheck.report.parts.summary import UNEXPLAINED, ordered, summary
from deqcheck.report.parts.sweeps import sweeps

LOG_K_FROM = 1000
GOOD, BAD, OPEN = "green", "bold red", "yellow"
COLORS = {
    "confirmed": GOOD,
    "consistent": GOOD,
    "met": GOOD,
    "hypotheses hold": GOOD,
    "refuted": BAD,
    "inconsistent": BAD,
}
# With these outcomes, or none yet, what a statement promises is the answer.
BEFORE_TRAINING = (None, Outcome.MET, Outcome.NOT_MET)
MARKS = {
    Decision.HOLDS: ("✓", "ok", GOOD),
    Decision.VIOLATED: ("✗", "no", BAD),
    Decision.UNDECIDED: ("?", "?", OPEN),
}


def render(reports: Sequence[Report], options: RenderOptions) -> str:
    if options.quiet:
        lines = (_explained(v, _marked(r), options) for r in reports for v in ordered(r))
        return render_text(lines, RenderOptions(ENDLESS, options.color, options.unicode))
    return render_text(_parts(reports, options), options)


def explain(verdict: Verdict) -> str:
    """One verdict with every hypothesis and conclusion."""
    page = _Page(Report({}, (verdict,)), RenderOptions(width=100))
    page.clock = Clock(verdict.flow)
    return render_text(page.statement(verdict), page.options)


def _marked(report: Report) -> str:
    """The case, and whether its run was cut short."""
    return f"{report.name} [partial]" if report.status is Status.INTERRUPTED else report.name


def _parts(reports: Sequence[Report], options: RenderOptions) -> Iterator[RenderableType]:
    for report in reports:
        yield from _Page(report, options).parts()
    for sweep in sweeps(reports):
        yield Text(sweep.title, "bold")
        yield columns([heading(sweep.header), *sweep.rows(options)])
        panel = sweep.panel()
        if panel is not None:
            yield Text("")
            lines = [Line(trace.label, trace.x, trace.y) for trace in panel.traces]
            yield from _drawn(lines, panel.x_label, False, options)
        yield Text("")


def _drawn(
    lines: Sequence[Line], x_label: str, log_x: bool, options: RenderOptions
) -> Iterator[RenderableType]:
    for row in plot(lines, x_label, log_x, min(72, options.width - 4)):
        yield Text(row, no_wrap=True, overflow="ellipsis")


def _headline(verdict: Verdict, case: str = "") -> Text:
    outcome = verdict.word
    # What a refutation rests on is the first thing to know of it.
    rests = f" ({kind(verdict)})" if verdict.outcome is Outcome.REFUTED and not case else ""
    line = Text.assemble(
        (outcome.upper() + rests, COLORS.get(outcome, OPEN)),
        (f" {verdict.id} ({verdict.edition})", "bold"),
        f" {case or full_title(verdict)}",
    )
    if verdict.met is False:
        line.append(f" [expected {verdict.expected}]", BAD)
    return line


def _explained(verdict: Verdict, case: str, options: RenderOptions) -> Text:
    """One line, with the reason behind an outcome that asks for one."""
    line, entry = _headline(verdict, case), verdict.entry
    if entry is not None and entry.found:
        return line.append(f": {entry_told(entry, Clock(verdict.flow))}")
    why = reason(verdict, options) if verdict.word in UNEXPLAINED else ""
    return line.append(f": {why}") if why else line


class _Page:
    """One case."""

    def __init__(self, report: Report, options: RenderOptions):
        self.report = report
        self.options = options
        self.clock = Clock.of(report)

    def parts(self) -> Iterator[RenderableType]:
        report = self.report
        file = f" ({report.name})" if report.title else report.name
        yield Text.assemble((report.title, "bold"), file)
        yield from self._status()
        for note in report.notes:
            yield Text(f"note: {note}", BAD if note == report.warning else "")
        if report.trajectory is not None and len(report.trajectory.k):
            yield Text(self._run(report.trajectory))
            if report.companion is not None:
                length = run_length(report.companion, self.clock, self.options)
                yield Text(f"{report.companion_name}: {length}")
            yield Text("")
            yield from self._plot(report.trajectory)
        elif report.quantities:
            yield Text("")
            yield self._quantities(report.quantities)
        for verdict in ordered(report):
            yield Text("")
            yield from self.statement(verdict)
        if len(report.verdicts) > 1:
            yield Text("")
            yield Text(summary(report), "bold")
        if report.certificate:
            yield Text("")
            yield Text(f"certificate {certificate_line(report)}")
        if not report.verdicts and report.status is Status.COMPLETED:
            yield Text("no statement applies to this model and dynamics", OPEN)
        yield Text("")

    def _status(self) -> Iterator[RenderableType]:
        status, expected = self.report.status, self.report.expected_status
        if status is not Status.COMPLETED:
            yield Text(f"{status.word}: {status.value}", BAD)
        if expected is not None and expected != status.word:
            yield Text(f"the run ended as {status.word}, expected {expected}", BAD)

    def _run(self, track: Trajectory) -> str:
        return f"{run_length(track, self.clock, self.options)}, {number(self.report.seconds, 2)} s"

    def _plot(self, track: Trajectory) -> Iterator[RenderableType]:
        start = float(track.gap.value[0])
        if not 0 < start < math.inf:
            return
        clock = self.clock
        name = "loss - infimum, relative to its start"
        lines = [Line(name, track.t if clock.flow else track.k, track.gap.value / start)]
        other = self.report.companion
        if other is not None and 0 < other.gap.value[0] < math.inf:
            x = other.t if clock.flow else other.k
            values = other.gap.value / other.gap.value[0]
            lines.append(Line(f"{self.report.companion_name}, for comparison", x, values))
        for bound in bounds(self.report):
            values = relative_bound(bound)
            if values is not None:
                x = bound.facts.t if clock.flow else bound.facts.k
                lines.append(Line(f"{bound.key}: {bound.judged.name}", x, values))
        log_x = not clock.flow and int(track.k[-1]) > LOG_K_FROM
        yield from _drawn(lines, clock.symbol, log_x, self.options)

    def statement(self, verdict: Verdict) -> Iterator[RenderableType]:
        yield _headline(verdict)
        applies = True
        for hypothesis in verdict.failing:
            applies = False
            told = tell(hypothesis, self.clock, self.options, verdict.id)
            yield indented(f"because {hypothesis.name} {told}")
        if verdict.entry is not None:
            first, *more = entry_lines(verdict.entry, self.clock)
            # Where it applies from is not to be torn apart.
            yield indented(Text(first, no_wrap=verdict.entry.found, overflow="ignore"))
            yield from map(indented, more)
        yield from (indented(f"not checked: {reason}") for reason in verdict.unchecked)
        if verdict.constants:
            chosen = (f"{name} = {number(x)}" for name, x in verdict.constants.items())
            yield indented(f"with {', '.join(chosen)}")
        if verdict.hypotheses:
            yield indented(Text("hypotheses", "dim"))
            yield self._rows(verdict.hypotheses, verdict.id, needed=True)
        if verdict.conclusions:
            yield indented(Text("conclusions" + ("" if applies else ", for information"), "dim"))
            yield self._rows(verdict.conclusions, verdict.id)
        if verdict.remarks:
            yield indented(Text("remarks of deqcheck, which decide nothing", "dim"))
            yield self._rows(verdict.remarks, verdict.id)
        if verdict.outcome in BEFORE_TRAINING and verdict.quantities:
            yield indented(Text("promises", "dim"))
            yield self._quantities(verdict.quantities, indent=4)
        yield from (indented(f"note: {note}") for note in verdict.notes)
        if verdict.erratum and verdict.edition == PRINTED:
            yield indented(f"erratum: {verdict.erratum}")
        if verdict.outcome is Outcome.REFUTED and self.report.replay:
            one = f"--only {verdict.id} --edition {verdict.edition}"
            yield indented(f"replay: {self.report.replay} {one}")

    def _rows(self, judged: Sequence[Judged], of: str, needed: bool = False) -> RenderableType:
        return columns((self._row(j, of, needed) for j in judged), indent=4)

    def _row(self, judged: Judged, of: str, needed: bool) -> tuple[Text, ...]:
        fancy, plain, style = MARKS[judged.decision]
        sentence = tell(judged, self.clock, self.options, of if needed else "")
        if judged.note:
            sentence += f" ({judged.note})"
        if judged.basis.certified:
            sentence += f", {judged.basis}"
        if self.options.formulas and judged.formula:
            sentence = f"{shown(judged.formula, self.options, of)}\n{sentence}"
        return (
            Text(fancy if self.options.unicode else plain, style),
            Text(numbered(judged)),
            Text(sentence),
        )

    def _quantities(self, quantities: Mapping[str, Measured], indent: int = 2) -> RenderableType:
        rows = [(Text(name), Text(vector(m, self.options))) for name, m in quantities.items()]
        return columns([heading(("quantity", "value")), *rows], indent)
