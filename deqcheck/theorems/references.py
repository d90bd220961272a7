"""The bibliography: an entry for each folder of statements, under the folder's name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def bibtex(statement: str) -> str | None:
    """The entry of the work that a statement such as `kawaguchi2021/thm1` is from."""
    return _entries().get(statement.partition("/")[0])


@cache
def _entries() -> dict[str, str]:
    text = files("deqcheck.theorems").joinpath("references.bib").read_text(encoding="utf-8")
    found = re.findall(r"^@\w+\{(\w+),.*?^\}$", text, re.MULTILINE | re.DOTALL)
    whole = re.findall(r"^@\w+\{\w+,.*?^\}$", text, re.MULTILINE | re.DOTALL)
    return dict(zip(found, whole, strict=True))
