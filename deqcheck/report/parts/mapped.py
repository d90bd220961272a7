"""What a map of a sweep shows, before it is drawn: cells over two keys, or curves over one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deqcheck.records.axis import LISTED, Axis
from deqcheck.records.sweep import WORST_FIRST, Sweep, SweptMember
from deqcheck.records.words import CORRECTED
from deqcheck.report.parts.swept import coordinate

OUTCOME, SLACK, RATE = "outcome", "slack", "rate_tightness"
WORST, MEDIAN, SHARE = "worst", "median", "share"
SHOWN = (WORST, MEDIAN, SHARE)
LOSS = "loss"
GOOD = ("confirmed", "consistent", "met")
# Colours stand for logarithms where the values span more than this ratio.
SPAN = 100.0
# More curves in one picture are not told apart.
MOST_CURVES = 7


class MapError(ValueError):
    """A map that cannot be drawn; one sentence."""


@dataclass(frozen=True)
class Shade:
    """What the colour tells: of a statement its outcome, slack or rate, else a quantity."""

    text: str
    id: str = ""
    edition: str = ""
    what: str = ""
    check: str = ""

    @classmethod
    def read(cls, text: str) -> Shade:
        """`ID:outcome`, `ID:slack`, `ID:rate_tightness`, of one edition `ID@printed:slack`, of one
        check `ID:slack:CHECK`; else the name of a quantity, or `loss`. Raises MapError."""
        if "/" not in text:
            return cls(text, what=text)
        name, _, rest = text.partition(":")
        id_, _, edition = name.partition("@")
        what, _, check = rest.partition(":")
        if what not in (OUTCOME, SLACK, RATE):
            expected = f"{id_}:{OUTCOME}, {id_}:{SLACK} or {id_}:{RATE}"
            raise MapError(f"color {text}: expected {expected}, or the name of a quantity")
        return cls(text, id_, edition, what, check)

    @property
    def least_is_worst(self) -> bool:
        return self.what == SLACK

    def statement(self, member: SweptMember) -> Any:
        found = {s["edition"]: s for s in member.statements if s["id"] == self.id}
        if self.edition:
            return found.get(self.edition)
        return found.get(CORRECTED) or next(iter(found.values()), None)

    def outcome(self, member: SweptMember) -> str:
        """Of its statement, or what became of the member."""
        statement = self.statement(member) if self.id else None
        return member.word if statement is None else str(statement["outcome"])

    def value(self, member: SweptMember) -> float | None:
        if not self.id:
            return _quantity(member, self.what)
        statement = self.statement(member)
        if statement is None or self.what == OUTCOME:
            return None
        key = "ratio" if self.what == SLACK else RATE
        checks = [c for c in statement["conclusions"] if self.check in ("", c["name"])]
        values = [c[key] for c in checks if c.get(key) is not None]
        return (min if self.least_is_worst else max)(values, default=None)


def _quantity(member: SweptMember, name: str) -> float | None:
    facts = member.facts or {}
    measured = facts.get("loss") if name == LOSS else facts.get("quantities", {}).get(name)
    return None if measured is None else measured["value"]


@dataclass(frozen=True)
class Side:
    """One axis of a picture."""

    key: str
    values: tuple[Any, ...]
    scale: str

    @property
    def listed(self) -> bool:
        """Whether its cells are of equal size, whatever their values."""
        return self.scale == LISTED or len(self.values) < 2

    @property
    def labels(self) -> list[str]:
        return [f"{v:.4g}" if isinstance(v, float) else str(v) for v in self.values]


@dataclass(frozen=True)
class Cell:
    value: float | None
    # The worst of its members, how many have it, and its command.
    outcome: str
    share: int
    members: int
    replay: str


@dataclass(frozen=True)
class Heat:
    """Cells by row and column; none where no member is."""

    title: str
    shade: Shade
    shown: str
    x: Side
    y: Side
    cells: tuple[tuple[Cell | None, ...], ...]

    @property
    def values(self) -> list[float]:
        every = (cell.value for row in self.cells for cell in row if cell is not None)
        return [value for value in every if value is not None and math.isfinite(value)]

    @property
    def log(self) -> bool:
        found = self.values
        return self.shown != SHARE and min(found, default=0) > 0 and max(found) > SPAN * min(found)

    @property
    def outcomes(self) -> list[str]:
        found = {cell.outcome for row in self.cells for cell in row if cell is not None}
        known = [one.value for one in WORST_FIRST if one in found]
        return [*sorted(found - set(known)), *known]

    @property
    def label(self) -> str:
        return _label(self.shade, self.shown)


@dataclass(frozen=True)
class Band:
    """A curve: the median, and all members between two others."""

    label: str
    x: tuple[float, ...]
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]
    # Where not every member is confirmed.
    open: tuple[bool, ...]


@dataclass(frozen=True)
class Curves:
    title: str
    label: str
    x: Side
    bands: tuple[Band, ...]

    @property
    def log_y(self) -> bool:
        found = [value for band in self.bands for value in band.low]
        most = max((value for band in self.bands for value in band.high), default=0)
        return min(found, default=0) > 0 and most > SPAN * min(found)


def heat(sweep: Sweep, x: str, y: str, shade: Shade, shown: str) -> Heat:
    """Raises MapError."""
    across, up = _side(sweep, x), _side(sweep, y)
    groups: dict[tuple[Any, Any], list[SweptMember]] = {}
    for member in sweep:
        groups.setdefault((_at(member, x), _at(member, y)), []).append(member)
    _check(sweep, shade)
    cells = tuple(
        tuple(_cell(groups.get((a, b), ()), shade, shown) for a in across.values) for b in up.values
    )
    return Heat(_title(sweep, (x, y)), shade, shown, across, up, cells)


def curves(sweep: Sweep, x: str, shades: Sequence[Shade]) -> Curves:
    """One for each shade and, if there are few, for each value of the other keys."""
    side = _side(sweep, x)
    others = [key for key in sweep.keys if key != x and not key.startswith("seeds.")]
    groups: dict[tuple[str, Any], list[SweptMember]] = {}
    members = [member for member in sweep if _at(member, x) is not None]
    apart = dict.fromkeys(_setting(member, others) for member in members)
    split = len(apart) * len(shades) <= MOST_CURVES
    for member in members:
        groups.setdefault((_setting(member, others) if split else "", _at(member, x)), []).append(
            member
        )
    names = list(apart) if split else [""]
    bands = []
    for shade in shades:
        _check(sweep, shade)
        for name in names:
            label = ", ".join(filter(None, [shade.text if len(shades) > 1 else "", name]))
            points = ((value, groups.get((name, value), [])) for value in side.values)
            bands.append(_band(label or shade.text, points, shade))
    over = () if not split else tuple(others)
    shown = shades[0].text if len(shades) == 1 else "value"
    return Curves(_title(sweep, (x, *over)), shown, side, tuple(bands))


def _band(label: str, points: Iterable[tuple[Any, Sequence[SweptMember]]], shade: Shade) -> Band:
    found = []
    for place, (value, members) in enumerate(points):
        numbers = [n for m in members if (n := shade.value(m)) is not None and math.isfinite(n)]
        if numbers:
            at = float(value) if isinstance(value, int | float) else float(place)
            good = all(shade.outcome(member) in GOOD for member in members)
            found.append((at, min(numbers), statistics.median(numbers), max(numbers), not good))
    if not found:
        raise MapError(f"color {shade.text}: no member has a number to draw")
    return Band(label, *map(tuple, zip(*found, strict=True)))


def _cell(members: Sequence[SweptMember], shade: Shade, shown: str) -> Cell | None:
    if not members:
        return None
    outcomes = [shade.outcome(member) for member in members]
    rank = {outcome.value: i for i, outcome in enumerate(WORST_FIRST)}
    worst = min(outcomes, key=lambda word: rank.get(word, -1))
    numbers = [n for member in members if (n := shade.value(member)) is not None]
    value: float | None
    if shown == SHARE:
        value = sum(word in GOOD for word in outcomes) / len(members)
    elif shown == MEDIAN:
        value = statistics.median(numbers) if numbers else None
    else:
        value = (min if shade.least_is_worst else max)(numbers, default=None)
    replay = members[outcomes.index(worst)].replay
    return Cell(value, worst, outcomes.count(worst), len(members), replay)


def _check(sweep: Sweep, shade: Shade) -> None:
    """Whether any member can tell it. Raises MapError."""
    judged: dict[str, None] = {}
    quantities: dict[str, None] = {LOSS: None}
    for member in sweep:
        judged |= dict.fromkeys(s["id"] for s in member.statements)
        quantities |= dict.fromkeys((member.facts or {}).get("quantities", ()))
        if shade.id and shade.statement(member) is not None:
            return
        if not shade.id and _quantity(member, shade.what) is not None:
            return
    known = judged if shade.id else quantities
    raise MapError(f"color {shade.text}: no member tells it; known: {', '.join(known)}")


def _side(sweep: Sweep, key: str) -> Side:
    axes = [axis for every in sweep.axes.values() for axis in every if key in axis.keys]
    if not axes:
        known = ", ".join((*sweep.keys, *(["seed"] if _varies(sweep, "seed") else [])))
        raise MapError(f"{key!r} does not vary; expected one of {known}")
    values = dict.fromkeys(v for axis in axes for v in _along(axis, key))
    return Side(key, tuple(values), axes[0].scale)


def _varies(sweep: Sweep, key: str) -> bool:
    return any(key in axis.keys for axes in sweep.axes.values() for axis in axes)


def _along(axis: Axis, key: str) -> list[Any]:
    i = axis.keys.index(key)
    return [coordinate(place[i]) for place in axis.values]


def _at(member: SweptMember, key: str) -> Any:
    return coordinate(member.settings[key]) if key in member.settings else None


def _setting(member: SweptMember, keys: Sequence[str]) -> str:
    return ", ".join(f"{key} = {_at(member, key)}" for key in keys if key in member.settings)


def _title(sweep: Sweep, keys: Sequence[str]) -> str:
    """The case, and what the cells are taken over."""
    axes = [axis for every in sweep.axes.values() for axis in every]
    rest = [axis for axis in axes if not set(axis.keys) & set(keys)]
    over = ", ".join(map(_counted, rest))
    name = sweep.title or sweep.name
    return f"{name} (over {over})" if over else name


def _counted(axis: Axis) -> str:
    if not axis.seeds:
        return f"{len(axis.values)} values of {' and '.join(axis.keys)}"
    stream = axis.keys[0].partition(".")[2]
    return f"{len(axis.values)} seeds{f' of {stream}' if stream else ''}"


def _label(shade: Shade, shown: str) -> str:
    if shown == SHARE:
        return f"share confirmed, {shade.id or shade.text}"
    if shade.what == OUTCOME:
        return f"worst outcome, {shade.id}"
    told = {SLACK: "slack", RATE: "rate tightness"}.get(shade.what, shade.what)
    which = f"{shown} " if shown else ""
    return f"{which}{told}{f', {shade.id}' if shade.id else ''}"


def chosen(
    sweep: Sweep, x: str | None, y: str | None, colors: Sequence[str], shown: str
) -> Heat | Curves:
    """Without keys, over the first two that vary; without a colour, the outcome of the first
    statement. Raises MapError."""
    keys = [key for key in sweep.keys if not key.startswith("seeds.")]
    if x is None:
        x = next((key for key in keys if key != y), "seed")
        y = y or next((key for key in keys if key != x), None)
    shades = [Shade.read(color) for color in colors]
    if not shades:
        judged = (s["id"] for member in sweep for s in member.statements)
        first = next(judged, None)
        what = OUTCOME if y is not None else SLACK
        shades = [Shade.read(LOSS if first is None else f"{first}:{what}")]
    if y is None:
        return curves(sweep, x, shades)
    if len(shades) > 1:
        raise MapError("a map over two keys has one color; several are drawn as curves, over x")
    return heat(sweep, x, y, shades[0], shown)
