"""From the result of a case to its line: what was missed, and how grave that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from deqcheck.ci import baseline as base
from deqcheck.ci.compare import changes
from deqcheck.ci.facts import Facts, ending, outcomes
from deqcheck.ci.records import Change, Result, Row, label
from deqcheck.engines import End
from deqcheck.records.expectations import Expectations
from deqcheck.records.report import Ending
from deqcheck.records.verdict import Status

# Turns endings into an exit code; the command line owns the codes.
Rule = Callable[[Iterable[Ending]], int]
FAILED, NOTHING_DECIDED, INTERRUPTED = 1, 3, 130
CODES = {End.BAD_CASE: 2, End.TIMED_OUT: 4, End.KILLED: 4, End.CRASHED: 70}
NEW, CHANGED = "not in the baseline", "the case itself was changed since the baseline"
WORDS = {0: "ok", FAILED: "failed", NOTHING_DECIDED: "nothing decided", 4: "numerical failure"}


def judge(result: Result, rule: Rule, known: base.Baseline | None) -> Row:
    reply = result.reply
    if reply.facts is None:
        return Row(result, CODES[reply.end], reply.end.value, tuple(reply.sentence.splitlines()))
    entry = base.entry(reply.facts)
    before = None if known is None else known.cases.get(result.id)
    deviations: tuple[Change, ...] = ()
    notes = list(reply.facts["notes"])
    if known is not None and before is None:
        notes.append(NEW)
    elif known is not None and before is not None:
        deviations = changes(before, entry, known.allowance)
        if before["digest"] != entry["digest"]:
            notes.append(CHANGED)
    code = rule([ending(reply.facts, result.expect)])
    if code in (0, NOTHING_DECIDED) and any(change.fails for change in deviations):
        code = FAILED
    sentences = tuple(_sentences(reply.facts, result.expect))
    if code == NOTHING_DECIDED:
        sentences = (*sentences, "nothing was decided, and the case did not expect that")
    return Row(result, code, WORDS.get(code, "failed"), sentences, deviations, tuple(notes))


def _sentences(facts: Facts, expect: Expectations) -> Iterator[str]:
    wanted = expect.status or Status.COMPLETED.word
    if facts["status"] != wanted:
        yield f"the run ended as {facts['status']}, expected {wanted}"
    for entry, outcome, expected in outcomes(facts, expect):
        said = f"{label(entry)}: {outcome.value}"
        if expected is None and outcome.negative:
            yield f"{said}{_reason(entry)}"
        elif expected not in (None, outcome.value):
            yield f"{said}, expected {expected}{_reason(entry)}"


def _reason(entry: Mapping[str, Any]) -> str:
    """The first check that stands in the way of `confirmed`."""
    for part in ("hypotheses", "conclusions"):
        for decision in ("violated", "undecided"):
            for judged in entry[part]:
                if judged["decision"] == decision:
                    return f" ({judged['name']}: {decision}{_sides(judged)})"
    return f" ({'; '.join(entry['unchecked'])})" if entry["unchecked"] else ""


def _sides(judged: Mapping[str, Any]) -> str:
    left, right = judged["left"]["value"], judged["right"]["value"]
    if left is None or right is None:
        return ""
    first = judged.get("first_violation")
    where = f" first at k = {first['k']}" if first else ""
    return f"{where}, {left:.6g} {judged['relation']} {right:.6g} was claimed"
