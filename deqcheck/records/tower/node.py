"""Real numbers that are computed again: as a rational or the root of one, else in balls.

A number is a node: an operation on other nodes, or a leaf that knows how to make itself on a level.
The levels are the rationals with the square roots of rationals, which decide everything that stays
there, and balls (midpoint and radius, rounded outward) of more and more bits, which decide all but
equalities. python-flint does the arithmetic; without it nothing is computed again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

# Multiplications of 64-bit numbers, roughly, that one question may cost.
BUDGET = 2e7


class NoExactForm(Exception):
    """The number cannot be made on this level."""


class Untold(NoExactForm):
    """There are no words for a node."""


class Exhausted(Exception):
    """The budget of the question is used up."""


@cache
def flint() -> Any:
    """python-flint, or None where it is not installed."""
    try:
        import flint as found
    except ImportError:
        return None
    return found


_CERTIFYING: ContextVar[bool] = ContextVar("certifying", default=False)


def is_certifying() -> bool:
    """Whether what doubles decide is computed again, too."""
    return _CERTIFYING.get()


@contextmanager
def certifying(wanted: bool = True) -> Iterator[None]:
    token = _CERTIFYING.set(wanted)
    try:
        yield
    finally:
        _CERTIFYING.reset(token)


_EFFORT: ContextVar[float] = ContextVar("effort", default=1.0)


def allowance() -> float:
    """What one question may cost: the same answers on every machine, however fast it is."""
    return BUDGET * _EFFORT.get()


@contextmanager
def effort(times: float) -> Iterator[None]:
    """So many times the usual budget."""
    token = _EFFORT.set(times)
    try:
        yield
    finally:
        _EFFORT.reset(token)


class Contradiction(Exception):
    """An exact number lies outside an error bar that counts its roundings: a bug."""


F = TypeVar("F", bound=Callable[..., Any])


def worded(make: F) -> F:
    """A function whose name, without its underscore, is the word of the nodes that it makes."""
    make.word = make.__name__.lstrip("_")  # type: ignore[attr-defined]
    return make


class Word(NamedTuple):
    """What a node is, for those who read it elsewhere: an operation of the closed vocabulary of
    certificates on other nodes, and the numbers that belong to it."""

    op: str
    of: tuple[Again, ...]
    given: Mapping[str, Any]


NOTHING: dict[Any, Any] = {}


class Again:
    """A node; its value on a level is computed once. Without a `word` nobody else can tell what it
    is."""

    __slots__ = ("_given", "_known", "_make", "_of", "_op", "_parts", "_telling")

    def __init__(self, make: Callable[..., Any] | str, *parts: Again):
        """`make(level, *values of the parts)` gives the value, or the level's operation of this
        name on them."""
        # Most nodes are made and never asked: what only the others need is made for them.
        self._make, self._parts, self._known = make, parts, NOTHING
        self._op: str | None = None
        self._of, self._given = parts, NOTHING
        self._telling: Callable[[], Again] | Again | None = None

    @property
    def word(self) -> Word | None:
        return self.spoken._own_word()

    def _own_word(self) -> Word | None:
        make = self._make
        own = make if isinstance(make, str) else getattr(make, "word", "")
        op = own if self._op is None else self._op
        return Word(op, self._of, self._given) if op else None

    @property
    def spoken(self) -> Again:
        """The node that has its words. Raises Untold."""
        if self._telling is None:
            return self
        if not isinstance(self._telling, Again):
            self._telling = self._telling().spoken
        return self._telling

    def called(self, op: str, *of: Again, **given: Any) -> Again:
        """Its word; of the parts, unless others are named."""
        self._op, self._of, self._given = op, of or self._parts, given
        return self

    def told(self, make: Callable[[], Again]) -> Again:
        """The same number or matrix in words, if somebody asks for them."""
        self._telling = make
        return self

    def of(self, op: str, *parts: Again) -> Again:
        """The same number, told as an operation on others."""
        found = Again(self._make, *self._parts)
        return found.called(op, *parts)

    @property
    def levels(self) -> tuple[int, ...]:
        """The bits of the levels on which it was computed."""
        return tuple(self._known)

    def known(self, bits: int) -> Any:
        """Its value on such a level."""
        return self._known[bits]

    def __reduce__(self) -> tuple[Any, ...]:
        return forgotten, ()

    def at(self, level: Level) -> Any:
        if level.bits not in self._known:
            found = self.made(level, [part.at(level) for part in self._parts])
            self._known = {**self._known, level.bits: found}
        return self._known[level.bits]

    def made(self, level: Level, values: list[Any]) -> Any:
        """Of parts that have these values."""
        if isinstance(self._make, str):
            return getattr(level, self._make)(*values)
        return self._make(level, *values)


def forgotten() -> Again:
    """What is left of a node in another process: it cannot be computed any more."""
    return Again(_forgotten)


def _forgotten(level: Level) -> Any:
    raise NoExactForm


def rational(x: Fraction | int | float) -> Again:
    """A number that is this one and no other."""
    return Again(lambda level: level.rational(Fraction(x))).called("number", value=x)


def valued(node: Again, x: Fraction | float) -> Again:
    """The number of a node, of which somebody knows that it is this one."""
    return rational(x).told(lambda: node)


@lru_cache(maxsize=1024)
def integer(x: int) -> Again:
    return rational(x)


class Level(ABC):
    """The arithmetic of one level."""

    # Of a ball; 0 and less where numbers are exact.
    bits: int

    def __init__(self, budget: float | None = None):
        self._left = allowance() if budget is None else budget
        self.flint = flint()

    def charge(self, work: float) -> None:
        """Before work is done: how many multiplications of 64-bit numbers it takes."""
        self._left -= work
        if self._left < 0:
            raise Exhausted

    @property
    def exact(self) -> bool:
        """Whether matrices are rational."""
        return self.bits <= 0

    def rational(self, x: Fraction) -> Any:
        return self.number(self.flint.fmpq(x.numerator, x.denominator))

    @abstractmethod
    def number(self, x: Any) -> Any:
        """A number of the level from a rational one (fmpq), or on a level of balls a ball."""

    @abstractmethod
    def plus(self, a: Any, b: Any) -> Any: ...

    @abstractmethod
    def times(self, a: Any, b: Any) -> Any: ...

    @abstractmethod
    def over(self, a: Any, b: Any) -> Any: ...

    @abstractmethod
    def minus(self, a: Any) -> Any: ...

    @abstractmethod
    def size(self, a: Any) -> Any: ...

    @abstractmethod
    def root(self, a: Any) -> Any: ...

    @abstractmethod
    def exp(self, a: Any) -> Any: ...

    @abstractmethod
    def log(self, a: Any) -> Any: ...

    @abstractmethod
    def smaller(self, a: Any, b: Any) -> Any: ...

    @abstractmethod
    def larger(self, a: Any, b: Any) -> Any: ...

    def log1p(self, a: Any) -> Any:
        return self.log(self.plus(self.rational(Fraction(1)), a))
