"""One statement on one problem: the heart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from deqcheck import threads
from deqcheck.dynamics import read_train
from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.engines import Engine
from deqcheck.fields import unknown
from deqcheck.frozen import dataclass
from deqcheck.judging.authored import authored, judged
from deqcheck.judging.catalogue import Named, find
from deqcheck.judging.doubts import doubted
from deqcheck.judging.errors import UsageError, refusals
from deqcheck.judging.question import fitting, sound
from deqcheck.judging.second_look import settled
from deqcheck.judging.states import at_states, over_states
from deqcheck.judging.training import check_start
from deqcheck.linalg.minimax import Memory, roughly
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.arithmetic import FAILURES, OutOfRange, in_range
from deqcheck.records.basis import COMPANION, TRIALS, WEAKER, resting_on
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict, condition_outcome, outcome_of
from deqcheck.records.words import EDITIONS, FLOW, STATIC, TRUNCATED, dynamics
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import AnyFrequency, Frequency
from deqcheck.trials import tally

T = TypeVar("T")


@dataclass(frozen=True)
class Drawing:
    """How the seeds of a statement about probabilities are tried: kept in the store, if any, and
    by an engine, if one is given."""

    store: Store | None = None
    progress: Callable[[Progress], None] = silent
    engine: Engine | None = None

    def tried(self, s: AnyFrequency, p: AnyProblem) -> list[Judged]:
        def done(finished: int, total: int) -> None:
            self.progress(Progress(f"seeds of {s.id}", finished, 0.0, finished / total, np.nan))

        found = s.tallies(p, tally(s, p, self.store, done, self.engine))
        return [replace(each.judge(), basis=resting_on(TRIALS)) for each in found]


def judge(
    statement: Named,
    problem: AnyProblem,
    run: Trajectory | None = None,
    *,
    train: Mapping[str, Any] | Any | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Verdict:
    """The verdict on one statement, which is named by its id or given as a class.

    It is judged along `run`, a trajectory of this very problem; else on a run made for it by
    `train` (a mapping such as `{"kind": "gd", "step": 1e-3, "steps": 200}`), else by the
    problem's own dynamics, else at the initial parameters alone. Raises UsageError.
    """
    s = _asked(find(statement), problem, edition, constants)
    if run is not None and train is not None:
        raise UsageError("a run and how to train were both given; expected one of them")
    if train is not None:
        with refusals():
            problem = problem.trained_by(read_train(train))
    if run is not None:
        problem = _of_run(s, problem, run)
    return decide(s, problem, run)


def decide(s: AnyStatement, problem: AnyProblem, run: Trajectory | None = None) -> Verdict:
    """Of a statement that fits the problem, on this run of it or on one that is made for it."""
    try:
        with in_range(), threads.fitting(problem.shapes):
            check_start(problem)
            if run is None and problem.train is not None and STATIC not in s.dynamics:
                p = problem
                each = settled(p, [s], silent, lambda s, run: verdict(s, p, run, Drawing()))[1]
                return each[0]
            return verdict(s, problem, run, Drawing())
    except NoEquilibrium as stop:
        return _lost(s, problem, stop)
    except OutOfRange as stop:
        note = f"out of range: {stop}"
        return Verdict(**_labels(s), outcome=Outcome.UNDECIDED, hypotheses=(), notes=(note,))


def _asked(
    cls: type[AnyStatement],
    p: AnyProblem,
    edition: str | None,
    constants: Mapping[str, float] | None,
) -> AnyStatement:
    if edition is not None and edition not in EDITIONS:
        raise UsageError(unknown("no edition", edition, EDITIONS))
    fitting(cls, p)
    for name in constants or ():
        if name not in cls.constants:
            raise UsageError(unknown(f"{cls.id} has no free constant", name, cls.constants))
    # Without a wish the last edition: the corrected one, where there are two.
    wanted = cls.judged_in(cls.editions[-1:] if edition is None else (edition,))
    (found,) = sound([cls(wanted[0], constants)])
    return found


def _of_run(s: AnyStatement, p: AnyProblem, run: Trajectory) -> AnyProblem:
    """The problem as the run trained it. Raises UsageError where the run cannot be its own."""
    missing = [name for name in (*s.tracks, *s.infima) if name not in run.series]
    if missing and STATIC not in s.dynamics:
        raise UsageError(
            f"the run does not record {' and '.join(dict.fromkeys(missing))}, which {s.id} needs: "
            "make it for this statement, with `train`"
        )
    # The loss of a few sweeps is not that of the equilibrium.
    if len(run.k) and dynamics(run.train) != TRUNCATED:
        with suppress(NoEquilibrium), in_range():
            start, first = p.start.objective, run.gap[0]
            if not abs(start.gap - first.value) <= 2 * (start.error + first.error):
                raise UsageError(
                    f"the run begins at a loss of {first.value:g} above the infimum, the problem "
                    f"at {start.gap:g}: it is a run of another problem"
                )
    return p.trained_by(run.train)


def verdict(s: AnyStatement, p: AnyProblem, run: Trajectory | None, drawing: Drawing) -> Verdict:
    """Of a statement that fits the problem. One that looks at other parameters than the initial
    ones, where there need not be an equilibrium, is left undecided."""
    try:
        with authored(s, p):
            found = _judged(s, p, run, drawing)
            found = doubted(found, p, lambda: _judged(s, p, run, drawing))
    except NoEquilibrium as stop:
        return _lost(s, p, stop)
    if not at_states(s, p):
        return found
    return over_states(found, p, lambda there: verdict(s, there, None, drawing))


def _judged(s: AnyStatement, p: AnyProblem, run: Trajectory | None, drawing: Drawing) -> Verdict:
    hypotheses = before_training(s, p)
    conclusions = judged(s.claims(p, p.start), "claims")
    notes: tuple[str, ...] = ()
    counted = s if isinstance(s, Frequency) and s.counted else None
    limits = tuple(s.unchecked(p))
    if counted and not limits and all_hold(hypotheses):
        conclusions += drawing.tried(counted, p)
    complete = True
    if STATIC in s.dynamics:
        run = None
    if run is not None:
        complete = run.complete
        hypotheses += judged(s.path_departures(run), "path_departures")
        left_out = "" if run.verified is None else run.verified.left_out
        limits += (left_out,) if left_out else ()
        # What a statement says of one step after the other is not told by states apart.
        if len(run.k) > 1 and not left_out:
            path, run, notes = _followed(s, p, run)
            # What comes after that does not matter.
            complete = complete or bool(notes)
            hypotheses += path
            conclusions += _along(run, judged(s.conclusions(p, run), "conclusions"))
            several = _several(run)
            complete, notes = complete and not several, (*notes, *several)
    unchecked = limits or _nothing_to_judge(s, conclusions, run)
    if s.is_condition:
        outcome = condition_outcome([*hypotheses, *conclusions], bool(unchecked))
    else:
        outcome = outcome_of(hypotheses, conclusions, complete, bool(unchecked))
    if counted:
        outcome = counted.word(outcome)
    told = _told(
        s,
        p,
        hypotheses,
        conclusions=tuple(conclusions),
        remarks=_remarks(s, p, run),
        unchecked=unchecked if outcome is Outcome.NOT_CHECKED else limits,
        outcome=outcome,
    )
    return replace(told, notes=(*told.notes, *notes))


def _remarks(s: AnyStatement, p: AnyProblem, run: Trajectory | None) -> tuple[Judged, ...]:
    """Those that can be made: what they lack is nothing against the statement."""
    found: list[Judged] = []
    with suppress(NoEquilibrium, *FAILURES):
        for claim in s.remarks(p, run):
            found += judged([claim], "remarks")
    return tuple(found)


def _nothing_to_judge(
    s: AnyStatement, conclusions: Sequence[Judged], run: Trajectory | None
) -> tuple[str, ...]:
    if conclusions:
        return ()
    if run is None and STATIC not in s.dynamics:
        how = " or ".join(s.dynamics)
        return (f"it speaks of training, and this case does not train: give it `train` ({how})",)
    return ("nothing that it claims can be looked at in this case",)


def _followed(
    s: AnyStatement, p: AnyProblem, run: Trajectory
) -> tuple[list[Judged], Trajectory, tuple[str, ...]]:
    """The path hypotheses, and the run as far as they matter."""
    path = _along(run, judged(s.path_hypotheses(p, run), "path_hypotheses"))
    if not s.until_broken or all_hold(path):
        return path, run, ()
    held = {e.name: e.curve.horizon_t for e in path if e.curve is not None}
    ends = {name: -1.0 if t is None else t for name, t in held.items()}
    first = min(ends, key=lambda name: ends[name], default="")
    # A flow is seen between its recorded times, too.
    last = int(np.searchsorted(run.t, ends.get(first, -1.0), side="right")) - 1
    if last < 1:
        return path, run, ()
    at = f"t = {run.t[last]:.4g}" if run.flow else f"k = {run.k[last]}"
    until = run.until(last)
    note = f"judged until {at}, the last point at which {first} is known to hold"
    path = _along(until, judged(s.path_hypotheses(p, until), "path_hypotheses"))
    return path, until, (note,)


def _several(run: Trajectory) -> tuple[str, ...]:
    """A theorem on the flow from a start speaks of each, where there are several: one of them may
    refute it, but what holds of one is open."""
    if run.forked is None:
        return ()
    return (
        f"there are several flows from t = {run.forked:.6g} on, where a kink repels: one of them "
        "is followed, and what holds of it is open for the others",
    )


def _along(run: Trajectory, found: Sequence[Judged]) -> list[Judged]:
    """Whatever is said of a run rests on how well the run is known."""
    basis = resting_on(run.gap.how or COMPANION)
    known = [each.basis.certified or each.basis.by in WEAKER for each in found]
    pairs = zip(found, known, strict=True)
    return [each if kept else replace(each, basis=basis) for each, kept in pairs]


def foreseen(s: AnyStatement, p: AnyProblem) -> Verdict:
    """What is known before training: no outcome yet, unless it is a condition on the start."""
    if s.is_condition and STATIC in s.dynamics:
        return verdict(s, p, None, Drawing())
    try:
        with authored(s, p):
            return _told(s, p, before_training(s, p))
    except NoEquilibrium as stop:
        return _lost(s, p, stop)


def before_training(s: AnyStatement, p: AnyProblem) -> list[Judged]:
    steps = judged(s.step_hypotheses(p), "step_hypotheses") if p.step else []
    return [*of_setting(s, p), *judged(s.hypotheses(p), "hypotheses"), *steps]


def of_setting(s: AnyStatement, p: AnyProblem) -> list[Judged]:
    """Whether the statement speaks of such dynamics."""
    return [*judged(s.departures(p), "departures"), *judged(s.setting(p), "setting")]


def first_failing(s: AnyStatement, p: AnyProblem, memory: Memory | None = None) -> Judged | None:
    """The first hypothesis before training that is not known to hold; those after it, which may
    cost more, are not looked at. Problems that are much alike share their memory."""
    with authored(s, p), roughly({} if memory is None else memory):
        for claim in chain(s.hypotheses(p), s.step_hypotheses(p) if p.step else ()):
            (found,) = judged([claim], "hypotheses")
            if found.decision is not Decision.HOLDS:
                return found
    return None


def all_hold(claims: Sequence[Judged]) -> bool:
    return all(each.decision is Decision.HOLDS for each in claims)


def without_equilibrium(s: AnyStatement, p: AnyProblem) -> Verdict:
    """What is known of the hypotheses that come before the first one which needs an equilibrium:
    one of them may be known to fail."""
    known: list[Judged] = []
    with suppress(NoEquilibrium):
        for claim in chain(s.departures(p), s.setting(p), s.hypotheses(p)):
            known.append(claim.judge())
    outcome = outcome_of(known, (), complete=False)
    if s.is_condition and outcome is Outcome.NOT_APPLICABLE:
        outcome = Outcome.NOT_MET
    return _told(s, p, known, outcome=outcome)


def _lost(s: AnyStatement, p: AnyProblem, stop: NoEquilibrium) -> Verdict:
    left = without_equilibrium(s, p)
    return replace(left, notes=(*left.notes, f"no equilibrium where it is needed: {stop}"))


def _told(s: AnyStatement, p: AnyProblem, hypotheses: Sequence[Judged], **more: Any) -> Verdict:
    return Verdict(
        **{"outcome": None, **more},
        **_labels(s),
        hypotheses=tuple(hypotheses),
        constants=_if_known(lambda: s.constants_used(p), s.fixed),
        quantities=_if_known(lambda: _kept(s.quantities(p)), {}),
        notes=_if_known(lambda: tuple(s.notes(p)), ()),
        flow=p.dynamics == FLOW,
    )


def _kept(quantities: Mapping[str, Measured]) -> dict[str, Measured]:
    return {name: measured(x).forgetting() for name, x in quantities.items()}


def _labels(s: AnyStatement) -> dict[str, Any]:
    return {
        "id": s.id,
        "number": s.cite.number,
        "title": s.title,
        "text": s.text(),
        "citation": str(s.cite),
        "status": s.soundness,
        "drivers": s.infima,
        "convergence": s.bounds_the_loss(),
        "edition": s.edition,
        "erratum": s.erratum,
    }


def _if_known(make: Callable[[], T], otherwise: T) -> T:
    """What a statement says, or less where that needs an equilibrium that there is not."""
    try:
        return make()
    except NoEquilibrium:
        return otherwise
