"""What lies beside the statements of a paper: its reference, its theory page, its items."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from deqcheck.theorems.base import AnyStatement

REFERENCE, THEORY, ITEMS = "reference.bib", "theory.md", "items.md"


def folder(statement: type[AnyStatement]) -> Path:
    return Path(inspect.getfile(statement)).parent


def bibtex(statement: type[AnyStatement]) -> str | None:
    """The entry of the work that a statement is from: of several, the one of its paper."""
    text = _text(folder(statement) / REFERENCE)
    entries = re.findall(r"^@\w+\{(\S+?),(.*?^\})$", text, re.MULTILINE | re.DOTALL)
    whole = re.findall(r"^@\w+\{.*?^\}$", text, re.MULTILINE | re.DOTALL)
    by_key = {key: entry for (key, _), entry in zip(entries, whole, strict=True)}
    return by_key.get(statement.paper()) or (whole[0] if len(whole) == 1 else None)


def title(statement: type[AnyStatement]) -> str:
    """Of that work, without the braces of BibTeX; empty where it has no entry."""
    found = re.search(r"^\s*title\s*=\s*\{(.*)\},?$", bibtex(statement) or "", re.MULTILINE)
    bare = re.sub(r"\\'e", "\u00e9", found[1] if found else "")
    return re.sub(r"[{}]", "", bare)


def theory(statement: type[AnyStatement]) -> str:
    """The introduction to the statements of its paper; empty where there is none."""
    return _text(folder(statement) / THEORY)


def items(statement: type[AnyStatement]) -> str:
    """Every numbered item of its paper with the statement that judges it, or why none does; empty
    where nobody wrote it down."""
    return _text(folder(statement) / ITEMS)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
