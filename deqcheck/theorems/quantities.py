"""Numbers that a paper defines at a state, such as the constants of its conditions.

A paper's folder may hold a module `quantities` with subclasses of PaperQuantities; so may a file of
the user's. Reports list them after those that the model itself measures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

from deqcheck import registry
from deqcheck.models.problem import State
from deqcheck.records.measured import Measured

S = TypeVar("S", bound=State)
K = TypeVar("K")
V = TypeVar("V")


class PaperQuantities(ABC, Generic[S]):
    models: ClassVar[tuple[str, ...]]

    @abstractmethod
    def of(self, state: S) -> Mapping[str, Measured]:
        """By name, as reports list them."""


def of_papers(model: str, state: State) -> dict[str, Measured]:
    """What all papers define at a state of this kind of model."""
    found: dict[str, Measured] = {}
    for cls in registry.in_papers(PaperQuantities, "quantities"):  # type: ignore[type-abstract]
        if model in cls.models:
            found |= cls().of(state)
    return found


def once(function: Callable[[K], V]) -> Callable[[K], V]:
    """The value is computed once for each state or model, and kept as long as that lives."""
    known: WeakKeyDictionary[K, V] = WeakKeyDictionary()

    def found(of: K) -> V:
        if of not in known:
            known[of] = function(of)
        return known[of]

    return found
