"""Every numbered item of each paper: the statement that judges it, or why none does."""

from __future__ import annotations

from deqcheck import registry
from deqcheck.docs import Cases
from deqcheck.theorems.references import items

PREFIX = "items/"


def titles() -> dict[str, str]:
    return {f"{PREFIX}{paper}": f"Every numbered item of {paper}" for paper in written()}


def render(topic: str, cases: Cases) -> str:
    return written()[topic.removeprefix(PREFIX)]


def written() -> dict[str, str]:
    """The pages by paper."""
    first = {s.paper(): s for s in registry.statements().values()}
    pages = {paper: items(statement) for paper, statement in first.items()}
    return {paper: page for paper, page in sorted(pages.items()) if page}
