"""The Perron-Frobenius condition: the spectral radius of |W| is below 1."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.equilibrium import distance
from deqcheck.models.equilibrium.lipschitz import box_of_absolute, box_of_metzler
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.trained import Distance, Problem, State, Trained, Unique, unread

PAPER = "El Ghaoui et al. 2021"
# Inputs that are moved, one by one.
INPUTS = 8


class PerronFrobenius(Unique):
    """If the spectral radius of |W| is below 1, z = s(W z + c) has exactly one solution for every
    c: |z - z'| <= |W| |z - z'| for two of them, iterated. It is so if and only if ||V^-1 W V||_inf
    < 1 for some diagonal V > 0. Judged by quotients (|W| v)_i/v_i with positive v (Collatz,
    Wielandt)."""

    id = "elghaoui2021/pf"
    title = "One equilibrium where the spectral radius of |W| is below 1"
    cite = unread(PAPER, "well-posedness")

    radius = Check("spectral radius of |W|", "rho < 1", "Perron-Frobenius")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.radius(rho=p.start.weights.rho)


class Error(Distance):
    """|z - z*| <= (I - |W|)^-1 |r| entry by entry, with the residual r = z - s(W z + c)."""

    id = "elghaoui2021/error"
    title = "Distance from the equilibrium, entry by entry"
    cite = unread(PAPER, "well-posedness, residual form")
    uses = ("elghaoui2021/pf",)

    radius = Check("spectral radius of |W|", "rho < 1", "Perron-Frobenius")
    entry = Check("entry with the tightest bound", "distance <= bound", "((I - |W|)^-1 |r|)_i")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.radius(rho=p.start.weights.rho)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        z = p.model.z
        bounds = [distance.by_perron(state.weights, r) for r in state.residuals(z)]
        yield from entrywise(self.entry, state, z, bounds)


def entrywise(
    check: Check, state: State, z: np.ndarray, bounds: list[np.ndarray | None]
) -> Iterable[Claim]:
    """The entry of the sample whose distance is the largest share of its bound. The computed bound
    is above the true one by no more than a few roundings of its largest entry."""
    worst: tuple[float, int, int] | None = None
    apart = np.abs(z - state.Z)
    for j, bound in enumerate(bounds):
        if bound is None:
            continue
        shares = np.where(bound > 0, apart[:, j] / np.where(bound > 0, bound, 1), apart[:, j] > 0)
        i = int(np.argmax(shares))
        if worst is None or shares[i] > worst[0]:
            worst = float(shares[i]), i, j
    if worst is None:
        return
    _, i, j = worst
    left = Measured(float(apart[i, j]), float(state.equilibrium.errors[j]))
    bound = bounds[j]
    assert bound is not None
    noise = 16 * (state.n + 4) * EPS * float(np.max(bound))
    where = f"entry {i}" if state.N == 1 else f"entry {i} of sample {j}"
    yield check(where, distance=left, bound=Measured(float(bound[i]), noise))


class Box(Trained):
    """|dz| <= (I - |W|)^-1 |U| |dx| entry by entry, and |dy| <= |C| |dz| + |D| |dx|; the same with
    the Metzler matrix M for |W|, where I - M is an M-matrix. Tried by adding 1
    to each of the first eight inputs.
    """

    id = "elghaoui2021/box"
    title = "How far a change of the input moves the outputs, entry by entry"
    cite = unread(PAPER, "robustness")
    uses = ("elghaoui2021/pf", "jafarpour2021/unique")

    stable = Check("spectral abscissa of M", "mu < 1", "I - M an M-matrix")
    absolute = Check("output with the tightest bound, |W|", "moved <= bound", "(I - |W|)^-1")
    metzler = Check("output with the tightest bound, M", "moved <= bound", "(I - M)^-1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.stable(mu=p.start.weights.mu)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        for check, box in ((self.absolute, box_of_absolute), (self.metzler, box_of_metzler)):
            found = tightest_move(state, box(state))
            if found is not None:
                yield check(found[0], moved=found[1], bound=found[2])


def tightest_move(state: State, gains: np.ndarray | None) -> tuple[str, Measured, Measured] | None:
    """The output that moves most of what it may, for inputs to which one entry of 1 is added."""
    if gains is None or not state.N:
        return None
    best: tuple[float, str, Measured, Measured] | None = None
    for k in range(min(len(state.model.X), INPUTS)):
        there = state.moved_input(k)
        apart = np.abs(there.outputs - state.outputs)
        radius = there.outputs_radius + state.outputs_radius
        for i, j in np.ndindex(apart.shape):
            bound = float(gains[i, k])
            share = apart[i, j] / bound if bound > 0 else float(apart[i, j] > radius)
            if best is None or share > best[0]:
                left = Measured(float(apart[i, j]), radius)
                right = Measured(bound, 16 * (state.n + 4) * EPS * float(gains.max()))
                best = share, f"input {k}, output {i}, sample {j}", left, right
    return None if best is None else best[1:]
