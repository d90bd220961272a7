"""One mutant after the other before the tests that reach it."""

from __future__ import annotations

import enum
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .operators import Mutant
from .reached import Reach, passes, recorded
from .swapped import Imported, NotSwapped

# A test that takes so much longer than without a mutant does not end; seconds of the processor.
LONGER, LONGEST = 10, 5.0
MEMORY = 6 * 2**30
KEPT = Path(".pytest_cache") / "mutation"


class Outcome(enum.Enum):
    KILLED = "killed"
    HUNG = "not ended"
    SURVIVED = "survived"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Found:
    outcome: Outcome
    note: str


class Trial:
    def __init__(
        self, items: Sequence[pytest.Item], paths: Sequence[Path], root: Path, budget: float
    ):
        self.items = {item.nodeid: item for item in items}
        # Before the functions are looked up: nothing is run in this process itself.
        self.reaches = recorded(items, paths, root / "deqcheck", root / KEPT)
        self.imported = Imported(paths, root)
        self.budget = budget
        self.kills: Counter[tuple[Path, str]] = Counter()
        self.trusted: dict[str, bool] = {}

    def judged(self, mutant: Mutant) -> Found:
        tests = self._tests(mutant)
        if not tests:
            return Found(Outcome.SURVIVED, "no test reaches it")
        outcome, test = self._forked(lambda told: self._tried(mutant, tests, told))
        if outcome in (Outcome.KILLED, Outcome.HUNG):
            if test and not self._passes_alone(test):
                print(f"fails alone, not used: {test}", flush=True)
                self.reaches = [reach for reach in self.reaches if reach.test != test]
                return self.judged(mutant)
            self.kills[mutant.path, test] += 1
        return Found(outcome, test or f"{len(tests)} tests")

    def _tests(self, mutant: Mutant) -> list[Reach]:
        lines = mutant.lines()
        found = [reach for reach in self.reaches if reach.any_of(mutant.path, lines)]
        if mutant.formula and not found:
            beside = str(mutant.path.parent)
            found = [
                r for r in self.reaches if any(Path(p).parent == Path(beside) for p in r.lines)
            ]
        if mutant.formula:
            # A test that evaluates a check by itself reaches no line of a statement.
            found += [r for r in self.reaches if r not in found and _evaluates(r)]
        killers = [reach for reach in found if self.kills[mutant.path, reach.test]]
        killers.sort(key=lambda reach: -self.kills[mutant.path, reach.test] / reach.seconds)
        return killers + [reach for reach in _in_turn(found) if reach not in killers]

    def _passes_alone(self, test: str) -> bool:
        if test not in self.trusted:
            (reach,) = (reach for reach in self.reaches if reach.test == test)
            outcome, _ = self._forked(lambda told: self._run([reach], told))
            self.trusted[test] = outcome is Outcome.SURVIVED
        return self.trusted[test]

    def _tried(
        self, mutant: Mutant, tests: Sequence[Reach], told: Callable[[str], None]
    ) -> Outcome:
        try:
            self.imported.swap(mutant)
        except NotSwapped as reason:
            told(str(reason))
            return Outcome.NOT_TRIED
        return self._run(tests, told)

    def _run(self, tests: Sequence[Reach], told: Callable[[str], None]) -> Outcome:
        begun = time.process_time()
        for reach, following in zip(tests, [*tests[1:], None], strict=True):
            left = self.budget - (time.process_time() - begun)
            if left < 0:
                return Outcome.SURVIVED
            told(reach.test)
            signal.setitimer(signal.ITIMER_PROF, LONGEST + LONGER * reach.seconds)
            after = None if following is None else self.items[following.test]
            if not passes(self.items[reach.test], after):
                return Outcome.KILLED
        told("")
        return Outcome.SURVIVED

    def _forked(self, work: Callable[[Callable[[str], None]], Outcome]) -> tuple[Outcome, str]:
        """What becomes of it, and what it has told last."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _child(work, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = pipe.read().split("\n")
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        every = list(Outcome)
        outcome = every[code] if 0 <= code < len(every) else Outcome.HUNG
        last = lines[-2] if len(lines) > 1 else ""
        return outcome, "" if outcome is Outcome.SURVIVED else last


def _evaluates(reach: Reach) -> bool:
    return "/independent/" in reach.test and not any("/theorems/" in path for path in reach.lines)


def _in_turn(reaches: Sequence[Reach]) -> list[Reach]:
    """The quickest of every test file, then the second ones: what they look at differs."""
    rank, place = Counter[str](), dict[str, int]()
    by_time = sorted(reaches, key=lambda reach: reach.seconds)
    for reach in by_time:
        file = reach.test.partition("::")[0]
        place[reach.test] = rank[file]
        rank[file] += 1
    return sorted(by_time, key=lambda reach: place[reach.test])


def _child(work: Callable[[Callable[[str], None]], Outcome], writing: int) -> None:
    outcome = Outcome.KILLED
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    # Its default ends the process.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        outcome = work(lambda text: os.write(writing, f"{text}\n".encode()) and None)
    finally:
        os._exit(list(Outcome).index(outcome))
