"""What all drawn initialisations have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable

import numpy as np

from deqcheck.given import Given


class Drawn(ABC):
    """Makes each parameter by itself, once its shape is known."""

    def given(self, wanted: Iterable[str], known: Collection[str]) -> dict[str, Given]:
        return {}

    @abstractmethod
    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        """One parameter; whatever is random comes from the stream `init.<name>`."""
