"""Mistakes of an author: what a class says of itself must make sense before it is judged."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.fields import one_of, show, specs
from deqcheck.fields.record import spelt
from deqcheck.kinds import Kind
from deqcheck.records.words import DESCENT, EDITIONS, FLOW, STATIC
from deqcheck.theorems.base import AnyStatement, Cite, Statement
from deqcheck.theorems.frequency import Frequency

ID = re.compile(r"[\w.-]+/[\w.-]+")
DYNAMICS = (FLOW, DESCENT, STATIC)
SOUNDNESS = ("sound", "typo", "unproven", "false", "vacuous")


def mistakes(cls: type) -> Iterator[str]:
    """A sentence for each, without the place."""
    if inspect.isabstract(cls):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        yield f"has no {' and no '.join(missing)}, which every {_family(cls)} needs"
    elif issubclass(cls, Statement):
        yield from _statement(cls)
    elif issubclass(cls, Kind):
        yield from _kind(cls)


def _family(cls: type) -> str:
    return str(getattr(cls, "family", "statement"))


def _statement(s: type[AnyStatement]) -> Iterator[str]:
    if not ID.fullmatch(s.id):
        yield f"id is {show(s.id)}; expected PAPER/NUMBER, such as 'doe2031/thm2'"
    for name, wanted in (("title", str), ("cite", Cite)):
        value = getattr(s, name, None)
        if not isinstance(value, wanted) or not value:
            yield f"{name} is {_shown(value)}; expected {_article(wanted)}"
    yield from _words(s, "models", None)
    yield from _words(s, "dynamics", DYNAMICS)
    yield from _words(s, "editions", EDITIONS)
    yield from _words(s, "tracks", None, empty=True)
    yield from _words(s, "uses", None, empty=True)
    if s.soundness not in SOUNDNESS:
        yield f"soundness is {_shown(s.soundness)}; expected {one_of(SOUNDNESS)}"
    if not isinstance(s.constants, Mapping):
        yield f"constants is {_shown(s.constants)}; expected a mapping from names to meanings"
    if s.__init__ is not Statement.__init__ and not _constructible(s):
        yield "has an __init__ of its own; expected one that takes (edition, fixed)"
    if not s.checks():
        yield "has no Check; expected at least one formula"
    if issubclass(s, Frequency):
        if s.trial is Frequency.trial or s.probability is Frequency.probability:
            yield "is about a probability, but has no `trial` or no `probability`"
    elif s.claims is Statement.claims and s.conclusions is Statement.conclusions:
        yield "claims nothing: it has neither `claims` (of a state) nor `conclusions` (of a run)"
    elif STATIC in s.dynamics and s.claims is Statement.claims:
        yield "is static, but has no `claims`; `conclusions` are of a run"


def _constructible(s: type[Statement[Any, Any]]) -> bool:
    try:
        s(s.editions[-1], {})
    except Exception:
        return False
    return True


def _words(
    s: type[AnyStatement], name: str, known: tuple[str, ...] | None, empty: bool = False
) -> Iterator[str]:
    value = getattr(s, name, None)
    if not isinstance(value, tuple) or not (value or empty):
        example = _example(name, known)
        yield f"{name} is {_shown(value)}; expected a tuple of words, such as {example}"
    elif known is not None:
        for word in value:
            if word not in known:
                yield f"{name} has {show(word)}; expected {one_of(known)}"


def _example(name: str, known: tuple[str, ...] | None) -> str:
    examples = {"tracks": "sigma_min_Z", "uses": "doe2031/lem1"}
    return repr((known[0] if known else examples.get(name, "relu-deq"),))


def _shown(value: Any) -> str:
    return "missing" if value is None else show(value)


def _article(wanted: type) -> str:
    return "text" if wanted is str else 'a Cite, such as Cite("Doe 2031", "Theorem 2")'


def _kind(cls: type[Kind]) -> Iterator[str]:
    if cls.family == "format":
        return
    if not dataclasses.is_dataclass(cls) or "__dataclass_fields__" not in vars(cls):
        yield "is no dataclass; expected @dataclass(frozen=True) before it"
        return
    declared = specs(cls)
    for field in dataclasses.fields(cls):
        if spelt(field.name) not in declared:
            said = "is no field of a case; declare it with deqcheck.fields, such as number()"
            yield f"{field.name} {said}"
    if cls.family == "model":
        for name in ("data_arrays", "parameters", "loss", "default_loss"):
            if not hasattr(cls, name):
                yield f"has no {name}, which every model needs"
