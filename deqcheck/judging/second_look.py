"""Runs that are repeated before a verdict on them stands.

Of a flow, an open question that a tighter tolerance may close is asked again. A refutation is asked
once more: of a flow by another method and a tighter tolerance, of gradient descent in many digits.
One that does not repeat is withdrawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.recorder import Progress
from deqcheck.judging.training import train
from deqcheck.models.problem import AnyProblem
from deqcheck.records.comparison import Decision, compare
from deqcheck.records.judged import Judged
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.records.words import STATIC
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import Frequency

Judge: TypeAlias = Callable[[AnyStatement, Trajectory], Verdict]
# How often a run is repeated with a hundredth of the tolerance, and by how much its bars shrink.
TRIES, GAIN = 2, 100.0


def settled(
    p: AnyProblem,
    statements: Sequence[AnyStatement],
    progress: Callable[[Progress], None],
    judge: Judge,
    made: Trajectory | None = None,
) -> tuple[Trajectory, list[Verdict]]:
    """The run, unless it is made, and what is judged of it; its notes tell what another decided."""
    run = train(p, statements, progress) if made is None else made
    verdicts, stopped = one_by_one(statements, lambda s: judge(s, run), progress)
    if stopped:
        return replace(run, status=Status.INTERRUPTED, notes=(*run.notes, stopped)), verdicts
    if not isinstance(run.train, GradientFlow):
        notes = [
            told
            for i, s in enumerate(statements)
            if verdicts[i].outcome is Outcome.REFUTED and rests_on_run(s)
            if (told := _in_many_digits(p, s, verdicts, i, run, judge))
        ]
        return replace(run, notes=(*run.notes, *notes)), verdicts
    again = Again(p.trained_by(run.train), statements, progress, judge)
    again.tighter(verdicts, run)
    again.otherwise(verdicts)
    return replace(run, notes=(*run.notes, *again.notes)), verdicts


def one_by_one(
    statements: Sequence[AnyStatement],
    judge: Callable[[AnyStatement], Verdict],
    progress: Callable[[Progress], None],
) -> tuple[list[Verdict], str]:
    """The verdicts; those until then where it is interrupted, and a sentence that says so."""
    found: list[Verdict] = []
    for i, s in enumerate(statements):
        progress(Progress(f"judging {s.id}", i, 0.0, i / len(statements), math.nan))
        try:
            found.append(judge(s))
        except KeyboardInterrupt:
            return found, f"interrupted while judging {s.id}"
    return found, ""


class Again:
    def __init__(
        self,
        p: AnyProblem,
        statements: Sequence[AnyStatement],
        progress: Callable[[Progress], None],
        judge: Judge,
    ):
        self.p, self.statements, self.progress, self.judge = p, statements, progress, judge
        # The dynamics whose run each verdict rests on.
        self.flows: list[GradientFlow] = [p.train for _ in statements]
        self.notes: list[str] = []

    def tighter(self, verdicts: list[Verdict], run: Trajectory) -> None:
        flow: GradientFlow | None = run.train
        for _ in range(TRIES):
            still = [i for i, v in enumerate(verdicts) if self._rests(i) and hopeful(v, run)]
            flow = flow.tighter() if flow else None
            if not still or flow is None:
                return
            run = self._run(flow, still)
            for i in still:
                verdicts[i] = self.judge(self.statements[i], run)
                self.flows[i] = flow
                if verdicts[i].outcome is not Outcome.UNDECIDED:
                    self._note(verdicts, i, f"{verdicts[i].outcome} at rtol = {flow.rtol:g}")

    def otherwise(self, verdicts: list[Verdict]) -> None:
        for i, found in enumerate(verdicts):
            if found.outcome is not Outcome.REFUTED or not self._rests(i):
                continue
            if not _violated(found):
                continue
            flow = self.flows[i].otherwise()
            other = self.judge(self.statements[i], self._run(flow, [i]))
            how = f"by {flow.method} at rtol = {flow.rtol:g}"
            if other.outcome is Outcome.REFUTED:
                self._note(verdicts, i, f"refuted again {how}")
            else:
                verdicts[i] = replace(other, outcome=Outcome.UNDECIDED)
                self._note(verdicts, i, f"a refutation is withdrawn: not refuted {how}")

    def _rests(self, i: int) -> bool:
        return rests_on_run(self.statements[i])

    def _run(self, flow: GradientFlow, which: Sequence[int]) -> Trajectory:
        chosen = [self.statements[i] for i in which]
        return train(self.p.trained_by(flow), chosen, self.progress)

    def _note(self, verdicts: list[Verdict], i: int, text: str) -> None:
        self.notes.append(_noted(verdicts, i, text))


def _noted(verdicts: list[Verdict], i: int, text: str) -> str:
    found = verdicts[i]
    verdicts[i] = replace(found, notes=(*found.notes, text))
    return f"{found.id} ({found.edition}): {text}"


def rests_on_run(s: AnyStatement) -> bool:
    """Whether the statement is judged along the run, and once only."""
    return STATIC not in s.dynamics and not isinstance(s, Frequency)


def _violated(verdict: Verdict) -> list[Judged]:
    """What a run refutes."""
    return [c for c in verdict.conclusions if c.decision is Decision.VIOLATED and _of_run(c)]


def _in_many_digits(
    p: AnyProblem,
    s: AnyStatement,
    verdicts: list[Verdict],
    i: int,
    first: Trajectory,
    judge: Judge,
) -> str:
    """Ask again what descent refuted, as far as the first violation; what came of it, in words."""
    wrong = _violated(verdicts[i])
    curves = [c.curve.first_violation for c in wrong if c.curve is not None]
    reached = [point.k for point in curves if point is not None]
    if not wrong:
        return ""
    # What is said of one step needs the next; a number of the whole run needs all of it, and so
    # does what is said of a step and the end.
    total = int(first.k[-1])
    lengths = [total] if not reached else sorted({min(total, min(reached) + 1), total})
    # Few come here: the others need not wait for this import.
    from deqcheck.dynamics.precise import repeated

    other, by = None, ""
    for steps in lengths:
        run, how = repeated(p, steps, tuple(dict.fromkeys((*s.tracks, *s.infima))))
        if run is None:
            by = by or how
            break
        other, by = judge(s, run), how
        if other.outcome is Outcome.REFUTED:
            return _noted(verdicts, i, f"refuted again in {how}, after {steps} steps")
    if other is None:
        return _noted(verdicts, i, f"not repeated in many digits: {by}")
    verdicts[i] = replace(other, outcome=Outcome.UNDECIDED)
    return _noted(verdicts, i, f"a refutation is withdrawn: not refuted in {by}")


def hopeful(verdict: Verdict, run: Trajectory) -> bool:
    """Whether all that is open would be closed by bars that are a hundred times narrower."""
    checks = (*verdict.hypotheses, *verdict.conclusions)
    still = [c for c in checks if c.decision is Decision.UNDECIDED]
    undecided = verdict.outcome is Outcome.UNDECIDED and run.complete and bool(still)
    return undecided and all(_narrow(c) for c in still)


def _narrow(check: Judged) -> bool:
    left, right = check.left, check.right
    if check.curve is not None:
        facts = check.curve
        holds, _ = compare(facts.value, check.relation, facts.bound)
        still = np.flatnonzero(~holds & (facts.k >= facts.first))
        if not len(still):
            return False
        left, right = facts.value[int(still[0])], facts.bound[int(still[0])]
    bars = left.error + right.error
    return bool(0 < bars < np.inf and GAIN * abs(left.value - right.value) >= bars)


def _of_run(check: Judged) -> bool:
    """A number without a bar is no reading of a run."""
    return check.curve is not None or check.left.error > 0 or check.right.error > 0
