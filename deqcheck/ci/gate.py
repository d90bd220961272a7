"""All cases: from the store or from workers, in the order of their names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from deqcheck.case import Case, CaseError, read_case
from deqcheck.ci import baseline as base
from deqcheck.ci.compare import updated
from deqcheck.ci.discover import Discovery, Found
from deqcheck.ci.judge import FAILED, Rule, judge
from deqcheck.ci.records import End, Gate, GateError, Reply, Result, Row
from deqcheck.ci.single import environment, key, reply
from deqcheck.ci.workers import Pool
from deqcheck.store import Store


@dataclass
class Runner:
    """How the cases are run; `tell` hears how many are done, `warn` what cannot be kept."""

    jobs: int
    timeout: float | None = None
    store: Store | None = None
    tell: Callable[[int, int], None] = lambda done, total: None
    warn: Callable[[str], None] = lambda sentence: None

    def results(self, found: Sequence[Found], strict: bool = False) -> list[Result]:
        """One result for each case. Raises GateError under `strict`, before anything is run."""
        cases = [_read(each) for each in found]
        if strict:
            _refuse_silent(each for each in cases if isinstance(each, Case))
        replies: dict[Path, Reply] = {}
        for each, case in zip(found, cases, strict=True):
            known = self._kept(case) if isinstance(case, Case) else case
            if known is not None:
                replies[each.path] = known
        self._run([each.path for each in found if each.path not in replies], replies, len(found))
        return [_result(*pair, replies) for pair in zip(found, cases, strict=True)]

    def _run(self, paths: list[Path], replies: dict[Path, Reply], total: int) -> None:
        def done(path: Path, reply: Reply) -> None:
            replies[path] = reply
            self._keep(reply)
            self.tell(len(replies), total)

        self.tell(len(replies), total)
        if paths:
            Pool(min(self.jobs, len(paths)), self.timeout).judge_all(paths, done)

    def _kept(self, case: Case) -> Reply | None:
        entry = None if self.store is None else self.store.get(key(case.digest))
        if entry is None:
            return None
        return Reply(End.RAN, facts=entry["facts"], seconds=entry["seconds"])

    def _keep(self, reply: Reply) -> None:
        if self.store is None or reply.facts is None:
            return
        entry = {"facts": dict(reply.facts), "seconds": reply.seconds}
        try:
            self.store.put(key(reply.facts["digest"]), entry)
        except OSError as error:
            self.warn(f"cannot keep results in {self.store.folder}: {error.strerror}")
            self.store = None


def _read(found: Found) -> Case | Reply:
    try:
        return read_case(found.path)
    except CaseError as error:
        return Reply(End.BAD_CASE, str(error))


def _refuse_silent(cases: Iterable[Case]) -> None:
    sentences = [
        f"{case.name}: no `expect:`; under --strict every case says what it expects"
        for case in cases
        if not case.expect
    ]
    if sentences:
        raise GateError("\n".join(sentences))


def _result(found: Found, case: Case | Reply, replies: dict[Path, Reply]) -> Result:
    more = {"title": case.title, "expect": case.expect} if isinstance(case, Case) else {}
    return Result(found.id, found.path.as_posix(), replies[found.path], **more)  # type: ignore[arg-type]


def alone(found: Found) -> Result:
    """One case in this very process."""
    case = _read(found)
    answer = reply(found.path) if isinstance(case, Case) else case
    return _result(found, case, {found.path: answer})


def hold(
    runner: Runner,
    discovery: Discovery,
    rule: Rule,
    gravest: Callable[[Iterable[int]], int],
    baseline: base.Baseline | None = None,
    strict: bool = False,
) -> Gate:
    """Run every case and judge it."""
    started = time.perf_counter()
    results = runner.results(discovery.cases, strict)
    rows = tuple(judge(result, rule, baseline) for result in results)
    missing = _missing(baseline, rows)
    codes = [row.exit_code for row in rows] + [FAILED for _ in missing]
    return Gate(
        rows=rows,
        environment=environment(),
        exit_code=gravest(codes),
        skipped=tuple(discovery.skipped),
        missing=missing,
        seconds=time.perf_counter() - started,
    )


def _missing(baseline: base.Baseline | None, rows: Sequence[Row]) -> tuple[str, ...]:
    here = {row.result.id for row in rows}
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
