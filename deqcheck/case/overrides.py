"""Settings from the command line, `--set train.step=1e-3`, put into a case before it is checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from deqcheck.case.errors import SET
from deqcheck.case.schema import PARTS
from deqcheck.case.yaml_reader import Unreadable, parse
from deqcheck.fields import join, show


def override(
    tree: dict[str, Any], lines: dict[str, int], settings: Iterable[str]
) -> list[tuple[str, str]]:
    """Change `tree` and `lines` in place; the keys and sentences of what cannot be set."""
    refused: list[tuple[str, str]] = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not (key and equals):
            refused.append(("", f"expected key=value; found {show(setting)}"))
            continue
        try:
            value, _, faults = parse(text)
        except Unreadable as error:
            refused.append((key, error.fault.sentence))
            continue
        refused += [(join(key, fault.key), "given twice") for fault in faults]
        if not put(tree, lines, key, value):
            refused.append((key, "there is no mapping to set this in"))
    return refused


def put(tree: dict[str, Any], lines: dict[str, int], key: str, value: Any, line: int = SET) -> bool:
    """Set what is at a dotted key, said in this line; False where something else is in the way."""
    # A digit after a dot belongs to a theorem's number: gao2022/thm4.4.
    *way, last = re.split(r"\.(?!\d)", key)
    for depth, word in enumerate(way, start=1):
        if tree.get(word) is None:
            tree[word] = {}
            lines[".".join(way[:depth])] = line
        elif isinstance(tree[word], str) and way[0] in PARTS:
            tree[word] = {"kind": tree[word]}
        if not isinstance(tree[word], dict):
            return False
        tree = tree[word]
    tree[last] = value
    for stale in [known for known in lines if known.startswith((f"{key}.", f"{key}["))]:
        del lines[stale]
    lines[key] = line
    return True
