"""What the statements about trained equilibrium networks share.

Conclusion of every theorem on uniqueness: exactly one equilibrium for every input c. For ReLU this
is equivalent to positive principal minors of I - W (Samelson, Thrall and Wesler 1958), for other
slopes in [0, 1] they imply it: so the minors are what each conclusion is tried on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from deqcheck.models import problem
from deqcheck.models.equilibrium.model import EquilibriumModel
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems import base
from deqcheck.theorems.base import STATIC, Check, Cite

State: TypeAlias = EquilibriumState
Problem: TypeAlias = problem.Problem[EquilibriumModel, EquilibriumState]

UNREAD = "wording not verified"


def unread(paper: str, number: str = "") -> Cite:
    """Of a work whose text was not compared: stated is what was proved again."""
    return Cite(paper, f"{number} ({UNREAD})".strip() if number else UNREAD)


class Trained(base.Statement[EquilibriumModel, EquilibriumState]):
    models = ("equilibrium",)
    dynamics = (STATIC,)


class Unique(Trained):
    """One equilibrium for every input."""

    one = Check("det(I - D W) for patterns D of zeros and ones", "smallest_minor > 0", "uniqueness")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w = state.weights
        yield self.one(w.patterns_told, smallest_minor=w.minors.smallest)


class Distance(Trained):
    """A bound on the distance of the given point z from the equilibrium, at the sample where it is
    nearest to an equality."""


def tightest(pairs: Iterable[tuple[Measured, Measured]]) -> tuple[int, Measured, Measured]:
    """Of (distance, bound) for each sample the one with the largest quotient."""
    every = list(pairs)
    shares = [_share(float(d.value), float(b.value)) for d, b in every]
    j = int(np.argmax(shares))
    return j, *every[j]


def _share(distance: float, bound: float) -> float:
    return distance / bound if bound > 0 else float(distance > 0)


def told(j: int, samples: int) -> str:
    return "" if samples == 1 else f"sample {j}, the tightest of {samples}"
