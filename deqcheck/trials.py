"""Trials over many seeds: in this process or in several, and kept for the next run if wanted."""

from __future__ import annotations

import base64
import json
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.engines import INSIDE, End, Engine, Message, Reply
from deqcheck.engines.processes import Processes
from deqcheck.environment import source
from deqcheck.models.problem import AnyProblem
from deqcheck.store import Store
from deqcheck.theorems.frequency import AnyFrequency
from deqcheck.threads import cores

# Seeds that are tried, kept and handed to a process together.
BATCH = 20
# Further processes pay off when this many seconds of work remain.
WORTHWHILE = 5.0
# The fields of a case that a trial depends on.
FIELDS = ("seed", "seeds", "data", "model", "init", "rescale", "rank")

Results = list[bool | None]
Done = Callable[[int, int], None]


def tally(
    s: AnyFrequency,
    p: AnyProblem,
    store: Store | None = None,
    done: Done = lambda finished, total: None,
    engine: Engine | None = None,
) -> Results:
    """The result of every seed, in order. What cannot be told from other problems is not kept.

    Without an engine, here, and in further processes where that pays."""
    if p.origin is None:
        store = None
    resolved = {} if store is None or p.origin is None else p.origin.resolved
    batches = [range(i, min(i + BATCH, s.seeds)) for i in range(0, s.seeds, BATCH)]
    keys = [_key(s, resolved, batch) for batch in batches]
    found: dict[int, Results] = {}
    for i, name in enumerate(keys):
        kept = store.get(name) if store else None
        if kept is not None:
            found[i] = kept["results"]
    missing = [i for i in range(len(batches)) if i not in found]
    computed = _computed(s, p, batches, missing)
    if engine is not None and missing:
        computed = _sent(engine, s, p, batches, missing)
    for i, results in computed:
        found[i] = results
        if store:
            store.put(keys[i], {"results": results})
        done(sum(map(len, found.values())), s.seeds)
    return [result for i in range(len(batches)) for result in found[i]]


def _key(s: AnyFrequency, resolved: Mapping[str, Any], batch: range) -> str:
    """Everything that the results depend on."""
    parts = {
        "deqcheck": source(),
        "statement": [s.id, s.edition],
        "constants": {name: value for name, value in s.fixed.items() if name != "seeds"},
        "case": {field: resolved.get(field) for field in FIELDS},
        "seeds": [batch.start, batch.stop],
    }
    return json.dumps(parts, sort_keys=True)


def _computed(
    s: AnyFrequency, p: AnyProblem, batches: Sequence[range], missing: Sequence[int]
) -> Iterator[tuple[int, Results]]:
    started = time.perf_counter()
    for position, i in enumerate(missing):
        spent = time.perf_counter() - started
        rest = missing[position:]
        worthwhile = position and spent / position * len(rest) > WORTHWHILE
        if worthwhile and not INSIDE and cores() > 1:
            engine = Processes(min(cores(), len(rest)))
            yield from _sent(engine, s, p, batches, rest)
            return
        yield i, _batch(s, p, batches[i])


@np.errstate(all="ignore")
def _batch(s: AnyFrequency, p: AnyProblem, batch: range) -> Results:
    return [s.trial(p, seed) for seed in batch]


def _sent(
    engine: Engine,
    s: AnyFrequency,
    p: AnyProblem,
    batches: Sequence[range],
    missing: Sequence[int],
) -> Iterator[tuple[int, Results]]:
    # A copy of the problem: what was computed lazily stays here.
    task = base64.b64encode(pickle.dumps((s, replace(p, origin=None)))).decode()
    messages = ((i, {"task": task, "seeds": [batches[i].start, batches[i].stop]}) for i in missing)
    with closing(engine.replies(__name__, messages)) as replies:
        for i, reply in replies:
            # What failed there is done here: either it works, or the error has its place.
            there = reply.facts
            yield i, _batch(s, p, batches[i]) if there is None else there["results"]


def answer(message: Message) -> Reply:
    """The task of engines: one batch."""
    s, p = pickle.loads(base64.b64decode(message["task"]))
    return Reply(End.RAN, facts={"results": _batch(s, p, range(*message["seeds"]))})


def warm_up() -> None:
    """What the statement needs is imported with it."""
