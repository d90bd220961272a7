"""A smooth model at many parameters at once: every array has a leading axis, a row for each.

Its gradient is cheap by itself; what is to be known of a step beside it (the gap and its error bar,
the radius of the gradient, quantities) can wait until there are many steps to be looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deqcheck.models.problem import Params


class Numbers(NamedTuple):
    """As of a Measured, one for each row."""

    value: np.ndarray
    error: np.ndarray


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
        """Whether no number that was asked for is so large or small that a state alone would take
        another way."""

    @abstractmethod
    def measure(self, name: str) -> Numbers:
        """One of the `names`."""

    @abstractmethod
    def some(self, rows: np.ndarray) -> Looked:
        """At these rows only."""


class Many(ABC):
    # What can be measured.
    names: Sequence[str]

    @abstractmethod
    def at(self, theta: Params) -> Looked: ...
