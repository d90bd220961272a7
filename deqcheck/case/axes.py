"""What varies in a sweep: lists, ranges, lists taken in step, and seeds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.case.yaml_reader import Unreadable, parse
from deqcheck.fields import Refusal, below, collect, refuse, show, unknown
from deqcheck.records.axis import LINEAR, LISTED, LOG, Axis

# Between them they say what a case file is.
FIXED = ("deqcheck", "sweep")
SEED, SEEDS = "seed", "seeds"
SCALES = (LINEAR, LOG)
RANGE = ("from", "to", "points", "scale", "whole")
MOST_POINTS = 10**6
# A range is meant to be read: 0.15, not 0.15000000000000002. Its ends are as they were typed.
DIGITS = 12

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"(?:(lin|log):)?({_NUMBER}):({_NUMBER}):(-?\d+)(:whole)?")


def grid_axes(tree: Mapping[str, Any]) -> Iterator[Axis]:
    """Of `grid: {key: values}`. Raises Refusal."""
    for key, said in tree.items():
        with below(key):
            _check_key(key)
            values, scale = _values(said)
            yield Axis((key,), tuple((value,) for value in values), scale)


def zipped(lists: Any) -> Axis:
    """Lists of equal length, taken in step. Raises Refusal."""
    expected = "expected lists of values by dotted key, such as {model.width: [10, 20]}"
    if not isinstance(lists, dict) or not lists:
        raise Refusal("", f"{expected}; found {show(lists)}")
    length = max(len(v) if isinstance(v, list) else 0 for v in lists.values())
    problems: list[tuple[str, str]] = []
    for key, values in lists.items():
        with collect(problems, key):
            _check_key(key)
            if not isinstance(values, list) or not values:
                raise Refusal("", f"expected a list of values; found {show(values)}")
            if len(values) != length:
                expected = f"{length} values, as many as the longest list"
                raise Refusal("", f"expected {expected}; found {len(values)}")
    refuse(problems)
    return Axis(tuple(lists), _distinct(list(zip(*lists.values(), strict=True)), "cases"))


def seed_axes(said: Any, streams: tuple[str, ...]) -> Iterator[Axis]:
    """Of everything, or of the streams that are named. Raises Refusal."""
    if not isinstance(said, dict):
        yield _seeds(SEED, said)
        return
    if not said:
        raise Refusal("", f"expected a number of seeds; found {show(said)}")
    for name, count in said.items():
        with below(name):
            if name not in streams:
                raise Refusal("", unknown("nothing is drawn under the name", name, streams))
            yield _seeds(f"{SEEDS}.{name}", count)


def _seeds(key: str, said: Any) -> Axis:
    """So many, from 0 on, or these."""
    if isinstance(said, int) and not isinstance(said, bool):
        if not 1 <= said <= MOST_POINTS:
            raise Refusal("", f"{said} seeds; expected 1 to {MOST_POINTS}, or a list of seeds")
        return Axis((key,), tuple((i,) for i in range(said)))
    if not isinstance(said, list) or not said:
        raise Refusal("", f"expected a number of seeds, or a list of them; found {show(said)}")
    return Axis((key,), _distinct([(each,) for each in said], "seeds"))


def _check_key(key: str) -> None:
    if key.partition(".")[0] in FIXED:
        raise Refusal("", f"a sweep cannot set {show(key)}")


def _values(said: Any) -> tuple[list[Any], str]:
    if isinstance(said, list):
        if not said:
            raise Refusal("", "an empty list; expected values")
        return [value for (value,) in _distinct([(each,) for each in said], "values")], LISTED
    if isinstance(said, dict):
        return _range(said)
    expected = "a list of values, or a range such as {from: 0.1, to: 0.9, points: 5, scale: log}"
    raise Refusal("", f"expected {expected}; found {show(said)}")


def _range(said: Mapping[str, Any]) -> tuple[list[float], str]:
    refuse((key, unknown("a range has no field", key, RANGE)) for key in said if key not in RANGE)
    for key in RANGE[:3]:
        if key not in said:
            raise Refusal(key, "missing")
    first, last, points = (said[key] for key in RANGE[:3])
    scale, whole = said.get("scale", LINEAR), said.get("whole", False)
    _check_range(first, last, points, scale)
    if scale == LOG:
        between = [first * (last / first) ** (i / max(points - 1, 1)) for i in range(points)]
    else:
        between = [first + i * (last - first) / max(points - 1, 1) for i in range(points)]
    found = [float(f"{value:.{DIGITS}g}") for value in between]
    found[0], found[-1] = first, last if points > 1 else first
    ends = isinstance(first, int) and isinstance(last, int)
    if whole or (ends and scale == LINEAR and all(float(x).is_integer() for x in found)):
        found = [round(value) for value in found]
    return [value for (value,) in _distinct([(each,) for each in found], "values")], scale


def _check_range(first: Any, last: Any, points: Any, scale: Any) -> None:
    if scale not in SCALES:
        raise Refusal("scale", f"expected {' or '.join(SCALES)}; found {show(scale)}")
    for key, end in (("from", first), ("to", last)):
        number = isinstance(end, int | float) and not isinstance(end, bool)
        if not number or not math.isfinite(end):
            raise Refusal(key, f"expected a number; found {show(end)}")
        if scale == LOG and not end > 0:
            raise Refusal(key, f"{show(end)} has no logarithm; expected a number > 0")
    if not isinstance(points, int) or isinstance(points, bool) or not 1 <= points <= MOST_POINTS:
        found = "an empty range" if points == 0 else f"found {show(points)}"
        raise Refusal("points", f"{found}; expected an integer from 1 to {MOST_POINTS}")


def _distinct(values: list[tuple[Any, ...]], what: str) -> tuple[tuple[Any, ...], ...]:
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        first = seen.setdefault(json.dumps(value, default=str), i)
        if first != i:
            raise Refusal("", f"{what} {first + 1} and {i + 1} are the same")
    return tuple(values)


def typed_grid(text: str) -> tuple[str, Any]:
    """`KEY=A:B:POINTS`, `KEY=log:A:B:POINTS` or `KEY=V,V,V`: as a case has it. Raises Refusal."""
    key, said = _pair(text)
    ranged = _RANGE.fullmatch(said.strip())
    if ranged is None:
        return key, _listed(key, said)
    scale, first, last, points, whole = ranged.groups()
    ends = {"from": _parsed(key, first), "to": _parsed(key, last), "points": int(points)}
    return key, ends | {"scale": LOG if scale == "log" else LINEAR, "whole": bool(whole)}


def typed_zip(text: str) -> tuple[str, Any]:
    key, said = _pair(text)
    return key, _listed(key, said)


def typed_seeds(text: str) -> tuple[str, Any]:
    """`5`, `3,4` or `init=5`; the name is empty for all streams. Raises Refusal."""
    name, equals, said = text.partition("=")
    if not equals:
        name, said = "", text
    return name, _listed(name, said) if "," in said or "[" in said else _parsed(name, said)


def _pair(text: str) -> tuple[str, str]:
    key, equals, said = text.partition("=")
    if not (key and equals and said):
        raise Refusal("", f"expected KEY=VALUES; found {show(text)}")
    return key.strip(), said


def _listed(key: str, said: str) -> Any:
    """`1,2,4`, or the same in brackets; a list of lists has them, too."""
    every = _parsed(key, f"[{said}]")
    one_list = len(every) == 1 and isinstance(every[0], list)
    return every[0] if one_list else every


def _parsed(key: str, text: str) -> Any:
    try:
        value, _, faults = parse(text)
    except Unreadable as error:
        raise Refusal(key, error.fault.sentence) from None
    refuse((f"{key}.{fault.key}", "given twice") for fault in faults)
    return value
