"""Searches in processes of their own.

The same seed, evaluations and number of processes find the same; each process has its own share
of the evaluations, and its own seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from deqcheck.engines import End, Message, Reply
from deqcheck.engines.processes import Processes
from deqcheck.explore.falsify import Asking, Limits, asked, falsify
from deqcheck.explore.falsify.confirm import case_of
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.score import Score
from deqcheck.explore.falsify.search import Found, Hunt, Ranked
from deqcheck.judging.catalogue import catalogue, find
from deqcheck.judging.errors import UsageError
from deqcheck.theorems.base import AnyStatement

# Seeds of the processes of one search: far enough apart for those of other searches.
APART = 1_000_003


def answer(request: Message) -> Reply:
    """The task of engines."""
    return Reply(
        End.RAN, facts=_searched(request) if request["only_search"] else _falsified(request)
    )


def warm_up() -> None:
    list(catalogue())


def _falsified(request: Mapping[str, Any]) -> dict[str, Any]:
    return falsify(request["id"], request["edition"], _asking(request)).to_dict()


def _searched(request: Mapping[str, Any]) -> dict[str, Any]:
    asking = _asking(request)
    s = asked(find(request["id"]), request["edition"], asking.feasible)
    found: list[dict[str, Any]] = []

    def search(hunt: Hunt) -> None:
        found.append(plain(hunt.search(), s))
        # What was found is made simpler by the parent.
        hunt.found = Found()

    falsify(request["id"], request["edition"], asking, search=search)
    return found[0]


def _asking(request: Mapping[str, Any]) -> Asking:
    fields = dict(request["asking"])
    sizes = fields.pop("sizes")
    limits = Limits(**fields.pop("limits"))
    return Asking(limits, sizes=None if sizes is None else (sizes[0], sizes[1]), **fields)


def _request(s: AnyStatement, asking: Asking, only_search: bool) -> Message:
    return {
        "id": s.id,
        "edition": s.edition,
        "asking": asdict(asking),
        "only_search": only_search,
    }


def _asked(
    requests: Sequence[tuple[AnyStatement, Message]], jobs: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The replies to several requests, each with its place."""
    messages = enumerate(request for _, request in requests)
    with closing(Processes(jobs).replies(__name__, messages)) as replies:
        for i, reply in replies:
            if reply.facts is None:
                raise RuntimeError(f"the search of {requests[i][0].id} ended: {reply.sentence}")
            yield i, dict(reply.facts)


def searched_in_processes(s: AnyStatement, asking: Asking, jobs: int) -> Found:
    """What several processes have seen together. Raises UsageError."""
    if type(s) not in catalogue().values():
        raise UsageError(f"{s.id}: other processes do not know it; load it from a file, or jobs=1")
    requests = [(s, _request(s, _share(asking, i, jobs), True)) for i in range(jobs)]
    # In the order of the shares: what is found does not depend on who was first.
    replies = dict(_asked(requests, jobs))
    found = Found()
    for i in sorted(replies):
        found.merge(unplain(replies[i]))
    return found


def _share(asking: Asking, i: int, jobs: int) -> Asking:
    total = asking.limits.evaluations
    own = None if total is None else total // jobs + (i < total % jobs)
    limits = replace(asking.limits, evaluations=own)
    return replace(asking, limits=limits, seed=asking.seed + APART * i)


def each_in_processes(
    tasks: Sequence[AnyStatement],
    asking: Asking,
    jobs: int,
    done: Callable[[AnyStatement, dict[str, Any]], None],
) -> None:
    """Several statements, one process for each of `jobs`; `done` is told as they come."""
    for i, found in _asked([(s, _request(s, asking, False)) for s in tasks], jobs):
        done(tasks[i], found)


def plain(found: Found, s: AnyStatement) -> dict[str, Any]:
    """What a search has seen, as JSON can hold it."""

    def ranked(one: Ranked | None) -> Any:
        return None if one is None else [one[0], case_of(s, one[1])]

    nearest = found.nearest
    return {
        "evaluations": found.evaluations,
        "feasible": found.feasible,
        "first": found.first,
        "refuting": [ranked(one) for one in found.refuting],
        "violated": {name: ranked(one) for name, one in found.violated.items()},
        "tightest": {name: ranked(one) for name, one in found.tightest.items()},
        "nearest": nearest and [nearest.value, nearest.failing, nearest.short],
        "alone": found.alone,
        "most": found.most,
        "met": found.met and case_of(s, found.met),
    }


def unplain(told: Mapping[str, Any]) -> Found:
    def ranked(one: Any) -> Ranked:
        return one[0], Instance.of_tree(one[1])

    nearest, first = told["nearest"], told["first"]
    return Found(
        told["evaluations"],
        told["feasible"],
        first and (first[0], first[1]),
        [ranked(one) for one in told["refuting"]],
        {name: ranked(one) for name, one in told["violated"].items()},
        {name: ranked(one) for name, one in told["tightest"].items()},
        nearest and Score(nearest[0], failing=tuple(nearest[1]), short=nearest[2]),
        {name: (asked, short) for name, (asked, short) in told["alone"].items()},
        told["most"],
        told["met"] and Instance.of_tree(told["met"]),
    )
