"""Sweeps: many cases that are alike but for some fields."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck import judging
from deqcheck.api.cases import Word, installed, mistakes
from deqcheck.api.engines import chosen_engine, engine_errors
from deqcheck.api.questions import opened
from deqcheck.case import Case
from deqcheck.case.axes import typed_grid
from deqcheck.case.source import Changes
from deqcheck.case.streamed import read_stream
from deqcheck.engines import PROCESSES, Engine
from deqcheck.explore.single import Results
from deqcheck.explore.sweep import Sweeping, Tally
from deqcheck.judging import UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.judging.errors import refusals
from deqcheck.records.sweep import Sweep
from deqcheck.records.words import BOTH, EDITIONS


def sweep(
    case: Word | Mapping[str, Any] | Case,
    grid: Mapping[str, Any] | None = None,
    *,
    zip: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] | Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    edition: str | None = None,
    set: Sequence[str] = (),
    expect: bool = False,
    engine: str | Engine = PROCESSES,
    jobs: int | None = None,
    timeout: float | None = None,
    store: Word | None = None,
    retry: bool = False,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> Sweep:
    """Every combination of the values in `grid` (lists, or ranges such as "0.05:0.95:20" and
    "log:1e-4:1e-1:10"), of the lists in `zip`, taken in step, and of `seeds`; without any of them,
    the sweep that the case states: `deqcheck docs sweep`.

    `engine` is "processes", "here" (this process), "dask" (a cluster on this machine),
    "dask:ADDRESS", or an object of your own. In a `store`, a folder, each finished member is kept,
    and found again. Raises CaseError or UsageError.
    """
    installed()
    typed = {"grid": _typed(grid or {}), "zip": _plain(zip or {}), "seeds": _plain(seeds)}
    typed = {name: said for name, said in typed.items() if said}
    settings = [*set]
    if only:
        settings.append(f"theorems={json.dumps([_id(each) for each in only])}")
    if edition not in (None, BOTH, *EDITIONS):
        raise UsageError(f"no edition {edition!r}; expected {BOTH} or {' or '.join(EDITIONS)}")
    if edition is not None:
        settings.append(f"edition={edition}")
    stream = read_stream(_source(case), Changes(tuple(settings)), typed, expect)
    where = chosen_engine(engine, jobs, timeout)
    with mistakes():
        built = stream.built()
        if built is not None:
            judging.choose(built[0].question, built[1])
        results = Results(opened(store), warnings.warn, where.threads)
        with engine_errors():
            return Sweeping(stream, results, retry, tell=progress).run(where)


def _source(case: Word | Mapping[str, Any] | Case) -> Any:
    if isinstance(case, Case):
        return case.source
    return _plain(case) if isinstance(case, Mapping) else case


def _id(statement: Named) -> str:
    return statement if isinstance(statement, str) else statement.id


def _typed(grid: Mapping[str, Any]) -> dict[str, Any]:
    """A range may be written as on the command line."""
    if not isinstance(grid, Mapping):
        raise UsageError(f"grid is {grid!r}; expected a mapping from dotted keys to values")
    with refusals():
        return {
            key: typed_grid(f"{key}={said}")[1] if isinstance(said, str) else _plain(said)
            for key, said in grid.items()
        }


def _plain(value: Any) -> Any:
    """Arrays, ranges and numbers of NumPy as lists and numbers, which other processes read."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(inner) for inner in value]
    return value
