"""Advice in words and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from deqcheck.records.advice import Advice
from deqcheck.report.json import dumps, entry_of, finite, judged_of
from deqcheck.report.parts.entries import entry_told
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock, numbered, tell

SCHEMA = "deqcheck-advice/1"


def as_text(
    advice: Sequence[Advice], clock: Clock, options: RenderOptions, replay: str = ""
) -> str:
    """`replay` is the command that runs the case; with the settings of a remedy it runs that."""
    return "".join(f"{line}\n" for each in advice for line in _lines(each, clock, options, replay))


def _lines(advice: Advice, clock: Clock, options: RenderOptions, replay: str) -> Iterator[str]:
    word = "APPLIES" if advice.applies else "DOES NOT APPLY"
    yield f"{word} {advice.id} ({advice.edition}) {advice.title}"
    if advice.reason:
        yield f"  {advice.reason}"
    if advice.binding is not None:
        told = tell(advice.binding, clock, options, advice.id)
        yield f"  binding: {numbered(advice.binding)} {told}"
    if advice.obstacle:
        yield f"  in the way: {advice.obstacle}"
    if advice.entry is not None:
        yield f"  training: {entry_told(advice.entry, clock)}"
    for remedy in advice.remedies:
        settings = ", ".join(f"{key} = {number(x, 6)}" for key, x in remedy.changes.items())
        yield f"  applies with {remedy.name}: {settings}"
        if replay:
            words = [f"--set={key}={value!r}" for key, value in remedy.changes.items()]
            yield f"    {replay} {shlex.join(words)}"
    if advice.in_vain:
        yield f"  in vain alone: {', '.join(advice.in_vain)}"


def as_json(advice: Sequence[Advice]) -> str:
    return dumps({"schema": SCHEMA, "advice": [_entry(each) for each in advice]})


def _entry(advice: Advice) -> dict[str, Any]:
    return {
        "id": advice.id,
        "edition": advice.edition,
        "title": advice.title,
        "applies": advice.applies,
        "binding": None if advice.binding is None else judged_of(advice.binding),
        "obstacle": advice.obstacle or None,
        "reason": advice.reason or None,
        "entry": None if advice.entry is None else entry_of(advice.entry),
        "remedies": [
            {
                "name": remedy.name,
                "set": {key: finite(value) for key, value in remedy.changes.items()},
                "case": remedy.case,
            }
            for remedy in advice.remedies
        ],
        "in_vain": list(advice.in_vain),
    }
