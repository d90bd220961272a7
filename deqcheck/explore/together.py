"""Members of a sweep that are sent together, so that their runs are advanced together."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Generic

from deqcheck.case import Case
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.together import MOST
from deqcheck.engines import Engine, K, Message, Reply
from deqcheck.explore.single import TASK, message, replies_in, together
from deqcheck.store import Store

# Steps of all members of a message, and of how many at least, so that it is answered in seconds
# and is worth it.
STEPS, FEWEST = 40_000, 4
# How many samples there may be where the case does not say it.
UNKNOWN = 100
Messages = list[tuple[K, Message]]


@dataclass(frozen=True, eq=False)
class Sent(Generic[K]):
    """Stands for the keys of several members."""

    members: Messages[K]


def replies(
    engine: Engine, members: Iterable[tuple[K, Case]], store: Store | None, count: int
) -> Generator[tuple[K, Reply], None, None]:
    """As those of the engine, to each of about `count` members. What has no answer among others is
    asked again by itself: it is the result of one member then. Where each has a limit of time,
    each goes alone. Raises EngineError."""
    most = 1 if engine.timeout else min(MOST, -(-count // (2 * engine.jobs)))
    alone: Messages[K] = []
    with closing(engine.replies(TASK, _grouped(members, store, most))) as found:
        for key, reply in found:
            if not isinstance(key, Sent):
                yield key, reply
            elif (each := replies_in(reply)) is None:
                alone += key.members
            else:
                for (own, _), answer in zip(key.members, each, strict=True):
                    yield own, answer
    if alone:
        yield from engine.replies(TASK, alone)


def _grouped(
    members: Iterable[tuple[K, Case]], store: Store | None, most: int
) -> Iterator[tuple[K | Sent[K], Message]]:
    waiting: Messages[K] = []
    for key, case in members:
        told = message(case, store)
        size = min(most, _worth(case))
        if size < FEWEST:
            yield key, told
            continue
        waiting.append((key, told))
        if len(waiting) >= size:
            yield _sent(waiting)
            waiting = []
    if waiting:
        yield _sent(waiting)


def _sent(members: Messages[K]) -> tuple[K | Sent[K], Message]:
    if len(members) == 1:
        return members[0]
    return Sent(members), together([told for _, told in members])


def _worth(case: Case) -> int:
    """How many like this one."""
    train = case.stated.train
    if type(train) is not GradientDescent:
        return 1
    samples = getattr(case.stated.data, "n", UNKNOWN)
    return min(STEPS // train.steps, case.stated.model.side_by_side(samples))
