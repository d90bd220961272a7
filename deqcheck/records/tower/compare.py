"""How two numbers compare, on the first level that knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from deqcheck.frozen import dataclass
from deqcheck.records.tower.annihilators import Annihilators
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.node import Again, Exhausted, NoExactForm, flint
from deqcheck.records.tower.rationals import Rationals, Root

BITS = (128, 256, 512, 1024)


@dataclass(frozen=True)
class Answer:
    """How two numbers compare: the sign of left - right (None where it is open), on which level it
    was found, and both numbers, as the nearest double with a radius."""

    sign: int | None
    by: str
    left: tuple[float, float] | None = None
    right: tuple[float, float] | None = None
    # Of the balls that leave it open.
    bits: int = 0
    # Whether a level gave up because of what the question may cost.
    exhausted: bool = False

    NO_FORM: ClassVar[str] = "no exact form"
    OPEN: ClassVar[str] = "open"


def compared(left: Again, right: Again, budget: float | None = None) -> Answer:
    """The sign of left - right, on the first level that knows it."""
    exact, answer = Rationals(budget), Answer(None, Answer.NO_FORM)
    try:
        a, b = left.at(exact), right.at(exact)
        return Answer(exact.compared(a, b), "rational", _nearest(a), _nearest(b))
    except Exhausted:
        answer = replace(answer, exhausted=True)
    except (NoExactForm, RecursionError):
        pass
    for bits in BITS:
        try:
            found = _in_balls(left, right, Balls(bits, budget))
        except NoExactForm:
            continue
        except Exhausted:
            return replace(answer, exhausted=True)
        except RecursionError:
            return answer
        if found.sign is not None:
            return found
        answer = replace(found, exhausted=answer.exhausted)
    return _equal(left, right, answer, budget)


def _equal(left: Again, right: Again, open_: Answer, budget: float | None) -> Answer:
    """Two algebraic numbers whose difference is smaller than any that its polynomial allows."""
    level, balls = Annihilators(budget), Balls(BITS[-1], budget)
    try:
        difference = level.plus(left.at(level), level.minus(right.at(level)))
        with balls.flint.ctx.workprec(BITS[-1]):
            apart = abs(left.at(balls) - right.at(balls))
            equal = bool(apart < level.separation(difference))
    except Exhausted:
        return replace(open_, exhausted=True)
    except (NoExactForm, RecursionError):
        return open_
    return replace(open_, sign=0, by="algebraic") if equal else open_


def _in_balls(left: Again, right: Again, level: Balls) -> Answer:
    with level.flint.ctx.workprec(level.bits):
        a, b = left.at(level), right.at(level)
        sign = 1 if a > b else -1 if a < b else 0 if a == b else None
        by = Answer.OPEN if sign is None else f"ball {level.bits}"
        return Answer(sign, by, _nearest(a), _nearest(b), level.bits)


def _nearest(x: Any) -> tuple[float, float]:
    """The nearest double, and a radius that holds the number."""
    found = flint()
    with found.ctx.workprec(128):
        if isinstance(x, Root):
            x = x.sign * found.arb(x.square).sqrt()
        middle = float(found.arb(x).mid())
        if isinstance(x, found.fmpq) and x == found.fmpq(*middle.as_integer_ratio()):
            return middle, 0.0
        return middle, float(abs(found.arb(x) - found.arb(middle)).upper()) * (1 + 2.0**-50)
