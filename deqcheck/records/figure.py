"""A figure or table of a paper, made again: what is drawn, and what it says of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged


class Word(str, Enum):
    """What a figure made here says of a sentence of the paper: of one instance, never a proof."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NOT_DECIDED = "not decided"

    __str__ = str.__str__


@dataclass(frozen=True)
class Line:
    """One curve; `band` is half the height of the shade around it. A `level` is a thin line that
    others are compared with; `dots` are points without a line."""

    label: str
    x: np.ndarray
    y: np.ndarray
    band: np.ndarray | None = None
    level: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Grid:
    """Heights over a plane: one row for each y. A surface is drawn in perspective."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    label: str
    surface: bool = False
    # A level that is drawn heavier.
    mark: float | None = None


@dataclass(frozen=True)
class Axes:
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    log_x: bool = False
    log_y: bool = False
    grid: Grid | None = None
    # What the axis is to show, where the data would show more.
    y_range: tuple[float, float] | None = None
    # What stands at 0, 1, ... on the x axis.
    x_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Sentence:
    """What the paper says of a figure, in our words, with the claims that it is taken to make."""

    text: str
    claims: tuple[Judged, ...]
    note: str = ""

    @property
    def word(self) -> Word:
        found = {claim.decision for claim in self.claims}
        if Decision.VIOLATED in found:
            return Word.CONTRADICTS
        return Word.SUPPORTS if found == {Decision.HOLDS} else Word.NOT_DECIDED


def sentence(text: str, claims: Sequence[Claim], note: str = "") -> Sentence:
    return Sentence(text, tuple(claim.judge() for claim in claims), note)


@dataclass(frozen=True)
class Picture:
    """Everything that is shown of one figure."""

    id: str
    # Where it is in the paper, and what it shows.
    number: str
    title: str
    # The variant, the size, the data: what the reader must know.
    setting: tuple[str, ...]
    axes: tuple[Axes, ...]
    tables: tuple[Table, ...]
    sentences: tuple[Sentence, ...]
    notes: tuple[str, ...] = ()
    # How many axes stand side by side.
    columns: int = 3

    @property
    def headline(self) -> str:
        return f"{self.number}: {self.title} ({'; '.join(self.setting)})"

    @property
    def caveat(self) -> str:
        """Where the data or the size are not the paper's, its sentences are judged elsewhere."""
        other = [each for each in self.setting if "stand-in" in each or "quick" in each]
        where = "; ".join(other)
        return where and f"judged on what is drawn here ({where}), not on its runs"

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "number": self.number,
            "title": self.title,
            "setting": list(self.setting),
            "notes": list(self.notes),
            "sentences": [_sentence(each) for each in self.sentences],
            "tables": [
                {"title": t.title, "columns": list(t.columns), "rows": [list(r) for r in t.rows]}
                for t in self.tables
            ],
            "axes": [_axes(each) for each in self.axes],
        }


def _sentence(each: Sentence) -> dict[str, Any]:
    return {
        "text": each.text,
        "word": str(each.word),
        "note": each.note,
        "claims": [
            {
                "name": claim.name,
                "formula": claim.formula,
                "decision": str(claim.decision),
                "left": _number(claim.left.value),
                "left_error": _number(claim.left.error),
                "relation": claim.relation,
                "right": _number(claim.right.value),
                "right_error": _number(claim.right.error),
                "note": claim.note,
            }
            for claim in each.claims
        ],
    }


def _axes(each: Axes) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": each.title,
        "x_label": each.x_label,
        "y_label": each.y_label,
        "log_x": each.log_x,
        "log_y": each.log_y,
        "lines": [
            {"label": line.label, "x": _numbers(line.x), "y": _numbers(line.y)}
            | ({} if line.band is None else {"band": _numbers(line.band)})
            for line in each.lines
        ],
    }
    if each.grid is not None:
        grid = each.grid
        rows = [_numbers(row) for row in grid.z]
        found["grid"] = {"x": _numbers(grid.x), "y": _numbers(grid.y), "z": rows}
    return found


def _number(value: float) -> float | None:
    """JSON has no infinities."""
    return float(value) if np.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[float | None]:
    return [_number(value) for value in np.asarray(values, dtype=float)]
