"""What the shipped cases make of each statement, as the baseline of CI tells it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from deqcheck.case import embedded
from deqcheck.theorems.base import AnyStatement
from deqcheck.theorems.editions import Row, rows

BASELINE = "baseline.json"
PARTS = ("hypotheses", "conclusions")
# What speaks for a statement, and what against it.
FOR, AGAINST = ("confirmed", "consistent", "met"), ("refuted", "inconsistent", "not met")


@dataclass
class Evidence:
    """About one edition of a statement."""

    # Outcomes by case, the case with the fewest statements first.
    outcomes: dict[str, str] = field(default_factory=dict)
    # The names of the hypotheses and conclusions that were judged.
    parts: dict[str, set[str]] = field(default_factory=lambda: {part: set() for part in PARTS})

    @property
    def judged(self) -> set[str]:
        return set().union(*self.parts.values())

    def cases(self, *outcomes: str) -> list[str]:
        return [case for case, outcome in self.outcomes.items() if outcome in outcomes]


NONE = Evidence()


Found = Mapping[str, Mapping[str, Evidence]]


def of(id_: str) -> Mapping[str, Evidence]:
    """By edition; nothing for statements of others."""
    return known().get(id_, {})


def rows_of(statement: type[AnyStatement], found: Found | None = None) -> list[Row]:
    """The checks of a statement, those of ours as the shipped cases judge them."""
    mine = (known() if found is None else found).get(statement.id, {})
    return rows(statement, {edition: each.judged for edition, each in mine.items()})


@cache
def known() -> Found:
    """By statement and edition, as the baseline has it."""
    return gathered(baseline())


def baseline() -> Mapping[str, Any]:
    """The entries of the baseline that comes along, by case; none where it does not."""
    path = embedded.folder() / BASELINE
    if not path.is_file():
        return {}
    cases: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def gathered(cases: Mapping[str, Any]) -> Found:
    """What entries like those of a baseline tell of each statement."""
    found: dict[str, dict[str, Evidence]] = {}
    for name, case in sorted(cases.items(), key=lambda pair: len(pair[1]["statements"])):
        # `deqcheck run` runs all cases of a sweep.
        file = name.partition("[")[0]
        if embedded.slow(file):
            continue
        for key, statement in case["statements"].items():
            id_, edition = of_label(key)
            evidence = found.setdefault(id_, {}).setdefault(edition, Evidence())
            evidence.outcomes.setdefault(file, statement["outcome"])
            for part, names in evidence.parts.items():
                # Several of one name are numbered.
                names.update(re.sub(r" \[\d+\]$", "", each) for each in statement.get(part, ()))
    return found


def of_label(key: str) -> tuple[str, str]:
    """`id (edition)`."""
    id_, _, edition = key.removesuffix(")").rpartition(" (")
    return id_, edition
