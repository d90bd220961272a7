"""Data that the user brings: from an .npz file, or written in the case itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import FilePath, array, file, inline
from deqcheck.given import Given, from_npz, from_values
from deqcheck.kinds import Data


@dataclass(frozen=True)
class NpzData(Data):
    """The model's own arrays, under their own names, from an .npz file."""

    kind: ClassVar[str] = "npz"
    path: FilePath = file(doc="an .npz file, relative to the case")

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        return from_npz(self.path, model.data_arrays, model.data_arrays)


@dataclass(frozen=True, eq=False)
class ValuesData(Data):
    """The model's own arrays, under their own names, as lists of numbers."""

    kind: ClassVar[str] = "values"
    numbers: Mapping[str, np.ndarray] = inline(array(), doc="each array of the model by its name")

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        return from_values(self.numbers, model.data_arrays, model.data_arrays)
