"""Targets of drawn data."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from deqcheck.fields import flag, integer, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Target
from deqcheck.seeds import rng


@dataclass(frozen=True)
class GaussianTarget(Target):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    outputs: int = integer(at_least=1, default=1, doc="outputs for each sample")
    scale: float = number(above=0, default=1.0, doc="standard deviation of an entry")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        shape = (self.outputs, inputs.shape[1])
        return self.scale * rng(seed, "target.gaussian").standard_normal(shape)


@dataclass(frozen=True)
class Labels(Target):
    """One of two labels for each sample: by a fair coin, or by the side of a random hyperplane."""

    kind: ClassVar[str] = "labels"
    low: float = number(default=0.0, doc="the first label")
    high: float = number(default=1.0, doc="the second label")
    separable: bool = flag(default=False, doc="by the side of a hyperplane through 0")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        if self.separable:
            normal = rng(seed, "target.hyperplane").normal(size=len(inputs))
            upper = normal @ inputs > 0
        else:
            upper = rng(seed, "target.labels").random(inputs.shape[1]) < 0.5
        return np.where(upper, self.high, self.low)[None]


@dataclass(frozen=True)
class NegatedInput(Target):
    """Y = -X plus normal noise."""

    kind: ClassVar[str] = "negated-input"
    noise: float = number(at_least=0, default=0.0, doc="standard deviation of the noise")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        noise = rng(seed, "target.noise").standard_normal(inputs.shape)
        targets: np.ndarray = self.noise * noise - inputs
        return targets


@dataclass(frozen=True)
class Teacher(Target):
    """Y = T X plus normal noise, where T has normal entries over the root of the dimension."""

    kind: ClassVar[str] = "teacher"
    outputs: int = integer(at_least=1, default=1, doc="outputs for each sample")
    scale: float = number(above=0, default=1.0, doc="standard deviation of sqrt(dim) T")
    noise: float = number(at_least=0, default=0.0, doc="standard deviation of the noise")

    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        dim, n = inputs.shape
        teacher = rng(seed, "target.teacher").standard_normal((self.outputs, dim)) / np.sqrt(dim)
        noise = rng(seed, "target.noise").standard_normal((self.outputs, n))
        targets: np.ndarray = self.scale * (teacher @ inputs) + self.noise * noise
        return targets
