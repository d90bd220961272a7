"""Half the sum of squared residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class HalfSquare:
    """|yhat - y|^2/2, summed over the samples."""

    kind: ClassVar[str] = "half-square"
