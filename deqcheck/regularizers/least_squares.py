"""A least-squares form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.fields import array
from deqcheck.regularizers.base import Quadratic, QuadraticKind, fit_length


@dataclass(frozen=True, eq=False)
class LeastSquares(QuadraticKind):
    """|A z - c|^2/2."""

    kind: ClassVar[str] = "least-squares"
    A: np.ndarray = array(doc="matrix with as many columns as the state has entries")
    c: np.ndarray = array(doc="one number for each row of A")

    def check(self) -> Iterable[tuple[str, str]]:
        if self.A.ndim != 2 or self.c.shape != self.A.shape[:1]:
            yield "c", f"has shape {self.c.shape}; expected one number for each row of A"

    def check_width(self, m: int) -> None:
        fit_length("A", self.A, 1, m)

    def on(self, m: int, Wo: np.ndarray) -> Quadratic:
        return Quadratic(self.A, self.c)
