"""The map z -> s(W z + c) contracts: one fixed point, and how far a point is from it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.equilibrium import distance
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.trained import Distance, Problem, State, Unique, tightest, told, unread


def cite(number: str):  # type: ignore[no-untyped-def]
    return unread("Banach 1922", number)


class Euclidean(Unique):
    """If ||W||_2 < 1, z = s(W z + c) has exactly one solution for every c: the right side contracts
    by ||W||_2, whatever the activation with |slopes| <= 1."""

    id = "banach/norm2"
    title = "One equilibrium where ||W||_2 < 1"
    cite = cite("contraction principle")

    contracts = Check("the map contracts in the Euclidean norm", "norm2_W < 1", "||W||_2 < 1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.contracts(norm2_W=p.start.weights.norm2)


class Largest(Unique):
    """If ||W||_inf < 1 (every row of |W| adds up to less than 1), z = s(W z + c) has exactly one
    solution for every c."""

    id = "banach/norminf"
    title = "One equilibrium where ||W||_inf < 1"
    cite = cite("contraction principle")

    contracts = Check("the map contracts in the largest entry", "norm_inf_W < 1", "||W||_inf < 1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.contracts(norm_inf_W=p.start.weights.norm_inf)


class Error(Distance):
    """Any z is within |r|/(1 - k) of the equilibrium, r = z - s(W z + c), in the norm in which the
    map contracts by k: Euclidean where ||W||_2 < 1, and the largest entry where ||W||_inf < 1."""

    id = "banach/error"
    title = "Distance from the equilibrium by the residual"
    cite = cite("a posteriori estimate")
    uses = ("banach/norm2", "banach/norminf")

    contracts = Check("the map contracts in one of the norms", "factor < 1", "k < 1")
    euclidean = Check("Euclidean distance", "distance <= bound", "|r|_2/(1 - ||W||_2)")
    largest = Check("largest entry", "distance <= bound", "|r|_inf/(1 - ||W||_inf)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        yield self.contracts(factor=min(w.norm2, w.norm_inf, key=lambda k: float(k.value)))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w, z = state.weights, p.model.z
        off, apart = state.equilibrium.errors, z - state.Z
        residuals = state.residuals(z)
        if w.norm2.high < 1:
            lengths = (errors.frobenius(apart[:, j], off[j]) for j in range(state.N))
            bounds = (distance.by_norm2(w, r) for r in residuals)
            j, left, right = tightest(zip(lengths, bounds, strict=True))
            yield self.euclidean(told(j, state.N), distance=left, bound=right)
        if w.norm_inf.high < 1:
            entries = (
                Measured(float(np.abs(apart[:, j]).max()), float(off[j])) for j in range(state.N)
            )
            bounds = (distance.by_norm_inf(w, r) for r in residuals)
            j, left, right = tightest(zip(entries, bounds, strict=True))
            yield self.largest(told(j, state.N), distance=left, bound=right)
