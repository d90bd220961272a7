"""How near an instance comes to refuting a statement: one number, the smaller the nearer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from deqcheck.dynamics import read_train
from deqcheck.dynamics.recorder import Progress
from deqcheck.explore.falsify.instance import Instance, Pace
from deqcheck.fields import Refusal
from deqcheck.judging.authored import authored
from deqcheck.judging.errors import UsageError
from deqcheck.judging.training import check_start, train
from deqcheck.judging.verdicts import Drawing, verdict
from deqcheck.linalg.minimax import Memory, roughly
from deqcheck.models.problem import AnyProblem, NoEquilibrium, gradient_norm
from deqcheck.records.arithmetic import FAILURES, OutOfRange, in_range
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.lazy import cached_property
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.base import STATIC, AnyStatement, Check
from deqcheck.theorems.drawn import fewer
from deqcheck.theorems.frequency import Frequency
from deqcheck.theorems.searched import values_seen

# Of what could not even be set up, or has no equilibrium: worse than any hypothesis that fails.
UNUSABLE, NO_EQUILIBRIUM = 100.0, 50.0
# Ties such as 0 > 0 are no continuous violations: they lead nowhere.
TIE = 2.0
# Of a violation that is a tie, such as 1 < 1.
LEAST = 1e-12
# What an instance without counterexamples has to show: identities hold or fail.
FLAT = 1.0
# So many hypotheses come before those that cost something.
FIRST = 2
# More hypotheses than there are.
ALL = 1_000_000
NO_KINKS = "away from kinks and hidden ranks"


@dataclass(frozen=True)
class Shown:
    """A conclusion of a feasible instance: by how much it holds, or fails."""

    claim: str
    margin: float
    violated: bool


@dataclass(frozen=True)
class Score:
    """Below 0 the statement is refuted, by that margin; up to 1 its hypotheses hold, and a
    conclusion holds by no more than that; above 1 hypotheses fail."""

    value: float
    feasible: bool = False
    # Of a feasible one: what it says of each conclusion.
    shown: tuple[Shown, ...] = ()
    failing: tuple[str, ...] = ()
    # By so much together, and how many were looked at at most.
    short: float = 0.0
    asked: int = ALL
    # The same as a number for each: below 0 for what is violated.
    slack: Mapping[str, float] = field(default_factory=dict)
    # With the step or horizon that was taken.
    instance: Instance | None = None

    @property
    def refuted(self) -> bool:
        return self.value < 0


class TooLate(BaseException):
    """The time is over while a run is made: no mistake of whoever wrote the statement."""


def margin(judged: Judged) -> float:
    """By how much a claim holds (positive) or fails, relative to its sides and with their error
    bars against the answer: between -1 and 1."""
    left, right, relation = judged.left, judged.right, judged.relation
    if judged.curve is None:
        return _margin(left.value, left.error, relation, right.value, right.error)
    facts = judged.curve
    seen = facts.k >= facts.first
    sides = zip(*(np.asarray(a)[seen].tolist() for a in _sides(facts)), strict=True)
    return min((_margin(x, dx, relation, y, dy) for x, dx, y, dy in sides), default=0.0)


def _sides(facts: Any) -> tuple[Any, ...]:
    return facts.value.value, facts.value.error, facts.bound.value, facts.bound.error


def _margin(x: float, dx: float, relation: str, y: float, dy: float) -> float:
    size = abs(x) + abs(y)
    gap = x - y if relation in (">=", ">") else y - x
    if relation == "==":
        gap = -abs(gap)
    # An error bar never makes an answer: it only takes from what the numbers say.
    shrunk = max(abs(gap) - dx - dy, 0.0)
    share = math.copysign(shrunk / size, gap) if size > 0 else 0.0
    return share if math.isfinite(share) else 0.0


def _penalty(judged: Judged) -> float:
    """Of a hypothesis that does not hold."""
    if judged.decision is Decision.HOLDS:
        return 0.0
    found = -margin(judged)
    return found if found > 0 else TIE


class Also:
    """A further hypothesis: a formula in the names that the statement's own checks use."""

    def __init__(self, text: str):
        try:
            self.check = Check("the further hypothesis", text)
        except ValueError as error:
            raise UsageError(f"--also: {error}") from None

    def penalty(self, values: Mapping[str, Any]) -> float:
        """Raises UsageError for a name that no check has."""
        unknown = sorted(self.check.formula.names - values.keys())
        if unknown:
            raise UsageError(
                f"--also: the statement's checks have no {' and no '.join(unknown)}; they have "
                f"{', '.join(sorted(values))}"
            )
        known = {name: values[name] for name in self.check.formula.names}
        try:
            return _penalty(self.check(**known).judge())
        except ValueError as error:
            raise UsageError(f"--also: {error}") from None


@dataclass
class Scorer:
    """Scores the instances of one statement."""

    statement: AnyStatement
    also: Also | None = None
    degenerate: bool = False
    # Raises TooLate to end a run.
    watch: Callable[[Progress], None] = lambda step: None
    # Looks at every hypothesis, whatever fails before.
    patient: bool = False
    # Of searches for free constants: where none make the hypotheses hold, that is all that counts.
    _memory: Memory = field(default_factory=dict)

    @cached_property
    def _checks(self) -> int:
        """No fewer than it has hypotheses."""
        cls = type(self.statement)
        return sum(isinstance(getattr(cls, name), Check) for name in dir(cls))

    def __call__(self, instance: Instance, beat: float | None = None) -> Score:
        """Hypotheses in the order of the statement, which is cheap first. Those after one of the
        first that fails, and unless it may beat an instance that fails after any, are not looked
        at; where one fails, no conclusion is. Whatever is not looked at, also since the statement
        itself says no more, counts as failed: what comes further is nearer."""
        s = self.statement
        if instance.constants:
            s = type(s)(s.edition, instance.constants)
            if [*s.outside(), *s.faults()]:
                return Score(UNUSABLE)
        try:
            with in_range():
                try:
                    p = instance.problem
                except ValueError:
                    return Score(UNUSABLE)
                with authored(s, p), roughly(self._memory), fewer():
                    return self._score_also(s, p, instance, beat)
        except (Refusal, OutOfRange):
            return Score(UNUSABLE)
        except NoEquilibrium:
            return Score(NO_EQUILIBRIUM)

    def _score_also(
        self, s: AnyStatement, p: AnyProblem, instance: Instance, beat: float | None
    ) -> Score:
        """With the further hypothesis, if there is one."""
        if self.also is None:
            return self._score(s, p, instance, beat)
        with values_seen() as values:
            found = self._score(s, p, instance, beat)
            penalty = self.also.penalty(values) if found.feasible else 0.0
        if not penalty:
            return found
        return Score(1 + penalty, failing=(self.also.check.name,), short=penalty)

    def _score(
        self, s: AnyStatement, p: AnyProblem, instance: Instance, beat: float | None
    ) -> Score:
        # Where the climb stands on an instance that meets them, one that fails is enough.
        thorough = beat is not None and beat > 1
        failed = self._failed(self._hypotheses(s, p), thorough)
        if failed is not None:
            return failed
        unfit = self._unfit(s, p)
        if unfit is not None:
            return unfit
        if STATIC not in s.dynamics:
            return self._trained(s, p, instance)
        claims = (c.judge() for c in s.claims(p, p.start))
        if s.is_condition:
            # Whether it is met is all that there is to ask.
            failed = self._failed(claims, thorough, further=True)
            return failed or Score(FLAT, True, instance=instance)
        return _concluded(list(claims), instance)

    def _unfit(self, s: AnyStatement, p: AnyProblem) -> Score | None:
        """Where the start is none that a case may have, or not one that the statement looks at."""
        check_start(p)
        if not self.degenerate and p.start.warnings:
            return Score(1 + TIE, failing=(NO_KINKS,), short=TIE)
        return Score(UNUSABLE) if any(True for _ in s.unchecked(p)) else None

    def _trained(self, s: AnyStatement, p: AnyProblem, instance: Instance) -> Score:
        if instance.pace is not None:
            instance = replace(instance, train=_paced(s, p, instance.pace), pace=None)
            p = p.trained_by(read_train(dict(instance.train or {})))
        before = (s.departures(p), s.setting(p), s.step_hypotheses(p) if p.step else ())
        failed = self._failed((claim.judge() for claim in chain(*before)), True, further=True)
        if failed is not None:
            return replace(failed, instance=instance)
        found = verdict(s, p, train(p, [s], self.watch), _Drawing)
        failed = self._failed(iter(found.hypotheses), True, further=True)
        if failed is not None:
            return replace(failed, instance=instance)
        scored = _concluded(found.conclusions, instance)
        if scored.refuted and found.outcome is not Outcome.REFUTED:
            doubtful = {claim: max(slack, 0.0) for claim, slack in scored.slack.items()}
            return replace(scored, value=max(scored.value, 0.0), slack=doubtful)
        return scored

    def _hypotheses(self, s: AnyStatement, p: AnyProblem) -> Iterator[Judged]:
        """Where the start has no equilibrium, what comes before the first need of it; it is only
        missed where all of that holds."""
        holding = True
        try:
            for claim in s.hypotheses(p):
                found = claim.judge()
                holding &= found.decision is Decision.HOLDS
                yield found
        except NoEquilibrium:
            if holding:
                raise

    def _failed(
        self, hypotheses: Iterator[Judged], thorough: bool, further: bool = False
    ) -> Score | None:
        """None where all hold. `further` ones are asked where the others are known to hold."""
        short, names, asked = 0.0, [], 0
        for each in hypotheses:
            asked += 1
            here = _penalty(each)
            if here:
                short += here
                names.append(each.name)
                if not self.patient and (not thorough or asked <= FIRST):
                    break
        if not names:
            return None
        failing = tuple(names)
        if further:
            return Score(1 + short, failing=failing, short=short)
        unseen = max(self._checks - asked, 0)
        return Score(1 + short + unseen, failing=failing, short=short, asked=asked)


def counted(s: AnyStatement) -> bool:
    """Whether it is judged over draws: no single instance refutes it."""
    return isinstance(s, Frequency) and s.counted


_Drawing = Drawing()


def _paced(s: AnyStatement, p: AnyProblem, pace: Pace) -> dict[str, Any]:
    """Short numbers: a share of what is admissible need not be an exact one."""
    objective = p.start.objective
    slope = gradient_norm(objective.gradient)
    # The time in which the loss would vanish at the speed it has.
    natural = objective.gap / slope**2 if slope > 0 and objective.gap > 0 else 1.0
    if pace.kind == "flow":
        return {"kind": "flow", "horizon": _short(pace.share * natural)}
    allowed = None
    with suppress(NoEquilibrium, *FAILURES):
        allowed = s.admissible_step(p)
    largest = natural if allowed is None else float(allowed.low)
    if not 0 < largest < math.inf:
        largest = natural
    return {"kind": "gd", "step": _short(pace.share * largest), "steps": pace.steps}


def _short(x: float) -> float:
    short = float(f"{x:.3g}")
    return short if 0 < short < math.inf else 1.0


def _concluded(conclusions: Sequence[Judged], instance: Instance) -> Score:
    """The smallest margin decides."""
    if not conclusions:
        return Score(UNUSABLE)
    # What hardly stands above its bars is no counterexample.
    shown = tuple(
        Shown(c.name, margin(c), c.decision is Decision.VIOLATED and c.resolved)
        for c in conclusions
    )
    slack: dict[str, float] = {}
    for c, each in zip(conclusions, shown, strict=True):
        slack[c.name] = min(_slack(c, each), slack.get(c.name, FLAT))
    return Score(min(slack.values()), True, shown, slack=slack, instance=instance)


def _slack(c: Judged, shown: Shown) -> float:
    """Below 0 only for a claim that is violated with its bars."""
    if shown.violated:
        return min(shown.margin, -LEAST)
    # An identity that holds is no nearer to failing for the rounding of its sides.
    return FLAT if c.relation == "==" else max(shown.margin, 0.0)
