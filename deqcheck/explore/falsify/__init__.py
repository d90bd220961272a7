"""Counterexamples: instances on which every hypothesis of a statement holds and a conclusion fails.

Structured instances are drawn and those that come nearest are changed until one refutes the
statement, with its error bars; then it is made as simple as it goes and judged once more as a case.
What was not refuted is not confirmed: it was tried so often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from deqcheck.explore.falsify.climb import Strategy
from deqcheck.explore.falsify.confirm import case_of, confirmed
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.result import Counterexample, Falsified, Tight
from deqcheck.explore.falsify.score import counted
from deqcheck.explore.falsify.search import Found, Hunt, Limits
from deqcheck.judging.catalogue import Named, find
from deqcheck.judging.errors import UsageError
from deqcheck.theorems.base import AnyStatement

__all__ = ["Asking", "Counterexample", "Falsified", "Limits", "Tight", "asked", "falsify"]

# Of the worst violation, what the simplest instance keeps at least.
HALF = 0.5
# Instances of smaller sizes that are tried once there is a counterexample, and seconds for them.
SMALLER, SHORT = 200, 2.0
# Counterexamples that are looked at by another route until one comes out again, and how often the
# search goes on where none does.
TRIES, ROUNDS = 4, 3


@dataclass(frozen=True)
class Asking:
    """How a search is to be made."""

    limits: Limits = Limits()
    seed: int = 1
    sizes: tuple[int, int] | None = None
    # A further hypothesis.
    also: str = ""
    # Only whether all hypotheses can hold.
    feasible: bool = False
    # Also starts on a kink, or of a rank that singular values do not show.
    degenerate: bool = False
    keep_per_claim: bool = False


ASKING = Asking()


def falsify(
    statement: Named,
    edition: str | None = None,
    asking: Asking = ASKING,
    *,
    strategy: Callable[[AnyStatement], Strategy] | None = None,
    search: Callable[[Hunt], None] | None = None,
    progress: Callable[[Found], None] = lambda found: None,
) -> Falsified:
    """Search for a counterexample to one statement in one edition. Raises UsageError.

    `strategy` proposes instances in place of the built-in one; `search` fills the hunt in place of
    this process, such as by several."""
    s = asked(find(statement), edition, asking.feasible)
    hunt = _hunt(s, asking, strategy and strategy(s))
    withdrawn = 0
    for _ in range(ROUNDS):
        if search is None:
            hunt.search(progress)
        else:
            search(hunt)
        worst, simplest, gone = _standing(hunt, asking)
        withdrawn += gone
        # Simplifying had a time of its own.
        hunt.limits = asking.limits
        if simplest is not None or not gone or search is not None or hunt.over:
            break
        hunt.found.forget()
    return _told(hunt, asking, worst, simplest, withdrawn)


def _hunt(s: AnyStatement, asking: Asking, strategy: Strategy | None = None) -> Hunt:
    return Hunt(
        s,
        asking.seed,
        asking.limits,
        asking.sizes,
        also=asking.also,
        feasible=asking.feasible,
        degenerate=asking.degenerate,
        strategy=strategy,
    )


def asked(cls: type[AnyStatement], edition: str | None, feasible: bool = False) -> AnyStatement:
    """The statement in this edition, or its last. Raises UsageError where no search helps."""
    if edition is not None and edition not in cls.editions:
        raise UsageError(f"{cls.id} has no {edition} edition; it has {' and '.join(cls.editions)}")
    s = cls(edition or cls.editions[-1])
    if counted(s) and feasible:
        other = [f"; {e}, it is a condition that can be met or not" for e in cls.condition_in]
        raise UsageError(
            f"{s.id} ({s.edition}) asks how the start is drawn, which no single instance tells"
            f"{''.join(other)}"
        )
    if counted(s):
        raise UsageError(
            f"{s.id} ({s.edition}) is judged over draws: no single instance refutes a claim about "
            "a probability or an order; run a case of it with more seeds"
        )
    if s.is_condition and not feasible:
        raise UsageError(
            f"{s.id} ({s.edition}) is a condition, which claims nothing; --feasible asks whether "
            "it can be met"
        )
    return s


def _standing(
    hunt: Hunt, asking: Asking
) -> tuple[Counterexample | None, Counterexample | None, int]:
    """The worst and the simplest, and how many were withdrawn: where the worst that was found does
    not come out again, one that is not quite as bad."""
    gone = 0
    if not asking.feasible:
        for one in reversed(hunt.found.refuting[-TRIES:]):
            worst, simplest = _counterexamples(hunt, asking, *one)
            if simplest is not None:
                return worst, simplest, gone
            gone += 1
    return None, None, gone


def _told(
    hunt: Hunt,
    asking: Asking,
    worst: Counterexample | None,
    simplest: Counterexample | None,
    withdrawn: int,
) -> Falsified:
    found, s = hunt.found, hunt.s
    each: list[Counterexample] = []
    if simplest is not None and asking.keep_per_claim:
        pairs = (_counterexamples(hunt, asking, *one)[1] for one in found.violated.values())
        each = [one for one in pairs if one is not None]
    never = {name: one for name, one in found.tightest.items() if name not in found.violated}
    tight = sorted(never.items(), key=lambda one: one[1][0])
    return Falsified(
        id=s.id,
        edition=s.edition,
        evaluations=found.evaluations,
        feasible=found.feasible,
        seconds=hunt.seconds,
        first=found.first,
        worst=worst,
        simplest=simplest,
        each=tuple(each),
        tightest=tuple(Tight(name, max(value, 0.0), case_of(s, at)) for name, (value, at) in tight),
        conflicting=found.conflicting,
        short=found.nearest.short if found.nearest and found.nearest.failing else None,
        met=None if found.met is None else case_of(s, found.met),
        only_feasible=asking.feasible,
        withdrawn=withdrawn,
    )


def _counterexamples(
    hunt: Hunt, asking: Asking, value: float, instance: Instance
) -> tuple[Counterexample | None, Counterexample | None]:
    """The worst and the simplest; the simplest counts for the worst where it is worse."""
    enough = HALF * value
    worst = confirmed(hunt.s, instance)
    small = _smaller(hunt, asking, hunt.shrink(instance, enough), enough)
    simplest = confirmed(hunt.s, small) or worst
    if worst is None or (simplest is not None and simplest.margin < worst.margin):
        worst = simplest
    return worst, simplest


def _smaller(hunt: Hunt, asking: Asking, instance: Instance, enough: float) -> Instance:
    """Another one of smaller sizes, if a short search finds one that is as bad."""
    largest = max(instance.sizes.values())
    low = 1 if asking.sizes is None else asking.sizes[0]
    if largest <= low or hunt.late:
        return instance
    limits = Limits(SMALLER, None if hunt.limits.seconds is None else SHORT)
    other = _hunt(hunt.s, replace(asking, limits=limits, sizes=(low, largest - 1)))
    other.search()
    if other.found.worst is None or other.found.worst[0] > enough:
        return instance
    found = other.shrink(other.found.worst[1], enough)
    return found if found.entries < instance.entries else instance
