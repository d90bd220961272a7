"""From the tree of a case file to the tree of each case that it states."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck.case.outputs import FIELD, NAME, every_output
from deqcheck.case.overrides import put
from deqcheck.case.schema import CaseFile
from deqcheck.case.sweep import GRID, KEY, ZIP, Grid, Member, limited
from deqcheck.fields import below, refuse, specs

# A list of more cases than these is not made.
MOST = 1000


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
        return [stated(tree, places, lines, one) for one in outputs] or [Stated(tree, lines)]
    grids = grids_of(tree, folder)
    with below(KEY):
        limited(grids, MOST)
    fixed = beside(lines)
    members = (grid.member(i) for grid in grids for i in range(grid.size))
    return [stated(tree, lines, fixed, member) for member in members]


def grids_of(tree: Mapping[str, Any], folder: Path) -> tuple[Grid, ...]:
    """The sweeps of a tree. Raises Refusal."""
    with below(KEY):
        found: tuple[Grid, ...] = specs(CaseFile)[KEY].read(tree[KEY], folder)
    return found


def beside(lines: Mapping[str, int]) -> dict[str, int]:
    """A member says where its settings are from; the lists themselves are no part of it."""
    return {key: line for key, line in lines.items() if not key.startswith(f"{KEY}.")}


def without_sweep(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key != KEY}


def stated(
    tree: Mapping[str, Any], lines: Mapping[str, int], fixed: Mapping[str, int], member: Member
) -> Stated:
    """What one member states. Raises Refusal."""
    own, places = copy.deepcopy(without_sweep(tree)), dict(fixed)
    problems = []
    for key, value in member.settings.items():
        said = _place(lines, member, key)
        line = lines.get(said, lines.get(KEY, 1))
        if not put(own, places, key, copy.deepcopy(value), line):
            problems.append((said, "there is no mapping to set this in"))
    refuse(problems)
    return Stated(own, places, member)


def _place(lines: Mapping[str, int], member: Member, key: str) -> str:
    """Where a sweep says what it sets."""
    name = f"{KEY}.{member.sweep}"
    places = (f"{name}.{key}[{member.position}]", *(f"{name}.{part}.{key}" for part in (GRID, ZIP)))
    return next((place for place in places if place in lines), f"{name}.{key}")
