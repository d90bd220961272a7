"""Judge cases and drawn instances in doubles and, claim by claim, in exact numbers.

    python -m tests.audit --cases kawaguchi2021      every shipped case of a paper, as it starts
    python -m tests.audit --cases                    ... of every paper
    python -m tests.audit --drawn 200 --model delm   drawn instances
    python -m tests.audit ... --forms                ... and list the checks without exact numbers
    python -m tests.audit ... --keep FILE            ... and go on where a run with this file ended

Told are decisions that exact numbers contradict, and exact numbers that lie outside the bar of the
double. Exit code 1 if there is one. Nothing is trained, and no seeds are tried. A statement that
takes more than `--limit` seconds of CPU time on an instance is left and named; what it had compared
counts.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import deqcheck as dq
from deqcheck.judging import verdicts
from deqcheck.models.problem import AnyProblem
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision, computed_again
from deqcheck.records.formula import NOISE
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.frequency import Frequency
from tests.shipped import stated
from tests.undecided.instances import MODELS, Instance, small


@dataclass
class Audit:
    """What was compared, by statement and check, and what is wrong."""

    compared: Counter[tuple[str, str]] = field(default_factory=Counter)
    without: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    # Instances, with the statement that took too long on them.
    left: list[str] = field(default_factory=list)
    statement: str = ""
    instance: str = ""

    def add(self, other: Audit) -> None:
        self.compared += other.compared
        self.without += other.without
        self.wrong += other.wrong
        self.left += other.left

    def to_line(self, name: str) -> str:
        counts = {
            key: [[*check, times] for check, times in getattr(self, key).items()]
            for key in ("compared", "without")
        }
        return json.dumps({"name": name, **counts, "wrong": self.wrong, "left": self.left})

    @classmethod
    def of_line(cls, line: str) -> tuple[str, Audit]:
        told = json.loads(line)
        counts = [
            Counter({(statement, check): times for statement, check, times in told[key]})
            for key in ("compared", "without")
        ]
        return told["name"], cls(*counts, wrong=told["wrong"], left=told["left"])

    def look_at(self, claim: Claim) -> None:
        check = (self.statement, claim.name)
        answer = computed_again(claim.left, claim.relation, claim.right)
        if answer is None or answer.decision is Decision.UNDECIDED:
            self.without[check] += 1
            return
        self.compared[check] += 1
        found = claim.in_doubles()
        if found not in (Decision.UNDECIDED, answer.decision):
            self._tell(claim, f"{found} in doubles, {answer.decision} exactly ({answer.by})")
        if NOISE in claim.formula:
            # Exact numbers have none of it.
            return
        sides = zip(("left", "right"), claim.bars, (answer.left, answer.right), strict=True)
        for word, near, exact in sides:
            if not _inside(exact, near):
                told = f"{exact.value!r} is outside {near.value!r} +- {near.error:.3g}"
                self._tell(claim, f"{word}: {told}")

    def _tell(self, claim: Claim, what: str) -> None:
        self.wrong.append(f"{self.instance}: {self.statement}: {claim.name}: {what}")


def _inside(exact: Measured, near: Measured) -> bool:
    return not (exact.low > near.high or exact.high < near.low)


@contextmanager
def watching(audit: Audit) -> Iterator[None]:
    """Every claim that is judged is looked at first."""
    judge, authored = Claim.judge, verdicts.authored

    def judged(claim: Claim) -> Any:
        audit.look_at(claim)
        return judge(claim)

    def named(s: AnyStatement, p: AnyProblem) -> Any:
        audit.statement = f"{s.id} ({s.edition})"
        return authored(s, p)

    Claim.judge, verdicts.authored = judged, named  # type: ignore[method-assign]
    try:
        yield
    finally:
        Claim.judge, verdicts.authored = judge, authored  # type: ignore[method-assign]


def _cases(paper: str) -> Iterator[tuple[str, Callable[[], AnyProblem]]]:
    for name, case in sorted(stated().items()):
        if paper in ("all", name.split("/")[0]):
            yield name, case.problem


def _drawn(count: int, models: list[str], seed: int) -> Iterator[tuple[str, Any]]:
    for i in range(count):
        model = models[i % len(models)]
        yield f"{model} {seed + i}", lambda i=i, model=model: accepted(model, seed + i)


def accepted(model: str, seed: int, attempt: int = 0) -> AnyProblem:
    """The first one that is not refused."""
    drawn: Instance = small(model, seed, attempt)
    try:
        return dq.problem(model, drawn.data, drawn.init, **drawn.fields)
    except (dq.CaseError, dq.UsageError):
        return accepted(model, seed, attempt + 1)


class TooLong(BaseException):
    """Nothing between a claim and the audit catches it."""


def _stop(number: int, frame: Any) -> None:
    raise TooLong


def one(name: str, make: Callable[[], AnyProblem], limit: float = 0.0) -> Audit:
    """Every statement about this problem that says something before training; with a limit, each
    as far as so many seconds of CPU time go."""
    audit = Audit(instance=name)
    before = signal.signal(signal.SIGVTALRM, _stop)
    try:
        with watching(audit):
            p = replace(make(), train=None)
            for s in _fitting(p):
                _look_at(audit, p, s, limit)
    except (dq.CaseError, dq.UsageError) as refused:
        print(f"{name}: {refused}", file=sys.stderr)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return audit


def _look_at(audit: Audit, p: AnyProblem, s: type[AnyStatement], limit: float) -> None:
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        dq.run(p, only=[s], edition="both")
    except TooLong:
        audit.left.append(f"{audit.instance} (at {audit.statement or s.id})")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def audited(
    problems: Mapping[str, Callable[[], AnyProblem]], limit: float = 0.0, keep: Path | None = None
) -> Audit:
    """All of them together. With a file, those that it holds are not audited again."""
    known = keep.read_text().splitlines() if keep is not None and keep.exists() else []
    done = dict(map(Audit.of_line, known))
    total, started = Audit(), time.process_time()
    for i, (name, make) in enumerate(problems.items(), 1):
        if name not in done:
            done[name] = one(name, make, limit)
            if keep is not None:
                with keep.open("a") as stream:
                    print(done[name].to_line(name), file=stream)
            told = f"{time.process_time() - started:.0f} s CPU, {len(total.wrong)} contradictions"
            print(f"{i} of {len(problems)}: {name}; {told}", file=sys.stderr, flush=True)
        total.add(done[name])
    return total


def _fitting(p: AnyProblem) -> Iterator[type[AnyStatement]]:
    for s in dq.statements():
        if not issubclass(s, Frequency) and not s.incompatibility(p.model.kind, p.loss):
            yield s


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--cases", nargs="?", const="all", help="of this paper, or of all")
    parser.add_argument("--drawn", type=int, default=0, help="how many instances")
    parser.add_argument("--model", choices=MODELS, help="of the drawn ones; all if not given")
    parser.add_argument("--seed", type=int, default=10_000, help="of the first one")
    parser.add_argument("--limit", type=float, default=60, help="CPU seconds for one statement")
    parser.add_argument("--keep", type=Path, help="file of what has been audited")
    parser.add_argument("--forms", action="store_true", help="list checks without exact numbers")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    items = list(_cases(args.cases)) if args.cases else []
    items += _drawn(args.drawn, [args.model] if args.model else list(MODELS), args.seed)
    started = time.process_time()
    audit = audited(dict(items), args.limit, args.keep)
    compared, without = audit.compared.total(), audit.without.total()
    print(
        f"{len(items)} instances, {time.process_time() - started:.0f} s CPU; {compared} decisions "
        f"compared, {without} without exact numbers, {len(audit.wrong)} contradictions, "
        f"{len(audit.left)} statements left after {args.limit:g} s"
    )
    for name in audit.left:
        print(f"left: {name}")
    if args.forms:
        for (statement, check), times in sorted(audit.without.items()):
            print(
                f"{times:6d} of {times + audit.compared[statement, check]:6d} {statement}: {check}"
            )
    for sentence in audit.wrong:
        print(sentence)
    sys.exit(1 if audit.wrong else 0)


if __name__ == "__main__":
    main()
