"""From the tree of a case file to the tree of each case that it states."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck.case.outputs import FIELD, NAME, every_output
from deqcheck.case.overrides import put
from deqcheck.case.schema import CaseFile
from deqcheck.case.sweep import KEY, Member
from deqcheck.fields import below, refuse, specs


class Stated(NamedTuple):
    """A case as it is written, the line of everything in it, and the member of a sweep it is."""

    tree: dict[str, Any]
    lines: dict[str, int]
    member: Member | None = None


def expand(tree: dict[str, Any], lines: dict[str, int], folder: Path) -> list[Stated]:
    """One case without a sweep, else one for each member. Raises Refusal."""
    if tree.get(KEY) is None:
        outputs = every_output(tree, folder)
        places = {**lines, f"{KEY}.{NAME}.{FIELD}": lines.get(FIELD, 1)}
        return [_member(tree, places, lines, one) for one in outputs] or [Stated(tree, lines)]
    with below(KEY):
        members = specs(CaseFile)[KEY].read(tree[KEY], folder)
    # A member says where its settings are from; the lists themselves are no part of it.
    fixed = {key: line for key, line in lines.items() if not key.startswith(f"{KEY}.")}
    return [_member(tree, lines, fixed, member) for member in members]


def without_sweep(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key != KEY}


def _member(
    tree: dict[str, Any], lines: dict[str, int], fixed: dict[str, int], member: Member
) -> Stated:
    own, places = copy.deepcopy(without_sweep(tree)), dict(fixed)
    problems = []
    for key, value in member.settings.items():
        said = f"{KEY}.{member.sweep}.{key}"
        line = lines.get(f"{said}[{member.position}]") or lines.get(said) or lines.get(KEY, 1)
        if not put(own, places, key, copy.deepcopy(value), line):
            problems.append((said, "there is no mapping to set this in"))
    refuse(problems)
    return Stated(own, places, member)
