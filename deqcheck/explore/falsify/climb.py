"""Which instance to look at next: fresh ones, and those near what came nearest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Protocol

import numpy as np

from deqcheck.explore.falsify.draw import STAGES, Drawing, one_of
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.mutate import changed, crossed, fitted
from deqcheck.explore.falsify.score import FLAT, TIE, UNUSABLE, Score
from deqcheck.fields import Refusal
from deqcheck.theorems.base import AnyStatement

# Instances before larger sizes are drawn, too; from then on all sizes so far are.
GROWS = (0, 60, 300, 900)
# Changes without success before another start is taken; where no change shows, fewer.
PATIENCE, PATIENCE_FLAT = 16, 3
# How often a start is one of the best so far.
AGAIN = 0.3
# An array whose changes have shown nothing so often is seldom changed.
BLIND, SELDOM, SEEN = 6, 0.1, 1000
# What a slack of exactly 0 counts as.
EQUAL = 0.05
Sizes = tuple[int, ...]


class Strategy(Protocol):
    """Whoever proposes instances and is told their scores: the smaller the better, below 0 the
    statement is refuted, above 1 a hypothesis fails."""

    def ask(self) -> Instance: ...

    def tell(self, instance: Instance, score: Score) -> None: ...


class Climbing:
    """Climbs from many starts, each as long as it gets nearer to violating one of the claims. A
    hypothesis that fails is a penalty that leads in, not a reason to leave."""

    def __init__(self, s: AnyStatement, seed: int, sizes: tuple[int, int] | None = None):
        self.statement, self.drawing = s, Drawing(s, sizes)
        self.random = np.random.default_rng(seed)
        self._told = 0
        self._here: tuple[Score, Instance] | None = None
        # The claim that is to be violated; empty for whichever comes nearest.
        self._target = ""
        self._failures = 0
        # The best so far for each claim and sizes, and of those that fail a hypothesis.
        self._elite: dict[str, dict[Sizes, tuple[float, Instance]]] = {}
        # How often a change of an array alone has left the slack as it was, until one did not.
        self._unseen: Counter[str] = Counter()

    @property
    def beat(self) -> float | None:
        """The score that the next instance must beat; None for a new start."""
        return None if self._here is None else self._here[0].value

    def ask(self) -> Instance:
        if self._here is None:
            return self._start()
        return self._offspring(self._here[1])

    def tell(self, instance: Instance, score: Score) -> None:
        self._told += 1
        self._keep(score, instance)
        before = self._here
        if before is not None:
            self._note(before, instance, score)
        if before is None or self._worth(score) <= self._worth(before[0]):
            better = before is None or self._worth(score) < self._worth(before[0])
            self._failures = 0 if better else self._failures + 1
            self._here = (score, instance)
        else:
            self._failures += 1
        assert self._here is not None
        if self._failures >= self._patience(self._here[0]):
            self._here, self._failures = None, 0

    def _note(self, before: tuple[Score, Instance], instance: Instance, score: Score) -> None:
        """Which array was changed, and whether it showed. Labels, for one, mean nothing to many
        statements."""
        if not (score.feasible and before[0].feasible) or score.value in (0.0, FLAT):
            return
        name = instance.only_change(before[1])
        if name and score.shown == before[0].shown:
            self._unseen[name] += 1
        elif name:
            self._unseen[name] = -SEEN

    def _seen(self, name: str) -> bool:
        return self._unseen[name] < BLIND or self.random.random() < SELDOM

    def _worth(self, score: Score) -> float:
        """Of a feasible one, the slack of the claim that is to be violated."""
        if not score.feasible:
            return score.value
        return _worth(score.slack.get(self._target, score.value))

    def _patience(self, score: Score) -> int:
        flat = score.value >= UNUSABLE or self._worth(score) in (EQUAL, FLAT, 1 + TIE)
        return PATIENCE_FLAT if flat else PATIENCE

    def _start(self) -> Instance:
        r = self.random
        claims = [claim for claim in self._elite if claim] or list(self._elite)
        self._target = one_of(r, claims) if claims else ""
        if claims and r.random() < AGAIN:
            ranked = sorted(self._elite[self._target].values(), key=lambda each: each[0])
            pick = min(int(r.integers(len(ranked))) for _ in range(2))
            return self._offspring(ranked[pick][1])
        stage = sum(self._told >= begins for begins in GROWS) - 1
        for _ in range(20):
            try:
                found = self.drawing.draw(r, int(r.integers(min(stage, len(STAGES) - 1) + 1)))
            except Refusal:
                continue
            return fitted(r, found) if r.random() < 0.2 else found
        raise Refusal("", "no instance can be drawn")

    def _offspring(self, instance: Instance) -> Instance:
        r = self.random
        mates = list(self._elite.get(self._target, {}).values())
        if mates and r.random() < 0.1:
            instance = crossed(r, instance, one_of(r, mates)[1])
        if instance.constants is None and self.drawing.sought:
            # Those that the statement searches for are looked at once.
            instance = replace(instance, constants=self.drawing.constants(r))
        # Hypotheses that fail are mostly about sizes.
        near = self._here is None or self._here[0].feasible
        reach = float(10.0 ** (r.uniform(-3, 0.3) if near else r.uniform(-1, 0.5)))
        for _ in range(1 + int(r.random() < 0.4)):
            instance = changed(r, self.statement, instance, reach, self._seen)
        return instance

    def _keep(self, score: Score, instance: Instance) -> None:
        if score.value >= UNUSABLE:
            return
        sizes = tuple(instance.sizes.values())
        for claim, slack in (score.slack or {"": score.value}).items():
            kept = self._elite.setdefault(claim, {})
            worth = _worth(slack)
            if sizes not in kept or worth < kept[sizes][0]:
                kept[sizes] = (worth, instance)


def _worth(slack: float) -> float:
    """An equality is as near as can be, and leads nowhere."""
    return slack or EQUAL
