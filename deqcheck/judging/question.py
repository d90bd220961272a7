"""What is asked of a problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from deqcheck import registry
from deqcheck.fields import unknown
from deqcheck.frozen import dataclass
from deqcheck.judging.catalogue import Named, catalogue, find
from deqcheck.judging.errors import UsageError
from deqcheck.kinds import Model
from deqcheck.models.problem import AnyProblem
from deqcheck.records.expectations import Expectations
from deqcheck.records.words import CORRECTED, judged_as
from deqcheck.registry import kinds
from deqcheck.theorems.base import ANY, AnyStatement


@dataclass(frozen=True)
class Question:
    """Which statements are judged, in which editions and with which constants, and what is
    expected to come out."""

    # None for every statement that applies to the problem.
    statements: tuple[Named, ...] | None = None
    editions: tuple[str, ...] = (CORRECTED,)
    # Free constants that are fixed, by statement.
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    expect: Expectations = field(default_factory=Expectations)
    # What a reader should know about how the question was put.
    notices: tuple[str, ...] = ()

    def narrowed(
        self,
        only: Sequence[Named] = (),
        editions: Sequence[str] | None = None,
        constants: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Question:
        """With what was asked for beside it; what is left out stays."""
        return replace(
            self,
            statements=tuple(only) or self.statements,
            editions=tuple(editions or self.editions),
            constants={**self.constants, **(constants or {})},
        )


def remarks_on(question: Question, asked: Iterable[AnyStatement]) -> Iterator[str]:
    """What a reader should know about how the question was understood."""
    yield from question.notices
    for named in question.statements or ():
        if isinstance(named, str) and (new := registry.renamed(named)) is not None:
            yield registry.is_now(named, new)
    for s in asked:
        if s.edition not in question.editions:
            yield f"{s.id} has no {' or '.join(question.editions)} edition: judged is {s.edition}"


def choose(question: Question, p: AnyProblem) -> list[AnyStatement]:
    """The statements to be judged: those named, or all that apply. Raises UsageError."""
    if question.statements:
        asked = [fitting(find(named), p) for named in question.statements]
    else:
        asked = [s for s in catalogue().values() if _applies(s, p)]
    return sound(
        s(edition, question.constants.get(s.id))
        for s in asked
        for edition in s.judged_in(question.editions)
    )


def fitting(s: type[AnyStatement], p: AnyProblem) -> type[AnyStatement]:
    """The statement itself. Raises UsageError where it cannot judge such a problem at all."""
    unheard = [] if s.models is ANY else [m for m in s.models if m not in kinds(Model)]
    if unheard:
        raise UsageError(
            f"{s.id}: models: {unknown('there is no model', unheard[0], kinds(Model))}"
        )
    incompatibility = s.incompatibility(p.model.kind, p.loss)
    if incompatibility:
        raise UsageError(incompatibility)
    return s


def sound(statements: Iterable[AnyStatement]) -> list[AnyStatement]:
    """The statements themselves. Raises UsageError where their constants make no sense."""
    found = list(statements)
    faults = dict.fromkeys(fault for s in found for fault in (*s.outside(), *s.faults()))
    if faults:
        raise UsageError("; ".join(faults))
    return found


def _applies(s: type[AnyStatement], p: AnyProblem) -> bool:
    return not s.reason_skipped(p.model.kind, p.loss, judged_as(p.train))
