"""Judged claims and curves in words."""

from __future__ import annotations

import math
from typing import Protocol

from deqcheck.frozen import dataclass
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import CurveFacts, Judged, Point
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Verdict
from deqcheck.report.parts.notation import in_unicode
from deqcheck.report.parts.numbers import comparison, number, with_error
from deqcheck.report.parts.render_options import RenderOptions

OPPOSITE = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!="}


@dataclass(frozen=True)
class Clock:
    """How a run counts: steps for gradient descent, time for a flow."""

    flow: bool

    @classmethod
    def of(cls, report: Report) -> Clock:
        return cls(report.trajectory is not None and report.trajectory.flow)

    @property
    def symbol(self) -> str:
        return "t" if self.flow else "k"

    def range(self, facts: CurveFacts) -> str:
        """`for 1 <= k <= 412 of 2000` where each of these steps was looked at, and otherwise `at 19
        points, 1 <= k <= 412 of 2000`."""
        where = "" if self._every_step(facts) else f"at {facts.points} points, "
        if self.flow:
            start = "0 < t" if facts.first else "0 <= t"
            return f"{where}{start} <= {number(facts.horizon_t)} of {number(facts.last_t)}"
        return f"{where or 'for '}{facts.first} <= k <= {facts.horizon} of {facts.last}"

    def _every_step(self, facts: CurveFacts) -> bool:
        if self.flow or facts.horizon is None:
            return False
        return facts.points == facts.horizon - facts.first + 1

    def at(self, point: Point) -> str:
        return f"t = {number(point.t)}" if self.flow else f"k = {point.k}"


class Numbered(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def equation(self) -> str: ...


def numbered(thing: Numbered) -> str:
    """`name (7)`; an equation that is no number in brackets is put into them."""
    if not thing.equation or thing.equation.startswith("("):
        return f"{thing.name} {thing.equation}".rstrip()
    return f"{thing.name} ({thing.equation})"


def tell(judged: Judged, clock: Clock, options: RenderOptions, needed_by: str = "") -> str:
    """One sentence about a claim or a curve, without its name. What a statement needs, a
    hypothesis, is told as such where it fails; that statement is named by its id."""
    if judged.decision is Decision.UNDECIDED:
        return _undecided(judged, clock, options)
    if judged.decision is Decision.VIOLATED:
        return _fails(judged, clock, options, needed_by)
    return _claim(judged, options) if judged.curve is None else _holds(judged, judged.curve, clock)


def reason(verdict: Verdict, options: RenderOptions) -> str:
    """The first claim that stands in the way of `confirmed`; empty where none does."""
    for decision in (Decision.VIOLATED, Decision.UNDECIDED):
        for needed_by, parts in ((verdict.id, verdict.hypotheses), ("", verdict.conclusions)):
            for judged in parts:
                if judged.decision is decision:
                    told = tell(judged, Clock(verdict.flow), options, needed_by)
                    return f"{numbered(judged)} {told}"
    return "; ".join(verdict.unchecked)


def kind(verdict: Verdict) -> str:
    """What a verdict rests on."""
    return "certified" if verdict.certified else "estimated"


def full_title(verdict: Verdict) -> str:
    """`Theorem 1: Linear rate of the flow`."""
    return f"{verdict.number}: {verdict.title}" if verdict.number else verdict.title


def run_length(track: Trajectory, clock: Clock, options: RenderOptions) -> str:
    """How long a run was, and from which loss to which."""
    steps, time = int(track.k[-1]), number(track.t[-1])
    length = f"flow until t = {time}" if clock.flow else f"{steps} steps (t = {time})"
    first, last = (with_error(track.loss[i], options) for i in (0, -1))
    return f"{length}, loss {first} -> {last}"


def vector(m: Measured, options: RenderOptions) -> str:
    """A scalar, or the range of a vector."""
    if not isinstance(m.value, float):
        ends = (number(float(m.value.min())), number(float(m.value.max())))
        return f"{ends[0]} .. {ends[1]} ({len(m)} values)"
    return with_error(m, options)


def _is_flag(judged: Judged) -> bool:
    """Yes or no, written as 1 or 0: the name of the claim says it all."""
    sides = (judged.left, judged.right)
    return judged.relation == "==" and all(m.exact and m.value in (0, 1) for m in sides)


def _claim(judged: Judged, options: RenderOptions) -> str:
    if _is_flag(judged):
        return "holds"
    return f"{comparison(judged.left, judged.relation, judged.right, options)}{_margin(judged)}"


def shown(formula: str, options: RenderOptions, scope: str) -> str:
    """A formula of the statement with the id `scope`, for a terminal."""
    return in_unicode(formula, scope) if options.unicode else formula


def _fails(judged: Judged, clock: Clock, options: RenderOptions, needed_by: str) -> str:
    first = judged.curve and judged.curve.first_violation
    where = f" first at {_moment(first, clock)}" if first else ""
    if _is_flag(judged):
        return f"fails{where}"
    if needed_by and judged.formula:
        sides = " and ".join(with_error(m, options) for m in (judged.left, judged.right))
        ratio = "" if judged.ratio is None else f" (ratio {number(judged.ratio, 3)})"
        formula = shown(judged.formula, options, needed_by)
        return f"fails{where}: needs {formula}; here {sides}{ratio}"
    sides = comparison(judged.left, OPPOSITE[judged.relation], judged.right, options)
    return f"{'violated' if where else 'fails'}{where}: {sides}{'' if where else _margin(judged)}"


def _moment(point: Point, clock: Clock) -> str:
    return clock.at(point) if clock.flow else f"k = {point.k} (t = {number(point.t)})"


def _margin(judged: Judged) -> str:
    if judged.ratio is None or judged.relation == "==":
        return ""
    return f", ratio {number(judged.ratio, 3)}"


def _holds(judged: Judged, facts: CurveFacts, clock: Clock) -> str:
    parts = [f"holds {clock.range(facts)}"]
    if facts.horizon != facts.last:
        parts[0] += " (below resolution after)"
    if facts.tightest is not None:
        slack = f"tightest at {clock.at(facts.tightest)}"
        if facts.tightest.slack is not None:
            slack += f": {_quotient(judged)} = {number(facts.tightest.slack)}"
        parts.append(slack)
    if facts.rate_tightness is not None:
        parts.append(f"rate tightness {number(facts.rate_tightness, 3)}")
    return ", ".join(parts)


def _quotient(judged: Judged) -> str:
    return "value/bound" if judged.relation in (">=", ">") else "bound/value"


def _undecided(judged: Judged, clock: Clock, options: RenderOptions) -> str:
    sides = comparison(judged.left, judged.relation, judged.right, options)
    if judged.undecided == "open":
        reason = "equal to as many digits as were computed"
    elif not all(math.isfinite(side.error) for side in (judged.left, judged.right)):
        reason = "no error bar could be had"
    elif judged.relation == "==":
        reason = "the error bars are too wide for an identity"
    else:
        reason = "equal within the error bars"
    facts = judged.curve
    if facts is None:
        return f"undecided, {reason}: {sides}"
    if facts.horizon is None:
        return f"undecided from the first step, {reason}: {sides}"
    return f"undecided: holds {clock.range(facts)}, then open"


def certificate_line(report: Report) -> str:
    """Its digest, and how much of the report rests on exact numbers."""
    checks = [c for v in report.verdicts for c in (*v.hypotheses, *v.conclusions)]
    sure = sum(check.basis.certified for check in checks)
    return f"sha256 {report.certificate}; {sure} of {len(checks)} checks are certified"
