"""Contraction in weighted largest-entry norms: the one-sided measure mu of W is below 1."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.perron import metzler, positive_solution, quotients
from deqcheck.models.equilibrium import distance
from deqcheck.models.equilibrium.splitting import damped_path
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, between, given
from deqcheck.theorems.base import Check
from deqcheck.theorems.elghaoui2021.perron import entrywise
from deqcheck.theorems.trained import Distance, Problem, State, Trained, Unique, unread

PAPER = "Jafarpour et al. 2021"
STEPS = 20


def measure_of(p: Problem) -> Measured:
    return p.start.weights.mu


class NonEuclidean(Unique):
    """If max_i (M eta)_i/eta_i < 1 for some eta > 0, M_ii = W_ii and M_ij = |W_ij|, z = s(W z + c)
    has exactly one solution for every c: in the row with the largest |d_i|/eta_i of a difference d
    the slope identity has no other. Some eta exists if and only if the spectral abscissa mu of M is
    below 1. Not for |slopes| <= 1: W = -2, c = 1 and s = |.| have z = 1 and z = 1/3."""

    id = "jafarpour2021/unique"
    title = "One equilibrium where I - M is an M-matrix"
    cite = unread(PAPER, "well-posedness")

    abscissa = Check("spectral abscissa of M", "mu < 1", "mu_inf < 1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.abscissa(mu=measure_of(p))


class Error(Distance):
    """|z - z*| <= (I - M)^-1 h entry by entry with h_i = max(1, 1 - W_ii) |r_i| and the residual
    r = z - s(W z + c)."""

    id = "jafarpour2021/error"
    title = "Distance from the equilibrium, entry by entry, by M"
    cite = unread(PAPER, "residual form")
    uses = ("jafarpour2021/unique",)

    abscissa = Check("spectral abscissa of M", "mu < 1", "mu_inf < 1")
    entry = Check("entry with the tightest bound", "distance <= bound", "((I - M)^-1 h)_i")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.abscissa(mu=measure_of(p))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        z = p.model.z
        bounds = [distance.by_metzler(state.weights, r) for r in state.residuals(z)]
        yield from entrywise(self.entry, state, z, bounds)


class Damped(Trained):
    """z <- (1 - a) z + a s(W z + c) with 0 < a <= 1/(1 - min_i min(W_ii, 0)) contracts by
    1 - a (1 - max(mu, 0)) in max_i |z_i|/eta_i, mu = max_i (M eta)_i/eta_i: the diagonal of
    (1 - a) I + a Th W is not negative. Judged for eta = (I - M)^-1 1 and the largest a."""

    id = "jafarpour2021/damped"
    title = "Damped iteration converges in a weighted largest-entry norm"
    cite = unread(PAPER, "average iteration")
    uses = ("jafarpour2021/unique",)

    abscissa = Check("spectral abscissa of M", "mu < 1", "mu_inf < 1")
    factor = Check(
        "factor of a step", "1 - a*(1 - max(mu_eta, 0)) < 1", "0 < a <= 1/(1 - min W_ii)"
    )
    path = Check(
        "distance from the equilibrium, by the factor half way to 1",
        "distance <= (1 - a*(1 - max(mu_eta, 0))/2)^k*distance_0",
        "1 - a (1 - max(mu, 0))",
        starts_equal=True,
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.abscissa(mu=measure_of(p))

    def claims(self, p: Problem, state: State) -> Iterable[Claim | Curve]:
        M = metzler(state.W)
        eta = positive_solution(M, np.ones(state.n))
        if eta is None:
            return
        mu = between(*quotients(M, eta)[1:] * 2)
        a = damping(state.W)
        yield self.factor(a=given(a), mu_eta=mu)
        if state.N:
            k, distances = damped_path(state, eta, a, STEPS)
            known = {"a": given(a), "mu_eta": mu, "distance_0": distances[0]}
            yield self.path.sampled(k, k.astype(float), distance=distances, **known)


def damping(W: np.ndarray) -> float:
    """The largest admissible step, rounded down."""
    return float(np.nextafter(1 / (1 - min(float(np.diag(W).min()), 0.0)), 0.0))
