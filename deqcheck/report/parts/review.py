"""What a reviewer wants on one page about each statement: the claim as printed, the instance, both
sides, the verdict, the correction, and the command that replays it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status, Verdict
from deqcheck.records.words import CORRECTED, PRINTED
from deqcheck.report.json import plain
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock, full_title, numbered, reason, run_length, tell

WORDS = {Decision.HOLDS: "holds", Decision.VIOLATED: "fails", Decision.UNDECIDED: "open"}
# What of a case makes the instance; the rest says what is asked of it.
INSTANCE = ("seed", "data", "model", "loss", "init", "train", "rescale", "rank", "constants")
SETTLED = ("confirmed", "consistent", "met", "hypotheses hold")


@dataclass(frozen=True)
class Line:
    """A hypothesis or a conclusion: its formula, and what became of it here."""

    name: str
    formula: str
    word: str
    told: str


@dataclass(frozen=True)
class Side:
    """One edition."""

    edition: str
    outcome: str
    reason: str
    constants: str
    assumed: tuple[Line, ...]
    claimed: tuple[Line, ...]


@dataclass(frozen=True)
class Review:
    id: str
    title: str
    citation: str
    text: str
    status: str
    erratum: str
    case: str
    run: str
    # Of the case file, a line for each key.
    instance: tuple[str, ...]
    sides: tuple[Side, ...]
    replay: tuple[str, ...]
    made_by: str

    @property
    def answer(self) -> str:
        """The verdicts in one sentence each."""
        return " ".join(_answer(side) for side in self.sides)

    @property
    def corrected(self) -> Side | None:
        """Beside the printed edition: what holds instead."""
        both = {side.edition: side for side in self.sides}
        return both.get(CORRECTED) if PRINTED in both else None

    @property
    def judged(self) -> Side:
        """The printed edition, where it was judged."""
        return next((s for s in self.sides if s.edition == PRINTED), self.sides[0])


def reviews(report: Report, options: RenderOptions) -> Iterator[Review]:
    """One for each statement, in the order of the report."""
    by_id: dict[str, list[Verdict]] = {}
    for verdict in report.verdicts:
        by_id.setdefault(verdict.id, []).append(verdict)
    for id_, verdicts in by_id.items():
        first = verdicts[0]
        edition = "both" if len(verdicts) > 1 else first.edition
        again = f"{report.replay} --only {id_} --edition {edition}" if report.replay else ""
        yield Review(
            id=id_,
            title=full_title(first),
            citation=first.citation,
            text=first.text,
            status=first.status,
            erratum=first.erratum,
            case=report.title or report.name,
            run=_run(report, options),
            instance=tuple(_instance(report)),
            sides=tuple(_side(verdict, options) for verdict in verdicts),
            replay=(again,) if again else (),
            made_by=_made_by(report),
        )


def _run(report: Report, options: RenderOptions) -> str:
    """How long it was, and how it ended, if not at its end."""
    run = report.trajectory
    length = run_length(run, Clock.of(report), options) if run and len(run.k) else ""
    ended = "" if report.status is Status.COMPLETED else f"{report.status.word}"
    return ", ".join(part for part in (length, ended) if part)


def _instance(report: Report) -> Iterator[str]:
    for key, value in plain(report.resolved).items():
        if key in INSTANCE and value not in (None, {}):
            said = value
            if isinstance(value, dict):
                said = {name: x for name, x in value.items() if x is not None}
            yield f"{key}: {json.dumps(said, ensure_ascii=False)}"


def _made_by(report: Report) -> str:
    version = report.environment.get("deqcheck", "")
    digest = f", case {report.digest[:12]}" if report.digest else ""
    return f"deqcheck {version}{digest}".strip()


def _side(verdict: Verdict, options: RenderOptions) -> Side:
    chosen = (f"{name} = {x:.6g}" for name, x in verdict.constants.items())
    return Side(
        verdict.edition,
        verdict.word,
        "" if verdict.word in SETTLED else reason(verdict, options),
        ", ".join(chosen),
        tuple(_line(j, verdict, options, verdict.id) for j in verdict.hypotheses),
        tuple(_line(j, verdict, options, "") for j in verdict.conclusions),
    )


def _line(judged: Judged, verdict: Verdict, options: RenderOptions, needed_by: str) -> Line:
    told = tell(judged, Clock(verdict.flow), options)
    note = f" ({judged.note})" if judged.note else ""
    word = WORDS[judged.decision]
    return Line(numbered(judged), judged.formula, word, f"{told.removeprefix(f'{word}: ')}{note}")


def _answer(side: Side) -> str:
    edition = "As printed" if side.edition == PRINTED else "As corrected"
    why = f": {side.reason}" if side.reason else ""
    return f"{edition}, it is {side.outcome} on this instance{why}."


def changed(review: Review) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """What the corrected edition assumes and claims otherwise than the printed one."""
    other = review.corrected
    if other is None:
        return (), ()
    known = {line.formula for line in (*review.judged.assumed, *review.judged.claimed)}
    new = (
        tuple(x for x in part if x.formula not in known) for part in (other.assumed, other.claimed)
    )
    assumed, claimed = new
    return assumed, claimed
