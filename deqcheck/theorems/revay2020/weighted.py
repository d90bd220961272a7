"""A diagonal weighting: 2 Lambda - Lambda W - W^T Lambda > 0."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.equilibrium import distance, lipschitz
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.trained import Distance, Problem, State, Trained, Unique, unread
from deqcheck.theorems.winston2020.monotone import by_bounds

PAPER = "Revay, Wang and Manchester 2020"


class Weighted(Unique):
    """If 2 Lambda - Lambda W - W^T Lambda > 0 for some diagonal Lambda > 0, z = s(W z + c) has
    exactly one solution for every c: I - W is strongly monotone in the inner product of Lambda, in
    which s is still a proximal operator. Lambda is sought (trace n), and shown by one
    factorisation; where there is none, a positive semidefinite Z with diag((I - W) Z) <= 0 shows
    it."""

    id = "revay2020/lmi"
    title = "One equilibrium where a diagonal weighting makes I - W monotone"
    cite = unread(PAPER, "well-posedness")

    lowest = Check("lambda_min(Lambda F + F^T Lambda), best Lambda of trace n", "t > 0", "LMI")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        found = p.start.weights.diagonal
        yield self.lowest(found.how, t=found.value)


class Error(Distance):
    """The bounds of winston2020/error in the norm |Lambda^1/2 z|, over the smallest entry of
    Lambda^1/2."""

    id = "revay2020/error"
    title = "Distance from the equilibrium in a weighted norm"
    cite = unread(PAPER, "residual form")
    uses = ("revay2020/lmi", "winston2020/error")

    lowest = Check("lambda_min(Lambda F + F^T Lambda), best Lambda of trace n", "t > 0", "LMI")
    length = Check("Euclidean distance", "distance <= bound", "weighted, over min Lambda^1/2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        found = p.start.weights.diagonal
        yield self.lowest(found.how, t=found.value)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from by_bounds(self.length, state, p.model.z, distance.by_diagonal)


class Lipschitz(Trained):
    """If Lambda F + F^T Lambda >= (C^T C + Lambda U U^T Lambda)/g with F = I - W and a diagonal
    Lambda > 0, the outputs C z + c0 move by at most g |dx|: dz^T Lambda (dv - dz) >= 0 for the
    slopes of s, and 2 a b <= a^2/g + g b^2. Judged for the best multiple of the Lambda of
    revay2020/lmi, over all patterns (up to 12 units, without D) and on a unit step along the
    steepest direction of the first sample."""

    id = "revay2020/lipschitz"
    title = "A Lipschitz constant of the outputs"
    cite = unread(PAPER, "Lipschitz bound")
    uses = ("revay2020/lmi",)

    lowest = Check("lambda_min(Lambda F + F^T Lambda), best Lambda of trace n", "t > 0", "LMI")
    patterns = Check("no pattern has a larger gain", "gain <= g", "C (I - D W)^-1 D U")
    moved = Check("outputs along the steepest input", "moved <= g*step", "|dy| <= g |dx|")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        found = p.start.weights.diagonal
        yield self.lowest(found.how, t=found.value)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w = state.weights
        if not w.diagonal.feasible:
            return
        g = lipschitz.by_diagonal(state, state.C, w.diagonal.weights)
        gain = None if p.model.D.any() else lipschitz.over_patterns(state)
        if gain is not None:
            yield self.patterns(gain=gain, g=g)
        if state.N:
            yield self.moved(**moved(state), g=g)


def moved(state: State) -> dict[str, Measured]:
    """|dy| (without D) of the first sample for a small step along its steepest direction."""
    J = state.C @ lipschitz.jacobian(state, 0)
    way = np.linalg.svd(J)[2][0]
    X = state.model.X[:, :1]
    there = state.at_inputs(np.column_stack([X[:, 0], X[:, 0] + way]))
    apart = there.C @ (there.Z[:, 1] - there.Z[:, 0])
    radius = float(there.read_out.high) * 2 * there.equilibrium.error
    radius += errors.rounding(state.n, errors.length(there.C) * errors.length(there.Z))
    step = errors.frobenius(there.model.X[:, 1] - there.model.X[:, 0])
    return {"moved": errors.frobenius(apart, radius), "step": step}
