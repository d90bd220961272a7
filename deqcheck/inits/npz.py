"""Initial parameters from an .npz file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

from deqcheck.fields import FilePath, file, number
from deqcheck.given import Given, from_npz


@dataclass(frozen=True)
class NpzInit:
    """The parameters, under their own names, from an .npz file."""

    kind: ClassVar[str] = "npz"
    path: FilePath = file(doc="an .npz file, relative to the case")
    scale: float = number(default=1.0, doc="factor on every parameter")

    def given(self, wanted: Iterable[str], known: Collection[str]) -> dict[str, Given]:
        found = from_npz(self.path, wanted, known)
        return {name: each.scaled(self.scale) for name, each in found.items()}
