"""Initial parameters written in the case itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import array, inline, number
from deqcheck.given import Given, from_values


@dataclass(frozen=True, eq=False)
class ValuesInit:
    """The parameters, under their own names, as lists of numbers."""

    kind: ClassVar[str] = "values"
    scale: float = number(default=1.0, doc="factor on every parameter")
    numbers: Mapping[str, np.ndarray] = inline(array(), doc="each parameter by its name")

    def given(self, wanted: Iterable[str], known: Collection[str]) -> dict[str, Given]:
        found = from_values(self.numbers, wanted, known)
        return {name: each.scaled(self.scale) for name, each in found.items()}
