"""All verdicts of a case in one line, and the order in which they are shown."""

from __future__ import annotations

from collections import Counter

from deqcheck.records.judged import Judged
from deqcheck.records.report import Report
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.report.parts.numbers import number

# With these outcomes a reader asks why.
UNEXPLAINED = {"not applicable", "not met", "undecided", "not checked", "hypotheses open"}


def ordered(report: Report) -> list[Verdict]:
    """Convergence theorems first, all else after them."""
    return sorted(report.verdicts, key=lambda verdict: not verdict.convergence)


def summary(report: Report) -> str:
    """`17 statements: 2 confirmed, 15 not applicable; nearest convergence theorem: ...`"""
    counted = Counter(verdict.word for verdict in report.verdicts)
    ids = {verdict.id for verdict in report.verdicts}
    noun = "statements" if len(ids) == len(report.verdicts) else "verdicts"
    tally = ", ".join(f"{n} {word}" for word, n in counted.most_common())
    parts = [f"{len(report.verdicts)} {noun}: {tally}", _convergence(report)]
    return "; ".join(part for part in parts if part)


def _convergence(report: Report) -> str:
    about = [verdict for verdict in report.verdicts if verdict.convergence]
    held = dict.fromkeys(verdict.id for verdict in about if _followed(verdict))
    if held:
        return f"convergence theorems that apply: {', '.join(held)}"
    failing = [verdict for verdict in about if verdict.failing]
    if not failing:
        return "" if about else "no convergence theorem is about this model and training"
    nearest = max(failing, key=lambda verdict: _ratio(_worst(verdict)))
    worst = _worst(nearest)
    place = worst.equation or worst.name
    ratio = "" if worst.ratio is None else f", ratio {number(worst.ratio, 3)}"
    return f"nearest convergence theorem: {nearest.id}{ratio} at {place}"


def _followed(verdict: Verdict) -> bool:
    """Whether its hypotheses hold and a run was compared with its bound."""
    judged = verdict.outcome in (Outcome.CONFIRMED, Outcome.REFUTED)
    return judged and any(each.curve is not None for each in verdict.conclusions)


def _worst(verdict: Verdict) -> Judged:
    """The hypothesis that is furthest from holding."""
    return min(verdict.failing, key=_ratio)


def _ratio(judged: Judged) -> float:
    """Below 1, and 0 where nothing tells by how much it fails."""
    ratio = judged.ratio
    return 0.0 if ratio is None or not ratio > 0 else float(ratio)
