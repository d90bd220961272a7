"""Trials over many seeds: in this process or in several, and kept for the next run if wanted."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck import plugins, threads
from deqcheck.environment import source
from deqcheck.models.problem import AnyProblem
from deqcheck.store import Store
from deqcheck.theorems.frequency import AnyFrequency

# Seeds that are tried, kept and handed to a process together.
BATCH = 20
# Further processes pay off when this many seconds of work remain.
WORTHWHILE = 5.0
# The fields of a case that a trial depends on.
FIELDS = ("seed", "data", "model", "init", "rescale")

Results = list[bool | None]
Done = Callable[[int, int], None]


def tally(
    s: AnyFrequency,
    p: AnyProblem,
    store: Store | None = None,
    done: Done = lambda finished, total: None,
) -> Results:
    """The result of every seed, in order. What cannot be told from other problems is not kept."""
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
    for i, results in _computed(s, p, batches, missing):
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
        if position and spent / position * len(rest) > WORTHWHILE and threads.cores() > 1:
            yield from _in_processes(s, p, batches, rest)
            return
        yield i, _batch(s, p, batches[i])


@np.errstate(all="ignore")
def _batch(s: AnyFrequency, p: AnyProblem, batch: range) -> Results:
    return [s.trial(p, seed) for seed in batch]


def _in_processes(
    s: AnyFrequency, p: AnyProblem, batches: Sequence[range], missing: Sequence[int]
) -> Iterator[tuple[int, Results]]:
    """Fresh processes: a fork would copy the locks of the parent's threads in whatever state."""
    # Few runs come here: the others need not wait for these imports.
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    workers = min(threads.cores(), len(missing))
    # A copy of the problem: what was computed lazily stays here.
    task = (plugins.places(), pickle.dumps((s, replace(p, origin=None))))
    with (
        threads.one_in_children(),
        ProcessPoolExecutor(workers, get_context("spawn"), _remember, task) as pool,
    ):
        futures = {pool.submit(_remembered, batches[i]): i for i in missing}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_TASK: list[tuple[AnyFrequency, AnyProblem]] = []


def _remember(places: list[str], task: bytes) -> None:
    """The user's own classes must be known before an instance of one can be read."""
    plugins.load_again(places)
    _TASK.append(pickle.loads(task))


def _remembered(batch: range) -> Results:
    return _batch(*_TASK[0], batch)
