"""What a case names must be what it is judged by: an expectation of anything else cannot fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deqcheck.records.words import judged_as

if TYPE_CHECKING:
    from deqcheck.case.schema import CaseFile


def unjudged(case: CaseFile, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """By key, why a theorem that is named cannot be judged, or why one is expected that is not.

    `known` gives the statements by their ids.
    """
    model, loss = case.model.kind, case.loss.kind
    for i, name in enumerate(case.theorems or ()):
        incompatibility = known[name].incompatibility(model, loss)
        if incompatibility:
            yield f"theorems[{i}]", incompatibility
    for name, entry in case.expect.outcomes.items():
        why = _silence(case, known[name]) or _edition(case, known[name], entry)
        if why:
            yield f"expect.{name}", f"not judged in this case: {why}"


def _silence(case: CaseFile, statement: Any) -> str:
    if case.theorems:
        return "" if statement.id in case.theorems else "it is not among its theorems"
    found: str = statement.reason_skipped(case.model.kind, case.loss.kind, judged_as(case.train))
    return found


def _edition(case: CaseFile, statement: Any, entry: Any) -> str:
    """A word is expected of every edition."""
    judged = statement.judged_in(case.editions)
    if isinstance(entry, str) or any(edition in entry for edition in judged):
        return ""
    return f"its edition is {' and '.join(judged)}, the case expects {' and '.join(entry)}"
