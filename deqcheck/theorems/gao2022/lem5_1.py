"""Lemma 5.1: nonnegative A makes the equilibrium linear in the features."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import instance
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import Pointwise, equality

PROJECTIONS = 10


class Lemma51(Pointwise):
    """If no entry of A is negative and gamma |A| < 1, then Z = Phi (I - gamma A)^-1 and, as the
    paper concludes after the lemma, alpha0 >= sigma_N(Phi)/(1 + gamma |A|).
    """

    id = "gao2022/lem5.1"
    title = "Equilibria for a nonnegative A"
    cite = cite("Lemma 5.1")
    uses = ("gao2022/lem3.1",)

    nonnegative = Check("no entry of A is negative", "smallest_A >= 0", "Lemma 5.1")
    well_posed = Check("well-posed", "gamma*norm_A < 1", "Lemma 5.1")
    linear = Check(
        f"Z = Phi (I - gamma A)^-1, projected (worst of {PROJECTIONS})", "uZv == uLv", "Lemma 5.1"
    )
    regular = Check("alpha0 from Phi", "alpha0 >= sigma_N_Phi/(1+gamma*norm_A)", "Lemma 5.1")
    regular_equal = equality(regular)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.nonnegative(smallest_A=instance(p.start.A).smallest())
        yield self.well_posed(gamma=given(p.model.gamma), norm_A=p.start.norm_A)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from worst(self._projections(p, state))
        # At A = 0 the equilibrium is Phi.
        yield (self.regular if state.A.any() else self.regular_equal)(
            alpha0=state.sigma_min_Z,
            sigma_N_Phi=state.sigma_min_Phi,
            gamma=given(state.gamma),
            norm_A=state.norm_A,
        )

    def _projections(self, p: Problem, state: State) -> Iterable[Claim]:
        """u^T Z v with positive u, v, so that nothing cancels in either side."""
        stream = rng(p.seed, "gao2022/lem5.1.projections")
        resolvent = np.eye(state.m) - state.gamma * state.A
        linear = np.linalg.solve(resolvent.T, state.Phi.T)
        weights, Phi = state.exact_weights()
        node = Again(exact.solution, exact.minus(exact.array(np.eye(state.m)), weights), Phi)
        size = euclidean(linear)
        # cond(I - gamma A) <= (1 + gamma0)/(1 - gamma0).
        condition = (1 + state.gamma0.high) / (1 - state.gamma0.high)
        radius = float(condition) * 8 * EPS * state.m * size
        radius += state.Phi_radius / (1 - float(state.gamma0.high))
        for _ in range(PROJECTIONS):
            u, v = np.abs(stream.standard_normal(state.N)), np.abs(stream.standard_normal(state.m))
            weight = euclidean(u) * euclidean(v)
            noise = 8 * EPS * (state.N + state.m) * size
            form = exact.array(np.outer(v, u))
            error = weight * (state.equilibrium.error + noise)
            yield self.linear(
                uZv=Measured(float(v @ state.Z @ u), error, again=exact.inner(form, state.again.Z)),
                uLv=Measured(
                    float(v @ linear @ u), weight * (radius + noise), again=exact.inner(form, node)
                ),
            )
