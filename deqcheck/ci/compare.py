"""A case against its entry in the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.ci.baseline import MEASURE, NUMBERS
from deqcheck.ci.records import Change

Facts = Mapping[str, Any]
# How each number moves when it grows, and when it falls.
MOVES = {
    "slack": ("looser", "tighter"),
    "margin": ("wider", "narrower"),
    "rate_tightness": ("tighter", "looser"),
}


def changes(before: Facts, after: Facts, allowance: float) -> tuple[Change, ...]:
    """Everything in which an entry deviates from the one agreed upon."""
    return tuple(_changes(before, after, allowance))


def _changes(before: Facts, after: Facts, allowance: float) -> Iterator[Change]:
    if before["status"] != after["status"]:
        yield Change("", "", "status", before["status"], after["status"])
    olds, news = before["statements"], after["statements"]
    for label in sorted({*olds, *news}):
        presence = _presence(olds, news, label, Change(label, "", "statement", None, None))
        if presence:
            yield presence
            continue
        old, new = olds[label], news[label]
        if old["outcome"] != new["outcome"]:
            yield Change(label, "", "outcome", old["outcome"], new["outcome"])
        for part in MEASURE:
            yield from _checks(label, old[part], new[part], allowance)


def _checks(label: str, olds: Facts, news: Facts, allowance: float) -> Iterator[Change]:
    for name in sorted({*olds, *news}):
        presence = _presence(olds, news, name, Change(label, name, "check", None, None))
        if presence:
            yield presence
            continue
        old, new = olds[name], news[name]
        if old["decision"] != new["decision"]:
            yield Change(label, name, "decision", old["decision"], new["decision"])
        # An older baseline may have numbers for what is only rounding.
        for number in () if new.get("rounding") else NUMBERS:
            if moved(old, new, number, allowance):
                direction = _direction(number, old.get(number), new.get(number))
                what = number.replace("_", " ")
                yield Change(label, name, what, old.get(number), new.get(number), direction)


def _presence(olds: Facts, news: Facts, name: str, change: Change) -> Change | None:
    if name in olds and name in news:
        return None
    direction = "new" if name in news else "missing"
    return Change(
        change.statement,
        change.check,
        change.what,
        None,
        None,
        direction,
        fails=direction == "missing",
    )


def moved(old: Facts, new: Facts, number: str, allowance: float) -> bool:
    """Whether a number differs by more than its error bars and the allowance explain."""
    a, b = old.get(number), new.get(number)
    if a is None or b is None:
        return a is not b
    error = old[f"{number}_error"] + new[f"{number}_error"]
    return bool(abs(a - b) > error + allowance * max(abs(a), abs(b)))


def _direction(number: str, old: float | None, new: float | None) -> str:
    if old is None or new is None:
        return "changed"
    return MOVES[number][0 if new > old else 1]


def updated(before: Facts | None, after: Facts, allowance: float) -> dict[str, Any]:
    """The new entry; numbers that say the same as before stay as they were written."""
    if before is None:
        return dict(after)
    return dict(after) | {
        "statements": {
            label: _kept(before["statements"].get(label), new, allowance)
            for label, new in after["statements"].items()
        }
    }


def _kept(old: Facts | None, new: Facts, allowance: float) -> Facts:
    if old is None:
        return new
    kept = dict(new)
    for part in MEASURE:
        kept[part] = {
            name: old[part][name] if _same(old[part].get(name), check, allowance) else check
            for name, check in new[part].items()
        }
    return kept


def _same(old: Facts | None, new: Facts, allowance: float) -> bool:
    if old is None or old["decision"] != new["decision"]:
        return False
    return not any(moved(old, new, number, allowance) for number in NUMBERS)
