"""Numbers read back from the facts of a case, which are as `deqcheck.report.json` writes them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from deqcheck.records.measured import Measured

Facts = Mapping[str, Any]


def side(entry: Facts) -> Measured:
    """A measured number as `deqcheck.report.json` writes it."""
    value, error = entry["value"], entry["error"]
    value = float(entry["marker"]) if value is None else value
    return Measured(value, math.inf if error == "inf" else error or 0.0)


def ratio_error(entry: Facts) -> float | None:
    """The radius of `ratio`."""
    if entry["ratio"] is None:
        return None
    left, right = side(entry["left"]), side(entry["right"])
    quotient = left / right if entry["relation"] in (">=", ">") else right / left
    return quotient.error if math.isfinite(quotient.error) else None


def named(judged: list[Facts]) -> Iterator[tuple[str, Facts]]:
    """Each with a name of its own: a check that was made twice is numbered."""
    seen: dict[str, int] = {}
    for entry in judged:
        name = entry["name"]
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} [{seen[name]}]"), entry
