"""A reason for a survivor speaks of a line that is there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from .__main__ import explained, files

PATHS = {f"{path.parent.name}/{path.name}": path for group in files().values() for path in group}


@cache
def lines(path: Path) -> set[str]:
    return {line.strip() for line in path.read_text().splitlines()}


@cache
def whole(path: Path) -> str:
    """As a mutant is told."""
    return ast.unparse(ast.parse(path.read_text()))


def names_what_is_there(label: str) -> bool:
    file, _, change = label.partition(": ")
    changed, found, line = change.partition(" in ")
    path = PATHS[file]
    return line in lines(path) if found else changed.partition(" -> ")[0] in whole(path)


def test_reasons_name_what_is_there() -> None:
    assert not [label for label in explained() if not names_what_is_there(label)]
