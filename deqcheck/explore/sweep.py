"""Sweeps: every member that the store does not have goes to an engine, and is kept as it comes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from deqcheck.case import Case, CaseError
from deqcheck.case.streamed import Stream
from deqcheck.engines import End, Engine, Reply
from deqcheck.explore.single import Results, environment
from deqcheck.explore.together import replies
from deqcheck.records.expectations import Expectations
from deqcheck.records.sweep import Sweep, SweptMember, word_of


@dataclass
class Tally:
    """How far a sweep has come."""

    total: int
    # Those that were there already.
    found: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.counts.total()

    @property
    def left(self) -> float | None:
        """Seconds, if the rest goes like what was computed so far."""
        computed = self.done - self.found
        if not computed:
            return None
        return (time.monotonic() - self.started) / computed * (self.total - self.done)


class _Read(NamedTuple):
    """What is kept of a member that was read; without a digest, why it could not be."""

    digest: str
    seed: int
    expect: Expectations
    wrong: str = ""


@dataclass
class Sweeping:
    """One sweep under way."""

    stream: Stream
    results: Results
    # Whether members without a result are tried again.
    retry: bool = False
    # Which part of so many is done here.
    shard: tuple[int, int] = (1, 1)
    tell: Callable[[Tally], None] = lambda tally: None
    # By position, once they are known.
    _read: dict[int, _Read] = field(default_factory=dict)

    @property
    def positions(self) -> range:
        mine, parts = self.shard
        return range(mine - 1, len(self.stream), parts)

    def run(self, engine: Engine) -> Sweep:
        """Raises EngineError."""
        tally = Tally(len(self.positions))
        store, count = self.results.store, len(self.positions)
        with closing(replies(engine, self._missing(tally), store, count)) as found:
            for position, reply in found:
                self.results.keep(self._about(position).digest, reply, failures=True)
                self._count(tally, reply)
        return Sweep(
            self.stream.source.name,
            self.stream.title,
            {grid.name: grid.axes for grid in self.stream.grids},
            environment(engine.threads),
            _Members(self),
            dict(sorted(tally.counts.items(), key=lambda item: (-item[1], item[0]))),
        )

    def status(self) -> tuple[Tally, int]:
        """What is known without any work, and how much of it failed."""
        tally, failed = Tally(len(self.positions)), 0
        for position in self.positions:
            known = self._known(position)
            if known is not None:
                self._count(tally, known)
                failed += known.facts is None
        return tally, failed

    def member(self, position: int, reply: Reply | None = None) -> SweptMember:
        """With its reply, or the one that is kept."""
        reply = reply or self._known(position) or Reply(End.KILLED, "not kept")
        member, about = self.stream.member(position), self._about(position)
        return SweptMember(
            position,
            member.sweep,
            member.settings,
            about.seed,
            about.digest,
            self.stream.replay(member),
            reply.end.value,
            reply.sentence,
            reply.facts,
            about.expect,
        )

    def _missing(self, tally: Tally) -> Iterator[tuple[int, Case]]:
        self.tell(tally)
        for position in self.positions:
            known = self._known(position)
            bad = known is not None and known.end is End.BAD_CASE
            if known is None or (known.facts is None and self.retry and not bad):
                yield position, self.stream.case(self.stream.member(position))
            else:
                tally.found += 1
                self._count(tally, known)

    def _known(self, position: int) -> Reply | None:
        digest, wrong = self._about(position).digest, self._about(position).wrong
        if not digest:
            return Reply(End.BAD_CASE, wrong)
        return self.results.get(digest) or self.results.failure(digest)

    def _about(self, position: int) -> _Read:
        if position not in self._read:
            member = self.stream.member(position)
            try:
                case = self.stream.case(member)
                about = _Read(case.digest, case.stated.seed, case.stated.expect)
            except CaseError as error:
                wrong = "; ".join(str(error).splitlines())
                about = _Read("", member.settings.get("seed", 0), Expectations(), wrong)
            self._read[position] = about
        return self._read[position]

    def _count(self, tally: Tally, reply: Reply) -> None:
        tally.counts[word_of(reply.end.value, reply.facts)] += 1
        self.tell(tally)


class _Members(Collection[SweptMember]):
    """In their order, each read when it is asked for."""

    def __init__(self, sweeping: Sweeping):
        self._sweeping = sweeping

    def __len__(self) -> int:
        return len(self._sweeping.positions)

    def __iter__(self) -> Iterator[SweptMember]:
        return map(self._sweeping.member, self._sweeping.positions)

    def __contains__(self, member: object) -> bool:
        return any(each == member for each in self)
