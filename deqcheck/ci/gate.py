"""All cases: from the store or from workers, in the order of their names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from deqcheck.case import Case, CaseError, read_cases
from deqcheck.case.source import Source
from deqcheck.ci import baseline as base
from deqcheck.ci.compare import updated
from deqcheck.ci.discover import Discovery, FoundCase
from deqcheck.ci.judge import FAILED, INTERRUPTED, Rule, judge
from deqcheck.ci.records import Gate, GateError, Interrupted, Result
from deqcheck.engines import End, Reply
from deqcheck.engines.processes import Processes
from deqcheck.explore.single import TASK, Results, environment, message, reply
from deqcheck.store import Store

# A case of a file, or why the file cannot be read.
ReadCase = tuple[FoundCase, Case | Reply]


@dataclass
class Runner:
    """How the cases are run; `tell` hears how many are done, `warn` what cannot be kept."""

    jobs: int
    timeout: float | None = None
    store: Store | None = None
    tell: Callable[[int, int], None] = lambda done, total: None
    warn: Callable[[str], None] = lambda sentence: None

    def results(self, found: Sequence[FoundCase], strict: bool = False) -> list[Result]:
        """One result for each case. Raises Interrupted with those that are there, and GateError
        under `strict`, before anything is run."""
        stated = [pair for each in found for pair in stated_in(each)]
        if strict:
            _refuse_silent(case for _, case in stated if isinstance(case, Case))
        replies: dict[FoundCase, Reply] = {}
        kept = Results(self.store, self.warn)
        for each, case in stated:
            known = kept.get(case.digest) if isinstance(case, Case) else case
            if known is not None:
                replies[each] = known
        try:
            cases = {f: c for f, c in stated if isinstance(c, Case) and f not in replies}
            self._run(cases, replies, kept, len(stated))
        except KeyboardInterrupt:
            unfinished = tuple(each.id for each, _ in stated if each not in replies)
            if unfinished:
                raise Interrupted(_results(stated, replies), unfinished) from None
        return _results(stated, replies)

    def _run(
        self,
        cases: dict[FoundCase, Case],
        replies: dict[FoundCase, Reply],
        kept: Results,
        total: int,
    ) -> None:
        self.tell(len(replies), total)
        if not cases:
            return
        messages = ((each, message(case, self.store)) for each, case in cases.items())
        engine = Processes(min(self.jobs, len(cases)), self.timeout)
        with closing(engine.replies(TASK, messages)) as answers:
            for each, answer in answers:
                replies[each] = answer
                kept.keep(cases[each].digest, answer)
                self.tell(len(replies), total)


def stated_in(found: FoundCase) -> list[ReadCase]:
    """Every case that a file states, or why it cannot be read."""
    try:
        cases = read_cases(found.path)
    except CaseError as error:
        return [(found, Reply(End.BAD_CASE, str(error)))]
    return [(_named(found, case), case) for case in cases]


def _named(found: FoundCase, case: Case) -> FoundCase:
    member = case.source.member
    return found if member is None else found._replace(id=f"{found.id}[{member.label}]")


def _refuse_silent(cases: Iterable[Case]) -> None:
    sentences = [
        f"{case.full_name}: no `expect:`; under --strict every case says what it expects"
        for case in cases
        if not case.stated.expect
    ]
    if sentences:
        raise GateError("\n".join(sentences))


def _results(stated: Iterable[ReadCase], replies: Mapping[FoundCase, Reply]) -> list[Result]:
    return [_result(each, case, replies[each]) for each, case in stated if each in replies]


def _result(found: FoundCase, case: Case | Reply, answer: Reply) -> Result:
    path = found.path.as_posix()
    if isinstance(case, Reply):
        return Result(found.id, path, answer, replay=Source(path).replay)
    return Result(found.id, path, answer, case.full_title, case.stated.expect, case.replay)


def alone(stated: ReadCase) -> Result:
    """One case in this very process."""
    found, case = stated
    answer = reply(case) if isinstance(case, Case) else case
    return _result(found, case, answer)


def hold(
    runner: Runner,
    discovery: Discovery,
    rule: Rule,
    gravest: Callable[[Iterable[int]], int],
    baseline: base.Baseline | None = None,
    strict: bool = False,
) -> Gate:
    """Run every case and judge it; interrupted, those that were finished."""
    started = time.perf_counter()
    unfinished: tuple[str, ...] = ()
    try:
        results = runner.results(discovery.cases, strict)
    except Interrupted as stop:
        results, unfinished = stop.results, stop.unfinished
    rows = tuple(judge(result, rule, baseline) for result in results)
    missing = _missing(baseline, {*unfinished, *(row.result.id for row in rows)})
    codes = [row.exit_code for row in rows] + [FAILED for _ in missing]
    codes += [INTERRUPTED for _ in unfinished]
    return Gate(
        rows=rows,
        environment=environment(),
        exit_code=gravest(codes),
        skipped=tuple(discovery.skipped),
        missing=missing,
        seconds=time.perf_counter() - started,
        unfinished=unfinished,
    )


def _missing(baseline: base.Baseline | None, here: set[str]) -> tuple[str, ...]:
    return tuple(sorted(set(baseline.cases) - here)) if baseline else ()


def agreed(gate: Gate, old: base.Baseline) -> base.Baseline:
    """The baseline that this run makes; a case that did not run keeps its old entry."""
    cases = {}
    for row in gate.rows:
        before = old.cases.get(row.result.id)
        facts = row.result.reply.facts
        if facts is not None:
            cases[row.result.id] = updated(before, base.entry(facts), old.allowance)
        elif before is not None:
            cases[row.result.id] = dict(before)
    return replace(old, cases=cases)
