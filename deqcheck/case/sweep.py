"""Sweeps: one file that states several cases, alike but for some settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck.fields import Refusal, Spec, refuse, show

KEY = "sweep"
# Between them they say what a case file is.
FIXED = ("deqcheck", KEY)
MOST = 1000


class Member(NamedTuple):
    """One case of a sweep: its name, and what it sets, by dotted key."""

    sweep: str
    position: int
    settings: Mapping[str, Any]

    @property
    def words(self) -> dict[str, str]:
        """What it sets, for people."""
        return {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in self.settings.items()
        }

    @property
    def label(self) -> str:
        return f"{self.sweep}: {', '.join(f'{key}={word}' for key, word in self.words.items())}"

    def overrides(self) -> list[str]:
        """What `--set` must be told to make this case of the file."""
        return [f"{KEY}=null", *(f"{key}={json.dumps(v)}" for key, v in self.settings.items())]


@dataclass(frozen=True, kw_only=True)
class Sweeps(Spec):
    """Sweeps by name; each gives lists of values, taken in step, by the dotted key they go to."""

    @property
    def expected(self) -> str:
        return "a mapping from names to sweeps, such as {widths: {model.width: [10, 20]}}"

    def read(self, value: Any, folder: Path) -> tuple[Member, ...]:
        if not isinstance(value, dict) or not value:
            raise self.wrong(value)
        members: list[Member] = []
        problems = []
        for name, lists in value.items():
            try:
                members += _members(name, lists)
            except Refusal as refusal:
                problems += [(f"{name}.{k}".rstrip("."), said) for k, said in refusal.problems]
        refuse(problems)
        return tuple(members)


def _members(name: str, lists: Any) -> Iterator[Member]:
    expected = "expected lists of values by dotted key, such as {model.width: [10, 20]}"
    if not isinstance(lists, dict) or not lists:
        raise Refusal("", f"{expected}; found {show(lists)}")
    length = max(len(v) if isinstance(v, list) else 0 for v in lists.values())
    refuse(
        (key, sentence)
        for key, values in lists.items()
        if (sentence := _fault(key, values, length))
    )
    if length > MOST:
        raise Refusal("", f"states {length} cases; expected at most {MOST}")
    seen: dict[str, int] = {}
    for i in range(length):
        member = Member(name, i, {key: values[i] for key, values in lists.items()})
        first = seen.setdefault(member.label, i)
        if first != i:
            raise Refusal("", f"cases {first + 1} and {i + 1} are the same")
        yield member


def _fault(key: str, values: Any, length: int) -> str | None:
    if key.partition(".")[0] in FIXED:
        return f"a sweep cannot set {show(key)}"
    if not isinstance(values, list) or not values:
        return f"expected a list of values; found {show(values)}"
    if len(values) != length:
        return f"expected {length} values, as many as the longest list; found {len(values)}"
    return None
