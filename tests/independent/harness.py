"""Instances with the two sides of every check, and how they are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import deqcheck as dq
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.verdict import Verdict
from deqcheck.theorems.base import Check

# Both computations round; nothing here is worse conditioned than this.
TOLERANCE = 1e-8
# An error bar excuses no more than this, relatively and absolutely.
WIDEST_BAR, SMALLEST_BAR = 1e-3, 1e-9
# What a statement grants to rounding must stay below this share of the numbers that it compares.
LARGEST_NOISE = 1e-5

# Of an inequality with equal sides: doubles do not know, exact numbers do.
IF_EXACT = "holds" if find_spec("flint") else "undecided"

Number = float | int | np.ndarray
# Of a curve: from the recorded steps and times.
Along = Callable[[np.ndarray, np.ndarray], Any]
Side = Number | Along


@dataclass(frozen=True)
class Sides:
    """`left relation right` with numbers from outside."""

    left: Side
    relation: str
    right: Side
    # The tolerance, where the check is about numbers that are known less well; say why.
    within: float = TOLERANCE
    decision: str = "holds"
    # How much of a number its error bar may be, where it is known less well; say why.
    bar: float = WIDEST_BAR
    # Of a number that is only known to lie between two bounds the bar is half their distance.
    between: bool = False


@dataclass(frozen=True)
class Noise:
    """The left side is this number up to rounding, and the check grants no more than that.

    `size` is the size of the numbers whose difference it is.
    """

    left: float
    size: float
    relation: str = "<="


Expected = Mapping[str, Sides | Noise | Sequence[Sides | Noise]]


@dataclass(frozen=True)
class Instance:
    """One statement in one edition on one problem.

    `expected` gives, for every check that is judged, its two sides: by the name of the attribute
    that holds the Check in the class (`eq7`), or by the words of a check that several classes
    share ("gradient flow"). A check that is judged several times has a list, in that order.
    """

    id: str
    problem: Callable[[], Any]
    expected: Callable[[], Expected]
    edition: str = "corrected"
    train: Mapping[str, Any] | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    outcome: str = "confirmed"
    # Tells apart several instances of one statement.
    label: str = ""

    def __str__(self) -> str:
        return "-".join(part for part in (self.id, self.edition, self.label) if part)

    @cached_property
    def sides(self) -> Expected:
        """Computed once."""
        return self.expected()

    def judge(self) -> Verdict:
        return dq.judge(
            self.id,
            self.problem(),
            train=self.train,
            edition=self.edition,
            constants=self.constants,
        )


def attribute(cls: type[dq.Statement[Any, Any]], judged: Judged) -> str:
    """The attribute of the class that holds the check, or the words of a shared one."""
    for base in cls.__mro__:
        for name, check in vars(base).items():
            if isinstance(check, Check) and _same(check, judged):
                return name
    return judged.name


def _same(check: Check, judged: Judged) -> bool:
    told = (judged.name, judged.equation, judged.formula)
    return told == (check.name, check.equation, check.formula.text)


def hold(instance: Instance) -> None:
    """Every check of the verdict has the sides that were computed outside."""
    verdict, cls = instance.judge(), dq.statements()[instance.id]
    assert verdict.outcome == instance.outcome, verdict.to_dict()
    expected = {
        name: list(sides) if isinstance(sides, Sequence) else [sides]
        for name, sides in instance.sides.items()
    }
    for judged in (*verdict.hypotheses, *verdict.conclusions, *verdict.remarks):
        name = attribute(cls, judged)
        assert expected.get(name), f"{name}: {judged!r} is not expected (again)"
        _compare(name, judged, expected[name].pop(0))
    left = [name for name, rest in expected.items() if rest]
    assert not left, f"not judged: {left}"


def of(paper: str) -> list[type[dq.Statement[Any, Any]]]:
    return [s for s in dq.statements() if s.paper() == paper]


def every_check_is_held(s: type[dq.Statement[Any, Any]]) -> None:
    """By its attribute; EXEMPT of the paper's file says why one is not."""
    outside = import_module(f"tests.independent.{s.paper()}")
    mine = [each for each in outside.INSTANCES if each.id == s.id]
    held = {name for each in mine for name in each.sides}
    exempt = outside.EXEMPT.get(s.id, {})
    checks = {n for c in s.__mro__ for n, v in vars(c).items() if isinstance(v, Check)}
    assert checks - held == set(exempt), "neither held nor exempt, or both"
    assert {each.edition for each in mine} == set(s.editions)
    assert all(reason for reason in exempt.values())


def _compare(name: str, judged: Judged, sides: Sides | Noise) -> None:
    assert judged.relation == sides.relation, name
    if isinstance(sides, Noise):
        assert judged.decision is Decision.HOLDS, (name, judged)
        noise = float(np.max(np.abs(judged.right.value)))
        assert noise <= LARGEST_NOISE * sides.size, (name, noise, sides.size)
        assert abs(judged.left.value - sides.left) <= noise, (name, judged)
        return
    assert judged.decision == sides.decision, (name, judged)
    curve = judged.curve
    k, t = (np.zeros(1), np.zeros(1)) if curve is None else (curve.k, curve.t)
    found = (judged.left, judged.right) if curve is None else (curve.value, curve.bound)
    for side, number, given in zip(
        ("left", "right"), found, (sides.left, sides.right), strict=True
    ):
        wanted = np.asarray(given(k, t) if callable(given) else given, dtype=float)
        value = np.asarray(number.value, dtype=float)
        assert wanted.shape in ((), value.shape), (name, side)
        wanted = np.broadcast_to(wanted, value.shape)
        off = _off(value, np.asarray(number.error), wanted, sides)
        at = int(np.argmax(off))
        assert not off.any(), f"{name}, {side}: {value.flat[at]!r} is not {wanted.flat[at]!r}"
        _narrow(name, side, np.asarray(number.error), wanted, sides)


def _narrow(name: str, side: str, error: np.ndarray, wanted: np.ndarray, sides: Sides) -> None:
    """What is decided is decided by numbers whose bars are narrow."""
    if sides.decision != "undecided" and not sides.between:
        size = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
        wide = np.isfinite(error) & ~(error <= sides.bar * size + SMALLEST_BAR)
        assert not wide.any(), f"{name}, {side}: {wanted!r} has the bar {error!r}"


def _off(value: np.ndarray, error: np.ndarray, wanted: np.ndarray, sides: Sides) -> np.ndarray:
    """Where a number is not the one wanted, although its bar is as narrow as it should be."""
    with np.errstate(invalid="ignore"):
        size = np.abs(wanted)
        allowed = sides.within * size + np.minimum(error, sides.bar * size + SMALLEST_BAR)
        return (value != wanted) & ~(np.abs(value - wanted) <= allowed)
