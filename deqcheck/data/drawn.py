"""Data drawn at random."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from deqcheck.capacity import most_entries
from deqcheck.fields import Refusal, integer, number, part
from deqcheck.frozen import dataclass
from deqcheck.given import Given
from deqcheck.kinds import Data, Target
from deqcheck.seeds import rng


@dataclass(frozen=True)
class Drawn(Data):
    """Inputs drawn at random, and targets made from them."""

    n: int = integer(at_least=1, doc="how many samples")
    dim: int = integer(at_least=1, doc="dimension of a sample")
    target: Any = part(Target, doc="what the model is to fit")

    def check(self) -> Iterable[tuple[str, str]]:
        rows = max(self.dim, getattr(self.target, "outputs", 1))
        if rows * self.n > most_entries():
            yield "n", f"{rows} x {self.n} numbers are too many; expected at most {most_entries()}"

    @abstractmethod
    def inputs(self, seed: int) -> np.ndarray:
        """The samples as columns, dim x n, from the stream `data.inputs`."""

    def samples(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (dim x n) and targets (outputs x n)."""
        inputs = self.inputs(seed)
        return inputs, self.target.targets(inputs, seed)

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        try:
            arrays = model.from_samples(*self.samples(seed))
        except ValueError as error:
            raise Refusal("target", str(error)) from None
        return {name: Given(array, "", name) for name, array in arrays.items()}


@dataclass(frozen=True)
class GaussianData(Drawn):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    scale: float = number(above=0, default=1.0, doc="standard deviation of an entry")

    def inputs(self, seed: int) -> np.ndarray:
        return self.scale * rng(seed, "data.inputs").standard_normal((self.dim, self.n))


@dataclass(frozen=True)
class SphereData(Drawn):
    """Samples uniform on a sphere around the origin."""

    kind: ClassVar[str] = "sphere"
    radius: float = number(above=0, default=1.0, doc="Euclidean norm of every sample")

    def inputs(self, seed: int) -> np.ndarray:
        normal = rng(seed, "data.inputs").standard_normal((self.dim, self.n))
        directions: np.ndarray = normal / np.linalg.norm(normal, axis=0)
        return self.radius * directions


@dataclass(frozen=True)
class UniformData(Drawn):
    """Independent entries, uniform on an interval."""

    kind: ClassVar[str] = "uniform"
    low: float = number(default=-1.0, doc="lower end of the interval")
    high: float = number(default=1.0, doc="upper end of the interval")

    def check(self) -> Iterable[tuple[str, str]]:
        yield from super().check()
        if self.low >= self.high:
            yield "low", f"{self.low:g} is out of range; expected a number < high = {self.high:g}"

    def inputs(self, seed: int) -> np.ndarray:
        # Not rng.uniform(low, high): it raises where high - low overflows.
        share = rng(seed, "data.inputs").random((self.dim, self.n))
        return self.low * (1 - share) + self.high * share
