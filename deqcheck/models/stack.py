"""Models of one kind and shape side by side: every array has a leading axis, a slice for each.

What a slice is given is what its model alone would give, to the last digit. Where that would take
another way than the plain one (an equilibrium that sweeps must find, a kink within reach of the
rounding, samples of which no unit sees any), the slice is not `fine`, and nothing that it says
counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg.stacked import Places
from deqcheck.models.problem import Params


class Numbers(NamedTuple):
    """As of a Measured, one for each slice."""

    value: np.ndarray
    error: np.ndarray
    how: str = ""


class StackState(ABC):
    """The models at given parameters. One number for each slice, if nothing else is said."""

    # Activation patterns; of no unit where there are no kinks.
    mask: np.ndarray
    # As of an Objective.
    gap: np.ndarray
    error: np.ndarray
    radius: np.ndarray
    fine: np.ndarray

    @property
    @abstractmethod
    def gradient(self) -> np.ndarray:
        """With all its parts in one row."""

    @property
    def features(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """As of a State."""
        return {}

    @abstractmethod
    def measure(self, name: str) -> Numbers:
        """As of a State, for the `names` of a stack; may leave fewer slices fine."""


class Stack(ABC):
    # How many slices are worth being side by side.
    most: int

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """What its states can measure."""

    @abstractmethod
    def at(self, theta: Params, near: Places) -> StackState:
        """At these parameters, looking for equilibria from these patterns."""

    @abstractmethod
    def first(self, starts: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The patterns of the first models at their initial states, and where they are known."""

    @abstractmethod
    def kept(self, kept: np.ndarray) -> Stack:
        """Some of the models."""
