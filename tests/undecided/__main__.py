"""Judge many instances and count the verdicts that stay undecided, by statement and by reason.

    python -m tests.undecided                  412 small instances, random and structured
    python -m tests.undecided --ordinary       40 for each model and each way of training
    python -m tests.undecided --save FILE      ... and keep every outcome
    python -m tests.undecided --keep FILE      ... and go on where a run with this file ended
    python -m tests.undecided --against FILE   ... and list every outcome that has become another

Of the verdicts that are not `not applicable`, `not checked` is counted apart: it is a limit of the
program. So is a flow that has reached a kink.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import deqcheck as dq

from .instances import MODELS, TRAININGS, Instance, ordinary, small

# The instance of an attempt.
Draw = Callable[[int], Instance]
SMALL, EACH = 412, 40
AT_KINK = "kink-reached"
# Sides nearer to each other than this are an equality that rounding hides.
EQUAL = 1e-9


class Found(NamedTuple):
    """One verdict; `reasons` are those of an undecided one."""

    name: str
    statement: str
    edition: str
    outcome: str
    status: str
    reasons: tuple[str, ...]


def _reason(judged: Any) -> str:
    left, right = judged.left, judged.right
    bars = left.error + right.error
    if not math.isfinite(bars):
        kind = "infinite bar"
    elif left.value == right.value == 0:
        kind = "both sides 0"
    elif abs(left.value - right.value) <= EQUAL * max(abs(left.value), abs(right.value)):
        kind = "equal"
    else:
        kind = "wide bar"
    return f"{judged.name}: {kind}"


def _reasons(verdict: Any) -> tuple[str, ...]:
    judged = (*verdict.hypotheses, *verdict.conclusions)
    return tuple(dict.fromkeys(_reason(j) for j in judged if j.decision == "undecided"))


def _instances(args: argparse.Namespace) -> Iterator[tuple[str, Draw]]:
    models = [args.model] if args.model else list(MODELS)
    if args.ordinary:
        for model in models:
            for training in [args.training] if args.training else TRAININGS:
                for seed in range(args.count or EACH):
                    yield f"{model} {training} {seed}", partial(ordinary, model, training, seed)
        return
    for i in range(args.count or SMALL):
        model = MODELS[i % len(MODELS)]
        if model in models:
            yield f"{model} {i}", partial(small, model, args.seed + i)


def _report(draw: Draw, attempt: int = 0) -> Any:
    """Of the first instance that is not refused."""
    instance = draw(attempt)
    try:
        p = dq.problem(instance.model, instance.data, instance.init, **instance.fields)
        return dq.run(p, train=instance.train, edition="both")
    except (dq.CaseError, dq.UsageError):
        return _report(draw, attempt + 1)


def _judge(item: tuple[str, Draw]) -> tuple[list[Found], str, float]:
    name, draw = item
    started = time.process_time()
    report = _report(draw)
    status = report.status.word
    found = [
        Found(
            name,
            v.id,
            v.edition,
            str(v.outcome),
            status,
            _reasons(v) if v.outcome == "undecided" else (),
        )
        for v in report.verdicts
    ]
    return found, status, time.process_time() - started


def _tell(found: list[Found]) -> None:
    applicable = [f for f in found if f.outcome != "not applicable"]
    unseen = [f for f in applicable if f.outcome == "not checked"]
    kinked = [f for f in applicable if f.outcome == "undecided" and f.status == AT_KINK]
    judged = [f for f in applicable if f not in unseen and f not in kinked]
    undecided = [f for f in judged if f.outcome == "undecided"]
    share = len(undecided) / max(1, len(judged))
    print(
        f"{len(found)} verdicts, {len(applicable)} applicable, of them {len(unseen)} not checked, "
        f"{len(kinked)} undecided at a kink; {len(undecided)} of the other {len(judged)} "
        f"undecided: {share:.1%}"
    )
    for model in MODELS:
        mine = [f for f in judged if f.name.startswith(model + " ")]
        open_ = [f for f in mine if f.outcome == "undecided"]
        print(f"  {model}: {len(open_)} of {len(mine)}")
    print(Counter(f.outcome for f in found).most_common())
    against = [f for f in found if f.edition == "corrected"]
    for f in against:
        if f.outcome in ("refuted", "inconsistent"):
            print(f"REFUTED {f.statement} (corrected): {f.name}")
    for statement, times in Counter((f.statement, f.edition) for f in undecided).most_common():
        print(f"{times:5d} {statement[0]} ({statement[1]})")
        mine = [f for f in undecided if (f.statement, f.edition) == statement]
        for reason, often in Counter(r for f in mine for r in f.reasons or ("none",)).most_common():
            where = ", ".join(f.name for f in mine if reason in (f.reasons or ("none",)))[:70]
            print(f"        {often:4d} {reason}  [{where}]")


def _compare(found: list[Found], before: list[Found]) -> None:
    old = {f[:3]: f.outcome for f in before}
    moved = [(f, old[f[:3]]) for f in found if f[:3] in old and old[f[:3]] != f.outcome]
    for (was, now), times in Counter((o, f.outcome) for f, o in moved).most_common():
        print(f"{times:5d} {was} -> {now}")
    for f, was in moved:
        if was not in ("undecided", "not checked"):
            print(f"MOVED {f.statement} ({f.edition}), {f.name}: {was} -> {f.outcome} {f.reasons}")


def _judged(
    items: list[tuple[str, Draw]], jobs: int, keep: Path | None
) -> Iterator[tuple[str, list[Found], str, float]]:
    """Those that a file holds are not judged again."""
    lines = keep.read_text().splitlines() if keep is not None and keep.exists() else []
    done = {row[0]: row[1:] for row in map(json.loads, lines)}
    wanted = [item for item in items if item[0] not in done]
    for name, _ in items:
        if name in done:
            rows, status, spent = done[name]
            yield name, [Found(*row[:5], tuple(row[5])) for row in rows], status, spent
    with multiprocessing.Pool(jobs) as pool:
        judged = zip(wanted, pool.imap(_judge, wanted), strict=True)
        for i, ((name, _), (verdicts, status, spent)) in enumerate(judged, 1):
            print(f"{i} of {len(wanted)}: {name}, {spent:.1f} s", file=sys.stderr, flush=True)
            if keep is not None:
                with keep.open("a") as stream:
                    print(json.dumps([name, verdicts, status, spent]), file=stream)
            yield name, verdicts, status, spent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.undecided", description=__doc__)
    parser.add_argument("--ordinary", action="store_true", help="ordinary instances")
    parser.add_argument("--model", choices=MODELS, help="this one only")
    parser.add_argument("--count", type=int, help="how many instances (of each sort)")
    parser.add_argument("--seed", type=int, default=0, help="of the first small instance")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--training", choices=TRAININGS, help="of the ordinary ones")
    parser.add_argument("--keep", type=Path, help="file of what has been judged")
    parser.add_argument("--save", type=Path, help="write the outcomes to this file")
    parser.add_argument("--against", type=Path, help="compare with such a file")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    found: list[Found] = []
    statuses: Counter[str] = Counter()
    seconds = 0.0
    slow: list[tuple[float, str]] = []
    items = list(_instances(args))
    for name, verdicts, status, spent in _judged(items, args.jobs, args.keep):
        found += verdicts
        statuses[status] += 1
        seconds += spent
        slow.append((spent, name))
    print(f"{len(items)} instances, {seconds:.1f} s CPU; {dict(statuses)}")
    print("slowest:", [f"{s:.1f} s {n}" for s, n in sorted(slow, reverse=True)[:4]])
    _tell(found)
    if args.save:
        args.save.write_text(json.dumps(found))
    if args.against:
        rows = json.loads(args.against.read_text())
        _compare(found, [Found(*row[:5], tuple(row[5])) for row in rows])


if __name__ == "__main__":
    main()
