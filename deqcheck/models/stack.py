"""Models of one kind and shape side by side: every array has a leading axis, a slice for each.

What a slice is given is what its model alone would give, to the last digit where it starts from
patterns, and within the error bars where it starts from the last steps. Where that would take
another way than the plain one (an equilibrium that sweeps must find, a kink within reach of the
rounding, samples of which no unit sees any), the slice is not `fine`, and nothing that it says
counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg.along import Along
from deqcheck.linalg.stacked import Places
from deqcheck.models.problem import Params
from deqcheck.records.measured import EPS, Measured


class Numbers(NamedTuple):
    """As of a Measured, one for each slice."""

    value: np.ndarray
    error: np.ndarray
    how: str = ""


class Spectral(NamedTuple):
    """Matrices of which a singular value is asked for, with at least as many rows as columns: the
    first (upper) or the last, or its square."""

    matrices: np.ndarray
    upper: bool
    squared: bool = False
    # How far they may be off, and where it is certainly 0.
    radius: np.ndarray | float = 0.0
    zero: np.ndarray | bool = False
    # Beside this number a state alone knows more.
    apart_from: float | None = None

    def kept(self, slices: np.ndarray) -> Spectral:
        radius = self.radius[slices] if isinstance(self.radius, np.ndarray) else self.radius
        zero = self.zero[slices] if isinstance(self.zero, np.ndarray) else self.zero
        return self._replace(matrices=self.matrices[slices], radius=radius, zero=zero)

    @classmethod
    def of_steps(cls, every: Sequence[Spectral], slices: slice) -> Spectral:
        """Some slices at several steps: an axis more."""

        def stacked(name: str) -> np.ndarray:
            shape = every[0].matrices.shape[:1]
            arrays = [np.broadcast_to(getattr(each, name), shape)[slices] for each in every]
            return np.stack(arrays)

        matrices = np.stack([each.matrices[slices] for each in every])
        return every[0]._replace(matrices=matrices, radius=stacked("radius"), zero=stacked("zero"))

    def told(self, value: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, ...]:
        """From the singular values with their errors: what is asked for, and where it may be told:
        what may be 0 may be exactly 0, for reasons that are looked for elsewhere."""
        error = error + self.radius
        fine = np.isfinite(value + error)
        if self.apart_from is not None:
            fine &= np.abs(value - self.apart_from) > error + 4 * EPS
        if not self.upper:
            fine &= (value > error) ^ self.zero
            value, error = (np.where(self.zero, 0.0, each) for each in (value, error))
        if self.squared:
            squares = Measured(value, error) ** 2
            value, error = np.asarray(squares.value), np.asarray(squares.error)
        return value, error, fine


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

    def spectral(self, name: str) -> Spectral | None:
        """Where `measure` would decompose matrices: what can be done for many steps at once."""
        return None

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
    def at(self, theta: Params, near: Places | Along) -> StackState:
        """At these parameters, looking for equilibria from these patterns, or from what is known of
        the last steps: then each run has a slice, and then one for its perturbed run."""

    @abstractmethod
    def first(self, starts: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The patterns of the first models at their initial states, and where they are known."""

    @abstractmethod
    def kept(self, kept: np.ndarray) -> Stack:
        """Some of the models."""
