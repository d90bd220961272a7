"""A smooth model at many parameters at once: every array has a leading axis, a row for each.

What is to be known of a step beside its gradient (the gap and its error bar, the radius of the
gradient, quantities) can wait until there are many steps to be looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.models.problem import Params, State
from deqcheck.records.measured import Measured, stack


class Looked(ABC):
    """The model at each of the rows: the formulas and radii are those of a state alone, which is
    the twin in the tests. One number for each row."""

    @property
    @abstractmethod
    def gap(self) -> np.ndarray:
        """As of an Objective."""

    @property
    @abstractmethod
    def error(self) -> np.ndarray: ...

    @property
    @abstractmethod
    def radius(self) -> np.ndarray:
        """Frobenius radius of the gradient."""

    @property
    @abstractmethod
    def fine(self) -> np.ndarray:
        """Whether no number so far is so large or small that a state alone would take another
        way."""

    @abstractmethod
    def measure(self, name: str) -> Measured:
        """As of a State, which measures by itself what is not known at many at once."""

    @property
    def features(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """As of a State."""
        return {}

    def values(self, name: str, near: Looked, rows: np.ndarray) -> np.ndarray:
        """Without their error bars, for models that have them sooner so; `near` has measured it at
        states nearby, in these rows."""
        return np.asarray(self.measure(name).value)

    @abstractmethod
    def some(self, rows: np.ndarray) -> Looked:
        """At these rows only."""


def one_by_one(states: Iterable[State], name: str) -> Measured:
    return stack([state.measure(name) for state in states])


class Many(ABC):
    @abstractmethod
    def gradient(self, theta: Params, beside: Any = None) -> tuple[Params, Any]:
        """At one row, and what it went through. Of the perturbed run, `beside` what the gradient of
        the run went through at that step, which may say where to start, never what to answer."""

    @abstractmethod
    def at(self, theta: Params, seen: Sequence[Any]) -> Looked:
        """At each row, where the gradient was computed and went through this."""
