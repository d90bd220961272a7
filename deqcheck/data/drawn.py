"""What all drawn data have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deqcheck.fields import Refusal, integer, part
from deqcheck.given import MOST_ENTRIES, Given


@dataclass(frozen=True)
class Drawn(ABC):
    """Inputs drawn at random, and targets made from them."""

    n: int = integer(at_least=1, doc="how many samples")
    dim: int = integer(at_least=1, doc="dimension of a sample")
    target: Any = part("deqcheck.targets", doc="what the model is to fit")

    def check(self) -> Iterable[tuple[str, str]]:
        rows = max(self.dim, getattr(self.target, "outputs", 1))
        if rows * self.n > MOST_ENTRIES:
            yield "n", f"{rows} x {self.n} numbers are too many; expected at most {MOST_ENTRIES}"

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
