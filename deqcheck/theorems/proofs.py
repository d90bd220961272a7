"""The proof map: what the proof of a statement rests on, and what falls with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from deqcheck.frozen import dataclass
from deqcheck.theorems.base import AnyStatement

# A statement of which the printed text is repaired by a reader still carries what rests on it.
STANDS = ("sound", "typo")
FALLS = "falls with it"


@dataclass(frozen=True)
class Proof:
    """The ids are in the order of the catalogue."""

    # What the proof names, and what it rests on through that.
    uses: tuple[str, ...]
    through: tuple[str, ...]
    # Whose proof names it, and every statement that rests on it, directly or through others.
    used_by: tuple[str, ...]
    falls_with: tuple[str, ...]


def proof(statement: type[AnyStatement], known: Mapping[str, type[AnyStatement]]) -> Proof:
    """The place of a statement in the proof map of the statements known."""

    def named(id_: str) -> Iterable[str]:
        return known[id_].uses if id_ in known else ()

    def naming(id_: str) -> Iterable[str]:
        return (other.id for other in known.values() if id_ in other.uses)

    def ordered(ids: Iterable[str]) -> tuple[str, ...]:
        wanted = set(ids)
        return (*(i for i in known if i in wanted), *sorted(wanted.difference(known)))

    below = _closure(statement.uses, named)
    return Proof(
        uses=ordered(statement.uses),
        through=ordered(below.difference(statement.uses)),
        used_by=ordered(naming(statement.id)),
        falls_with=ordered(_closure(naming(statement.id), naming)),
    )


def _closure(first: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(first)
    while waiting:
        id_ = waiting.pop()
        if id_ not in found:
            found.add(id_)
            waiting += following(id_)
    return found


def lines(
    statement: type[AnyStatement], known: Mapping[str, type[AnyStatement]]
) -> Iterator[tuple[str, str]]:
    """What to tell of it: a heading and a list of ids. Those that do not stand as printed say so;
    of what falls with it each says its own status, since it may survive by another proof."""

    def fragile(id_: str) -> bool:
        return id_ in known and known[id_].soundness not in STANDS

    def shown(id_: str) -> str:
        return f"{id_} ({known[id_].soundness} as printed)" if fragile(id_) else id_

    found = proof(statement, known)
    broken = [id_ for id_ in found.through if fragile(id_)]
    falling = [f"{i} ({known[i].soundness})" for i in found.falls_with]
    told = {
        "its proof uses": list(map(shown, found.uses)),
        "and through these": list(map(shown, broken)),
        "used by": list(map(shown, found.used_by)),
        FALLS: falling,
    }
    yield from ((heading, ", ".join(ids)) for heading, ids in told.items() if ids)
