"""Half the sum of squared residuals."""

from __future__ import annotations

from typing import ClassVar

from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss


@dataclass(frozen=True)
class HalfSquare(Loss):
    """|yhat - y|^2/2, summed over the samples."""

    kind: ClassVar[str] = "half-square"
