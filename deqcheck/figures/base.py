"""The contract of every figure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.images import Shelf
from deqcheck.records.figure import Axes, Sentence, Table

# What a piece of work leaves: arrays by name, which are kept as they are.
Made = dict[str, np.ndarray]
Work = Callable[[Callable[[Progress], None]], Made]
# One of several that follow each other: it is given what the one before left, the first nothing.
Step = Callable[[Made, Callable[[Progress], None]], Made]
Sizes = Mapping[str, Any]


@dataclass(frozen=True)
class Steps:
    """A piece of work that takes so long that what is done of it is kept; the last leaves all."""

    each: tuple[Step, ...]


@dataclass(frozen=True)
class Setup:
    """At which size, in which variant and on which images a figure is made."""

    sizes: Sizes
    variant: str
    shelf: Shelf = field(default_factory=Shelf)

    def __getitem__(self, name: str) -> Any:
        return self.sizes[name]


class Figure(ABC):
    """The docstring tells what is seen, and what the paper does not state and is chosen here."""

    id: ClassVar[str]
    number: ClassVar[str]
    title: ClassVar[str]
    # The sizes of the quick picture, and those of the paper.
    quick: ClassVar[Sizes]
    full: ClassVar[Sizes]
    # Where the paper's text and its authors' public code differ, each by a word; the first is made
    # unless another one is asked for.
    variants: ClassVar[Mapping[str, str]] = {}
    # The sets of images that it is about.
    images: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[int] = 3

    def used(self, s: Setup) -> tuple[str, ...]:
        """The sets that it takes at this size."""
        return self.images

    @abstractmethod
    def parts(self, s: Setup) -> Mapping[str, Work | Steps]:
        """Pieces of work by name; each is kept on its own, so that an interrupted run goes on."""

    def cost(self, s: Setup, part: str) -> float:
        """Of a part, relative to the others: how long the rest will take is told from it."""
        return 1.0

    @abstractmethod
    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]: ...

    @abstractmethod
    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        """What the paper says of it, judged."""

    def tables(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Table]:
        return ()

    def notes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[str]:
        return ()
