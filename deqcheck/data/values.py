"""Data written in the case itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import array, inline
from deqcheck.given import Given, from_values


@dataclass(frozen=True, eq=False)
class ValuesData:
    """The model's own arrays, under their own names, as lists of numbers."""

    kind: ClassVar[str] = "values"
    numbers: Mapping[str, np.ndarray] = inline(array(), doc="each array of the model by its name")

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        return from_values(self.numbers, model.data_arrays, model.data_arrays)
