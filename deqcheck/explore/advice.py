"""What would make a convergence theorem apply: each remedy a number that was found by search, and
judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from deqcheck.case import Case, CaseError
from deqcheck.case.write import case_yaml, with_changes
from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.explore import entry as entering
from deqcheck.fields import specs
from deqcheck.fields.spec import Integer, Number
from deqcheck.judging import UsageError
from deqcheck.judging.question import Question, choose
from deqcheck.judging.verdicts import first_failing, foreseen, of_setting
from deqcheck.kinds import Model
from deqcheck.linalg.minimax import Memory
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records.advice import Advice, Remedy
from deqcheck.records.arithmetic import FAILURES, OutOfRange, in_range
from deqcheck.records.comparison import Decision
from deqcheck.records.entry import Entry
from deqcheck.records.lazy import cached_property
from deqcheck.records.words import DESCENT
from deqcheck.registry import kinds
from deqcheck.search import LARGEST, SMALLEST, STEP_SHARE
from deqcheck.theorems.base import AnyStatement

# A field or scale is multiplied by powers of four, up to these, and its edge told to this accuracy.
FACTOR, FARTHEST, ACCURACY = 4.0, 2.0**46, 1e-3
# Widths and numbers of samples change by at most so many doublings: they cost more than numbers.
DOUBLINGS = 5
# What may be doubled, and whether more of it is easier.
SIZES = (("model.width", True), ("data.n", False))
# Of a pair, an array is scaled by so many powers of four, either way, and by zero; the scale of the
# other part is searched for only where one of these helps.
FEW, PROBES = 3, (FACTOR**-8, FACTOR**-16)

Changes = dict[str, float]


def advise(
    case: Case,
    question: Question | None = None,
    *,
    train: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> list[Advice]:
    """Every convergence theorem for the model of a case and its dynamics, the nearest first.

    Where the case trains and `train` says so, the run tells whether training longer is enough.
    Raises CaseError, UsageError, NoEquilibrium or OutOfRange.
    """
    asked = question or Question(editions=case.question.editions, constants=case.question.constants)
    show = progress or silent
    with in_range():
        problem = case.problem()
        # Without an equilibrium there is nothing to advise on.
        _ = problem.start.objective
        wanted = [s for s in choose(asked, problem) if s.bounds_the_loss()]
        if not wanted:
            raise UsageError("no convergence theorem speaks of this model, loss and dynamics")
        entries = _entries(problem, wanted, asked, show) if train else {}
        found = []
        for i, s in enumerate(wanted):
            show(Progress(f"advice on {s.id}", i, 0.0, i / len(wanted), float("nan")))
            found.append(_advice(s, case, problem, entries.get((s.id, s.edition))))
    return sorted(found, key=lambda advice: -advice.distance)


def _entries(
    p: AnyProblem,
    wanted: Sequence[AnyStatement],
    asked: Question,
    progress: Callable[[Progress], None],
) -> dict[tuple[str, str], Entry]:
    if p.train is None:
        return {}
    question = asked.narrowed([type(s) for s in wanted])
    report = entering.run(p, question, progress=progress)
    return {(v.id, v.edition): v.entry for v in report if v.entry is not None}


def _advice(s: AnyStatement, case: Case, p: AnyProblem, entry: Entry | None) -> Advice:
    known: dict[str, Any] = {"id": s.id, "edition": s.edition, "title": s.title, "entry": entry}
    if any(each.decision is Decision.VIOLATED for each in of_setting(s, p)):
        return Advice(**known, applies=False, reason="it speaks of other dynamics")
    try:
        hypotheses = foreseen(s, p).hypotheses
    except FAILURES as error:
        return Advice(**known, applies=False, reason=str(error))
    broken = [each for each in hypotheses if each.decision is not Decision.HOLDS]
    if not broken:
        return Advice(**known, applies=True)
    binding = min(broken, key=lambda each: -1.0 if each.ratio is None else each.ratio)
    trial = Trial(s, case)
    remedies, in_vain = _remedies(case, trial.searches(scales=not s.obstacle(p)))
    if not remedies:
        # Pairs that are in vain, too, would make a long list.
        remedies, _ = _remedies(case, trial.pairs())
    return Advice(
        **known,
        applies=False,
        binding=binding,
        obstacle=s.obstacle(p),
        remedies=tuple(remedies),
        in_vain=tuple(in_vain),
    )


def _remedies(
    case: Case, found: Iterable[tuple[str, Changes | None]]
) -> tuple[list[Remedy], list[str]]:
    """What helps, and the names of what does not."""
    remedies, in_vain = [], []
    for name, changes in found:
        if changes is None:
            in_vain.append(name)
        else:
            remedies.append(Remedy(name, changes, case_yaml(case, changes)))
    return remedies, in_vain


class Trial:
    """One statement on a case of which some fields are set otherwise."""

    def __init__(self, s: AnyStatement, case: Case):
        self.statement, self.case = s, case
        self._memory: Memory = {}

    def searches(self, scales: bool) -> Iterator[tuple[str, Changes | None]]:
        """Each thing that may be changed, and what must be set of it; None where nothing helps."""
        if self.case.problem().step:
            yield "step size", self._with_step({})
        if scales:
            for search in self.statement.searches:
                keys = [f"rescale.{name}" for name in search.arrays]
                yield search.name, self._along(keys, self._factors(search.smaller_is_easier))
            for arrays in self._groups():
                keys = [f"rescale.{name}" for name in arrays]
                yield f"scale of {' and '.join(arrays)}", self._along(keys, self._factors(True))
            for key, spec in self._numbers.items():
                yield key, self._field(key, spec)
        for key, larger in SIZES:
            if key in self._sizes:
                yield key, self._size(key, larger)

    def pairs(self) -> Iterator[tuple[str, Changes | None]]:
        """Each size, and each array of the parameters, with what makes the residual smaller: the
        labels, alone or with the read-out."""
        if not self._labels:
            return
        parameters = list(self.case.problem().theta0)
        groups = [(self._labels,), (parameters[-1], self._labels)]
        # What is in the way of one scale need not be in the way of two.
        yield from self._completed("", [{}], groups)
        for key, larger in SIZES:
            if key in self._sizes:
                sizes: list[Changes] = [{key: n} for n in self._doubled(key, larger)]
                yield from self._completed(f"{key} and ", sizes, groups)
        for name in parameters:
            key = f"rescale.{name}"
            factors = [FACTOR**k for i in range(1, FEW + 1) for k in (-i, i)]
            scales = [{key: factor * self._scaled_by(key)} for factor in (*factors, 0.0)]
            others = [group for group in groups if name not in group]
            yield from self._completed(
                f"scale of {name} and ", list(filter(self._open, scales)), others
            )

    def _completed(
        self, name: str, changes: Sequence[Changes], groups: Iterable[tuple[str, ...]]
    ) -> Iterator[tuple[str, Changes | None]]:
        """The first of these changes that some scale of a group of arrays completes."""
        for arrays in groups:
            keys = [f"rescale.{each}" for each in arrays]
            tried = (self._beside(base, keys) for base in changes)
            found = next((each for each in tried if each is not None), None)
            yield f"{name}scale of {' and '.join(arrays)}", found

    def _beside(self, base: Changes, keys: Sequence[str]) -> Changes | None:
        for share in PROBES:
            if self._with_step({**base, **{key: share * self._scaled_by(key) for key in keys}}):
                return self._along(keys, self._factors(True), base=base)
        return None

    def _open(self, changes: Changes) -> bool:
        """Whether no obstacle is known there."""
        try:
            return not self.statement.obstacle(self._built(changes))
        except (CaseError, NoEquilibrium, OutOfRange, *FAILURES):
            return False

    @cached_property
    def _labels(self) -> str:
        return str(kinds(Model)[self.case.problem().model.kind].predicted)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The width and the number of samples, where the case states them."""
        stated = self.case.stated
        found = {"model.width": getattr(stated.model, "width", None)}
        found["data.n"] = getattr(stated.data, "n", None)
        return {key: n for key, n in found.items() if isinstance(n, int) and n > 0}

    @cached_property
    def _numbers(self) -> dict[str, Number]:
        """The numbers among the fields of the model that have a size to change."""
        model = self.case.stated.model
        return {
            f"model.{name}": spec
            for name, spec in specs(type(model)).items()
            if isinstance(spec, Number) and not isinstance(spec, Integer)
            if isinstance(getattr(model, name, None), float) and getattr(model, name) > 0
        }

    def _groups(self) -> Iterator[tuple[str, ...]]:
        """Each parameter alone and with the labels, beside what the statement names itself."""
        named = {search.arrays for search in self.statement.searches}
        for parameter in self.case.problem().theta0:
            for group in ((parameter,), (parameter, self._labels)):
                if self._labels and group not in named:
                    yield group

    def _field(self, key: str, spec: Number) -> Changes | None:
        now = float(getattr(self.case.stated.model, key.partition(".")[2]))
        found = [self._along([key], self._factors(easier), now, spec) for easier in (True, False)]
        nearest = [each for each in found if each is not None]
        return min(nearest, key=lambda each: max(each[key] / now, now / each[key]), default=None)

    def _factors(self, smaller: bool) -> Iterable[float]:
        factor = 1.0
        while factor < FARTHEST:
            factor *= FACTOR
            yield 1 / factor if smaller else factor

    def _along(
        self,
        keys: Sequence[str],
        factors: Iterable[float],
        now: float = 1.0,
        spec: Any = None,
        base: Changes | None = None,
    ) -> Changes | None:
        """The factor nearest to 1 for which the hypotheses hold, beside the changes `base`, found
        by doubling and then by halving the interval: beyond it they may fail again."""

        def at(factor: float) -> Changes | None:
            value = now * factor
            if not (SMALLEST < abs(factor) < LARGEST) or not _allowed(spec, value):
                return None
            scaled = {key: value * self._scaled_by(key) for key in keys}
            return self._with_step({**(base or {}), **scaled})

        bad = 1.0
        for factor in factors:
            good = at(factor)
            if good is not None:
                break
            bad = factor
        else:
            return None
        while max(factor / bad, bad / factor) > 1 + ACCURACY:
            middle = (factor * bad) ** 0.5
            closer = at(middle)
            if closer is None:
                bad = middle
            else:
                factor, good = middle, closer
        return good

    def _scaled_by(self, key: str) -> float:
        """What the case itself scales an array by."""
        head, _, name = key.partition(".")
        return self.case.stated.rescale.get(name, 1.0) if head == "rescale" else 1.0

    def _size(self, key: str, larger: bool) -> Changes | None:
        tried = (self._with_step({key: n}) for n in self._doubled(key, larger))
        return next((found for found in tried if found is not None), None)

    def _doubled(self, key: str, larger: bool) -> Iterator[int]:
        n = self._sizes[key]
        for _ in range(DOUBLINGS):
            n = 2 * n if larger else n // 2
            if n >= 1:
                yield n

    def _with_step(self, changes: Changes) -> Changes | None:
        """The changes, with a step that is allowed there if the case's own is not; None where a
        hypothesis fails."""
        try:
            p = self._built(changes)
            if first_failing(self.statement, p, self._memory) is None:
                return changes if changes else None
            if p.dynamics != DESCENT:
                return None
            step = self.statement.admissible_step(p)
            if step is None or not step.low > 0:
                return None
            changes = {**changes, "train.step": STEP_SHARE * step.low}
            return (
                changes
                if first_failing(self.statement, self._built(changes), self._memory) is None
                else None
            )
        except (CaseError, NoEquilibrium, OutOfRange, *FAILURES):
            return None

    def _built(self, changes: Changes) -> AnyProblem:
        return with_changes(self.case, changes).problem()


def _allowed(spec: Number | None, value: float) -> bool:
    return spec is None or bool(spec.within(value))
