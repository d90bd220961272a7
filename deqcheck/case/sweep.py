"""Sweeps: one file that states several cases, alike but for some settings."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck.case.axes import SEEDS, grid_axes, seed_axes, zipped
from deqcheck.fields import Refusal, Spec, below, collect, refuse, show
from deqcheck.frozen import dataclass
from deqcheck.records.axis import Axis

KEY = "sweep"
GRID, ZIP = "grid", "zip"
PARTS = (GRID, ZIP, SEEDS)
# What may be drawn from a seed of its own.
STREAMS = ("data", "init", "train")


class Member(NamedTuple):
    """One case of a sweep: its name, and what it sets, by dotted key."""

    sweep: str
    position: int
    settings: Mapping[str, Any]

    @property
    def words(self) -> dict[str, str]:
        """What it sets, for people."""
        return {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in self.settings.items()
        }

    @property
    def label(self) -> str:
        return f"{self.sweep}: {', '.join(f'{key}={word}' for key, word in self.words.items())}"

    def overrides(self) -> list[str]:
        """What `--set` must be told to make this case of the file."""
        return [f"{KEY}=null", *(f"{key}={json.dumps(v)}" for key, v in self.settings.items())]


class Grid(NamedTuple):
    """The product of some axes; its members are made when they are asked for."""

    name: str
    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def member(self, position: int) -> Member:
        """The last axis varies first."""
        settings: dict[str, Any] = {}
        rest = position
        for axis in reversed(self.axes):
            rest, i = divmod(rest, len(axis.values))
            settings = dict(zip(axis.keys, axis.values[i], strict=True)) | settings
        return Member(self.name, position, settings)

    def probes(self, most: int) -> Iterator[Member]:
        """Every value of every axis once, the others being at their first; of long axes some."""
        step = 1
        yield self.member(0)
        for axis in reversed(self.axes):
            length = len(axis.values)
            # One seed is like another.
            between = () if axis.seeds else range(1, length, max(1, math.ceil(length / most)))
            yield from (self.member(i * step) for i in between)
            yield self.member((length - 1) * step)
            step *= length


@dataclass(frozen=True, kw_only=True)
class Sweeps(Spec):
    """Sweeps by name. Each gives lists of values, taken in step, by the dotted key they go to; or
    `grid`, `zip` and `seeds`, whose product is taken."""

    @property
    def expected(self) -> str:
        return (
            "a mapping from names to sweeps, such as {widths: {model.width: [10, 20]}} or {phase: "
            "{grid: {model.width: {from: 10, to: 50, points: 5}}, seeds: 3}}"
        )

    def read(self, value: Any, folder: Path) -> tuple[Grid, ...]:
        if not isinstance(value, dict) or not value:
            raise self.wrong(value)
        found: list[Grid] = []
        problems: list[tuple[str, str]] = []
        for name, said in value.items():
            with collect(problems, name):
                found.append(Grid(name, _axes(said)))
        refuse(problems)
        return tuple(found)


def _axes(said: Any) -> tuple[Axis, ...]:
    if not isinstance(said, dict) or not said or not all(key in PARTS for key in said):
        return (zipped(said),)
    problems: list[tuple[str, str]] = []
    axes: list[Axis] = []
    if GRID in said:
        with collect(problems, GRID):
            if not isinstance(said[GRID], dict) or not said[GRID]:
                raise Refusal("", f"expected values by dotted key; found {show(said[GRID])}")
            axes += grid_axes(said[GRID])
    if ZIP in said:
        with collect(problems, ZIP):
            axes.append(zipped(said[ZIP]))
    if SEEDS in said:
        with collect(problems, SEEDS):
            axes += seed_axes(said[SEEDS], STREAMS)
    refuse(problems)
    keys = [key for axis in axes for key in axis.keys]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise Refusal("", f"{show(twice)} is varied twice")
    return tuple(axes)


def limited(grids: tuple[Grid, ...], most: int) -> None:
    """Where every case is made at once. Raises Refusal."""
    for grid in grids:
        with below(grid.name):
            if grid.size > most:
                raise Refusal(
                    "",
                    f"states {grid.size} cases; expected at most {most}: `deqcheck sweep` takes "
                    "any number",
                )
