"""One search for counterexamples to one statement, and what it has seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from deqcheck.dynamics.recorder import Progress
from deqcheck.explore.falsify.climb import Climbing, Strategy
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.score import ALL, FLAT, UNUSABLE, Also, Score, Scorer, TooLate
from deqcheck.explore.falsify.shrink import shrunk
from deqcheck.theorems.base import AnyStatement

# After the first counterexample the search goes on for a worse one: so many instances, or this
# share of those that it took.
LONGER, SHARE = 50, 0.25
# Simplifications that are tried at most, and seconds for them, if the search has not taken longer:
# then as long as it took.
MOST_SIMPLER, EXTRA = 3000, 5.0

Ranked = tuple[float, Instance]
Alone = tuple[int, float]


@dataclass(frozen=True)
class Limits:
    """Wall time only stops a search; evaluations make it reproducible."""

    evaluations: int | None = None
    seconds: float | None = 60.0


@dataclass
class Found:
    """What a search has seen so far."""

    evaluations: int = 0
    feasible: int = 0
    # After how many instances, and seconds, the first counterexample was found.
    first: tuple[int, float] | None = None
    # Counterexamples, each worse than the one before.
    refuting: list[Ranked] = field(default_factory=list)
    # The worst violation and the tightest slack of each claim, with their instances.
    violated: dict[str, Ranked] = field(default_factory=dict)
    tightest: dict[str, Ranked] = field(default_factory=dict)
    # What the instance lacks that came nearest to meeting the hypotheses.
    nearest: Score | None = None
    # Hypotheses that failed while all others that were looked at held: how many these were, and by
    # how little it failed; and the most that were ever looked at.
    alone: dict[str, Alone] = field(default_factory=dict)
    most: int = 0
    # An instance that meets them all.
    met: Instance | None = None

    def add(self, score: Score, seconds: float) -> None:
        instance = score.instance
        self.evaluations += 1
        if not score.feasible or instance is None:
            if self.nearest is None or score.value < self.nearest.value:
                self.nearest = score
            if len(score.failing) == 1 and score.short < FLAT:
                self._fails_alone(score.failing[0], (score.asked, score.short))
            if score.asked < ALL:
                self.most = max(self.most, score.asked)
            return
        self.feasible += 1
        self.met = self.met or instance
        for each in score.shown:
            kept = self.violated if each.violated else self.tightest
            _keep_least(kept, each.claim, each.margin, instance)
        if score.refuted:
            self.first = self.first or (self.evaluations, seconds)
            if self.worst is None or score.value < self.worst[0]:
                self.refuting.append((score.value, instance))

    @property
    def worst(self) -> Ranked | None:
        return self.refuting[-1] if self.refuting else None

    def forget(self) -> None:
        """The counterexamples, which are none."""
        self.first = None
        self.refuting, self.violated = [], {}

    @property
    def conflicting(self) -> tuple[str, ...]:
        """Hypotheses each of which fails while all others hold; else what fails together."""
        found = {name: short for name, (asked, short) in self.alone.items() if asked >= self.most}
        if len(found) > 1:
            return tuple(sorted(found, key=found.__getitem__))
        return () if self.nearest is None else self.nearest.failing

    def _fails_alone(self, name: str, here: Alone) -> None:
        """Where more were looked at, and else where it fails by less."""
        self.alone[name] = min(here, self.alone.get(name, here), key=lambda one: (-one[0], one[1]))

    def merge(self, other: Found) -> None:
        """With what another search has seen."""
        self.evaluations += other.evaluations
        self.feasible += other.feasible
        self.first = min((x for x in (self.first, other.first) if x), default=None)
        self.met = self.met or other.met
        for mine, theirs in ((self.violated, other.violated), (self.tightest, other.tightest)):
            for claim, (margin, instance) in theirs.items():
                _keep_least(mine, claim, margin, instance)
        for name, one in other.alone.items():
            self._fails_alone(name, one)
        self.most = max(self.most, other.most)
        self.refuting = sorted(self.refuting + other.refuting, key=lambda one: -one[0])
        if other.nearest and (self.nearest is None or other.nearest.value < self.nearest.value):
            self.nearest = other.nearest


def _keep_least(kept: dict[str, Ranked], claim: str, margin: float, instance: Instance) -> None:
    if claim not in kept or margin < kept[claim][0]:
        kept[claim] = (margin, instance)


class Hunt:
    """A search, and the simplification of what it finds."""

    def __init__(
        self,
        s: AnyStatement,
        seed: int,
        limits: Limits,
        sizes: tuple[int, int] | None = None,
        also: str = "",
        feasible: bool = False,
        degenerate: bool = False,
        strategy: Strategy | None = None,
    ):
        """`also` is a further hypothesis, `feasible` ends with the first instance that meets all,
        `degenerate` admits starts on a kink, or of a rank that singular values do not show."""
        self.s, self.limits, self._only_feasible = s, limits, feasible
        self._started = time.monotonic()
        further = Also(also) if also else None
        self._score = Scorer(s, further, degenerate, self._watch, patient=feasible)
        self.strategy: Strategy = strategy or Climbing(s, seed, sizes)
        self.found = Found()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def late(self) -> bool:
        return self.limits.seconds is not None and self.seconds > self.limits.seconds

    @property
    def _long_enough(self) -> bool:
        """Whether the search for a worse one has taken longer than that for the first."""
        first = self.found.first
        if self.limits.seconds is None or first is None:
            return False
        return self.seconds > 2 * first[1] + 1

    @property
    def over(self) -> bool:
        most = self.limits.evaluations
        return self.late or (most is not None and self.found.evaluations >= most)

    def _watch(self, step: Progress) -> None:
        if self.late:
            raise TooLate

    def search(self, told: Callable[[Found], None] = lambda found: None) -> Found:
        """Until a counterexample is found, and then a little longer for a worse one."""
        stop: int | None = None
        while not self.over and (stop is None or self.found.evaluations < stop):
            if stop is not None and self._long_enough:
                break
            try:
                self.step()
            except TooLate:
                break
            if self._only_feasible and self.found.met is not None:
                break
            if stop is None and self.found.worst is not None:
                stop = self.found.evaluations + max(LONGER, int(SHARE * self.found.evaluations))
            if self.found.evaluations % 100 == 0:
                told(self.found)
        return self.found

    def step(self) -> None:
        """One instance."""
        beat = getattr(self.strategy, "beat", UNUSABLE)
        instance = self.strategy.ask()
        score = self._score(instance, beat)
        self.found.add(score, self.seconds)
        self.strategy.tell(instance, score)

    def shrink(self, instance: Instance, enough: float) -> Instance:
        """The simplest instance near this one whose violation is at least so large."""
        left = MOST_SIMPLER
        if self.limits.seconds is not None:
            taken = EXTRA if self.found.first is None else max(self.found.first[1], EXTRA)
            self.limits = replace(self.limits, seconds=self.seconds + taken)

        def stands(candidate: Instance) -> bool:
            nonlocal left
            left -= 1
            if left < 0 or self.late:
                return False
            try:
                score = self._score(candidate)
            except TooLate:
                return False
            return score.refuted and score.value <= enough

        return shrunk(instance, stands)
