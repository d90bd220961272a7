"""Data from an .npz file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from deqcheck.fields import FilePath, file
from deqcheck.given import Given, from_npz


@dataclass(frozen=True)
class NpzData:
    """The model's own arrays, under their own names, from an .npz file."""

    kind: ClassVar[str] = "npz"
    path: FilePath = file(doc="an .npz file, relative to the case")

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        return from_npz(self.path, model.data_arrays, model.data_arrays)
