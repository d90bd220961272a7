"""The power of each check: the case on which it comes nearest to equality."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deqcheck.ci.records import Result
from deqcheck.records.comparison import Decision
from deqcheck.records.verdict import Outcome


@dataclass(frozen=True)
class Power:
    """One check of one edition of a statement.

    Whatever is stronger by more than the factor `caught` is refuted by the case `case`; None where
    no case has such a factor (a claim about a sign). A decaying bound is made stronger by its rate.
    """

    id: str
    edition: str
    check: str
    relation: str
    caught: float | None
    case: str | None
    # How many cases judged it, and which of them violate it.
    cases: int
    violated: tuple[str, ...]
    # Whether all that it grants is rounding.
    rounding: bool = False


def powers(results: Iterable[Result]) -> list[Power]:
    """Every conclusion that was judged where the hypotheses do not fail, by statement."""
    groups: dict[tuple[str, str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for name, statement, judged in _conclusions(results):
        key = (statement["id"], statement["edition"], judged["name"])
        groups.setdefault(key, []).append((name, judged))
    return [_power(*key, group) for key, group in sorted(groups.items())]


def _conclusions(
    results: Iterable[Result],
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    for result in results:
        for statement in (result.reply.facts or {"statements": ()})["statements"]:
            if statement["outcome"] != Outcome.NOT_APPLICABLE.value:
                for judged in statement["conclusions"]:
                    yield result.id, statement, judged


def _power(id_: str, edition: str, check: str, group: list[tuple[str, Mapping[str, Any]]]) -> Power:
    caught = [(judged["caught"], name) for name, judged in group if judged["caught"] is not None]
    sharpest, case = min(caught, default=(None, None))
    violated = {name for name, judged in group if judged["decision"] == Decision.VIOLATED.value}
    return Power(
        id=id_,
        edition=edition,
        check=check,
        relation=group[0][1]["relation"],
        caught=sharpest,
        case=case,
        cases=len({name for name, _ in group}),
        violated=tuple(sorted(violated)),
        rounding=group[0][1]["rounding"],
    )
