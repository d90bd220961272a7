"""What case files may still say: former ids of statements, and the words that conditions had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deqcheck import registry
from deqcheck.records.expectations import Expectations
from deqcheck.records.verdict import Outcome
from deqcheck.records.words import EDITIONS

# A condition claims nothing: it is met or not.
OF_CONDITIONS = {
    Outcome.CONFIRMED.value: Outcome.MET.value,
    Outcome.NOT_APPLICABLE.value: Outcome.NOT_MET.value,
}
_BY_ID = ("expect", "constants")


def current(tree: Mapping[str, Any], notice: Callable[[str], None]) -> dict[str, Any]:
    """The tree in today's words; whatever is not as it should be is left for the checks."""
    found = dict(tree)
    theorems = found.get("theorems")
    if isinstance(theorems, list):
        found["theorems"] = [_id(name, notice) for name in theorems]
    for key in _BY_ID:
        if isinstance(found.get(key), dict):
            found[key] = {_id(name, notice): value for name, value in found[key].items()}
    if isinstance(found.get("expect"), dict):
        found["expect"] = dict(_words(found["expect"], notice))
    return found


def notices(tree: Mapping[str, Any]) -> tuple[str, ...]:
    """What the reader of a case should know about its words."""
    found: dict[str, None] = {}
    current(tree, lambda sentence: found.setdefault(sentence))
    return tuple(found)


def _id(name: Any, notice: Callable[[str], None]) -> Any:
    new = registry.renamed(name) if isinstance(name, str) else None
    if new is None:
        return name
    notice(registry.is_now(name, new))
    return new


def _words(expect: Mapping[str, Any], notice: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    for name, entry in expect.items():
        known = name != Expectations.STATUS and isinstance(name, str)
        statement = registry.statements().get(name) if known else None
        conditions = () if statement is None else statement.condition_in
        if not conditions:
            yield name, entry
        elif isinstance(entry, dict):
            yield name, {e: _word(name, e in conditions, w, notice) for e, w in entry.items()}
        else:
            # One word for every edition is read anew where each of them is a condition.
            every = set(conditions) >= set(statement.editions if statement else EDITIONS)
            yield name, _word(name, every, entry, notice)


def _word(name: str, condition: bool, word: Any, notice: Callable[[str], None]) -> Any:
    new = OF_CONDITIONS.get(word) if condition and isinstance(word, str) else None
    if new is None:
        return word
    notice(f"expect.{name}: a condition is met or not met: {word!r} is read as {new!r}")
    return new
