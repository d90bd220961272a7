"""A check-up in words and as JSON, schema `deqcheck-model/1` (schema/deqcheck-model-1.json)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from deqcheck.records.checkup import Answer, Checkup, Fact, Sample, Tried
from deqcheck.records.measured import Measured
from deqcheck.report.json import dumps, finite, judged_of, plain
from deqcheck.report.json import measured_of as number_of
from deqcheck.report.parts.console import columns, heading, indented, render_text
from deqcheck.report.parts.numbers import comparison, number, with_error
from deqcheck.report.parts.render_options import RenderOptions

SCHEMA = "deqcheck-model/1"
DIGITS = 10
# Samples that a table shows.
SHOWN = 10


def as_json(found: Checkup) -> str:
    return dumps(document(found))


def document(found: Checkup) -> dict[str, Any]:
    two = found.two
    return {
        "schema": SCHEMA,
        "model": {
            "name": found.name,
            "sizes": dict(found.sizes),
            "activation": found.activation,
            "weights": found.weights,
        },
        "unique": found.posed.value,
        "proof": found.proof or None,
        "answers": [
            {
                "question": each.question,
                "answer": each.words,
                "facts": [_fact(fact) for fact in each.facts],
            }
            for each in found.answers
        ],
        "tried": [_tried(each) for each in found.tried],
        "two_equilibria": None
        if two is None
        else {
            "c": list(two.c),
            "first": list(two.first),
            "second": list(two.second),
            "how": two.how,
            "input": None if two.input is None else list(two.input),
        },
        "samples": [_sample(each) for each in found.samples],
        "notes": list(found.notes),
        "seconds": found.seconds,
        "environment": plain(found.environment),
    }


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "name": fact.name,
        "value": None if fact.value is None else number_of(fact.value),
        "by": fact.by or None,
        "note": fact.note or None,
    }


def _tried(each: Tried) -> dict[str, Any]:
    return {
        "id": each.id,
        "title": each.title,
        "outcome": each.word,
        "reason": each.reason or None,
        "hypothesis": None if each.judged is None else judged_of(each.judged),
    }


def _sample(each: Sample) -> dict[str, Any]:
    numbers = ("error", "residual", "distance", "kink", "margin", "radius", "radius_norms")
    found: dict[str, Any] = {name: finite(getattr(each, name)) for name in numbers}
    found["predicted"] = each.predicted
    found["cosine"] = None if each.cosine is None else number_of(each.cosine)
    return found


# ---- words --------------------------------------------------------------------------------------


def as_text(found: Checkup, options: RenderOptions) -> str:
    if options.quiet:
        lines = (line(each, options) for each in found.answers)
        return "".join(f"{i}. {each}\n" for i, each in enumerate(lines, 1))
    return render_text(_parts(found, options), options)


def line(answer: Answer, options: RenderOptions | None = None) -> str:
    """Words, and numbers with their error bars."""
    options = options or RenderOptions()
    parts = (p if isinstance(p, str) else with_error(p, options) for p in answer.line)
    return "".join(parts)


def title(found: Checkup) -> str:
    sizes = ", ".join(f"{count} {name}" for name, count in found.sizes.items() if count)
    return f"{found.name}: {sizes}, {found.activation}, W {found.weights}"


def _parts(found: Checkup, options: RenderOptions) -> Iterator[RenderableType]:
    yield Text(title(found), "bold")
    for note in found.notes:
        yield indented(note)
    yield Text("")
    for i, each in enumerate(found.answers, 1):
        yield Text(f"{i}. {each.question}", "bold")
        yield indented(line(each, options), 3)
        if each.facts:
            yield columns([(told(fact, options), _source(fact)) for fact in each.facts], indent=5)
    if found.two is not None:
        for name, numbers in (("c", found.two.c), ("z", found.two.first), ("z'", found.two.second)):
            yield indented(f"{name} = {vector(numbers)}", 3)
    yield Text("")
    rows = [(each.word, each.id, tried_told(each, options)) for each in found.tried]
    yield columns([heading(("", "theorem", "needs")), *((Text(a), Text(b), c) for a, b, c in rows)])
    if found.samples:
        yield Text("")
        yield columns(_samples(found, options))
    if len(found.samples) > SHOWN:
        yield indented(f"and {len(found.samples) - SHOWN} more (--format json)")


def told(fact: Fact, options: RenderOptions) -> Text:
    value = "" if fact.value is None else f" {with_error(fact.value, options, DIGITS)}"
    note = f" ({fact.note})" if fact.note and fact.value is not None else f" {fact.note}"
    return Text(f"{fact.name}{value}{note}".rstrip())


def _source(fact: Fact) -> Text:
    return Text(fact.by, "dim")


def tried_told(each: Tried, options: RenderOptions) -> str:
    if each.judged is None:
        return each.reason
    claim = each.judged
    sides = comparison(claim.left, claim.relation, claim.right, options)
    note = f" ({claim.note})" if claim.note else ""
    return (
        f"{claim.formula}: {sides}{note}" if each.word == "proves it" else _failing(each, options)
    )


def _failing(each: Tried, options: RenderOptions) -> str:
    claim = each.judged
    assert claim is not None
    sides = with_error(claim.left, options), with_error(claim.right, options)
    ratio = "" if claim.ratio is None else f", ratio {number(claim.ratio, 3)}"
    return f"{claim.formula}: {sides[0]} and {sides[1]}{ratio}"


def vector(numbers: tuple[float, ...]) -> str:
    shown = ", ".join(number(x, 6) for x in numbers[:SHOWN])
    return f"({shown}{', ...' if len(numbers) > SHOWN else ''})"


def sample_columns(found: Checkup) -> list[str]:
    """What is known of some sample."""
    names = ("error", "residual", "distance", "kink", "margin", "radius", "radius_norms")
    return [
        name for name in names if any(not math.isnan(getattr(s, name)) for s in found.samples)
    ] + (["cosine"] if any(s.cosine is not None for s in found.samples) else [])


def cell(value: float | Measured | None, options: RenderOptions) -> str:
    if isinstance(value, Measured):
        return with_error(value, options)
    return number(value)


def _samples(found: Checkup, options: RenderOptions) -> Iterator[tuple[Text, ...]]:
    names = sample_columns(found)
    classes = ["class"] if "margin" in names else []
    yield heading(["sample", *classes, *names])
    for j, each in enumerate(found.samples[:SHOWN]):
        cells = [str(j), *([str(each.predicted)] if classes else [])]
        cells += [cell(getattr(each, name), options) for name in names]
        yield tuple(Text(text) for text in cells)
