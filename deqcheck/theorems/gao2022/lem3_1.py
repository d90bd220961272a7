"""Lemma 3.1: the equilibrium exists, is unique and bounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.implicit_relu.iterates import CAP, SWEEPS, TOLERANCE, Iterates
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import BoundedA, equality, scales_by

STARTS = 3


class Lemma31(BoundedA):
    """If |A| <= M and gamma0 = gamma M < 1, the equation has exactly one solution Z, the limit of
    Z^(l+1) = relu(gamma Z^l A + Phi) from Z^0 = 0, and no iterate exceeds |Phi|_F/(1 - gamma0),
    nor does Z. That Z is the only solution is judged by iterations from random starts, which must
    end within their own certified distance of it.

    Remarks, sharper: |Z^l|_F <= |Phi|_F (1 - gamma0^l)/(1 - gamma0) and
    |Z - Z^l|_F <= |Phi|_F gamma0^l/(1 - gamma0), so the forward iteration of Section 7 (Table 1),
    stopped in the Frobenius norm, takes at most 1 + ceil(log(tol/|Phi|_F)/log(gamma0)) sweeps, and
    exactly this number at A = a I.
    """

    id = "gao2022/lem3.1"
    title = "Well-posedness and bounded equilibria"
    cite = cite("Lemma 3.1", "(1), (2)")
    erratum = (
        "A.1 says |Z^(l+1) - Z^l|_F < gamma0 |Z^l - Z^(l-1)|_F, which is only <=. The limit of the "
        "iterates is unique because the map contracts, not because one sequence converges."
    )

    state = Check("Z is bounded", "norm_Z <= norm_Phi/(1-gamma*M)", "Lemma 3.1")
    iterates = Check(
        f"the iterates are bounded (worst of {SWEEPS})",
        "norm_Zl <= norm_Phi/(1-gamma*M)",
        "Lemma 3.1",
    )
    unique = Check(
        f"Z is the only solution (worst of {STARTS} random starts)",
        "distance_Z <= noise",
        "Lemma 3.1",
    )
    sharper = Check(
        f"the iterates grow no faster (worst of {SWEEPS})",
        "norm_Zl <= norm_Phi*(1-(gamma*M)^l)/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    distance = Check(
        f"the iterates converge (worst of {SWEEPS})",
        "norm_Z_minus_Zl <= norm_Phi*(gamma*M)^l/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    state_equal = equality(state)
    iterates_equal = equality(sharper)
    distance_equal = equality(distance)
    forward = Check(
        "forward iterations until 1e-2",
        "iterations - 2 < log(0.01/norm_Phi)/log(gamma*M)",
        "Table 1",
    )
    forward_exact = Check(
        "forward iterations at A = a I",
        "iterations - 1 >= log(0.01/norm_Phi)/log(gamma*M)",
        "Table 1",
    )

    def quantities(self, p: Problem) -> dict[str, Measured]:
        count = Iterates(p.start).count()
        return {} if count is None else {"forward_iterations": measured(float(count))}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        known, equal = self._known(p, state), self._equal(p, state)
        bounded = self.state_equal if equal else self.state
        yield bounded(norm_Z=state.measure("Z_fro"), **known)
        # Where Z reaches the bound, late iterates cannot be told from it: their exact size can.
        iterates = self.iterates_equal if equal else self.iterates
        # At l = 1 it is |Phi|.
        yield from worst(
            iterates(norm_Zl=norm, **({"l": sweep} if equal else {}), **known)
            for sweep, norm, _ in Iterates(state).norms()
            if sweep > 1
        )
        yield from worst(
            self.unique(distance_Z=distance, noise=noise) for distance, noise in _ends(p, state)
        )

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        state = p.start
        known, equal, sweeps = self._known(p, state), self._equal(p, state), Iterates(state)
        if not equal:
            yield from worst(
                self.sharper(norm_Zl=norm, l=sweep, **known)
                for sweep, norm, _ in sweeps.norms()
                if sweep > 1
            )
        distance = self.distance_equal if equal else self.distance
        yield from worst(
            distance(norm_Z_minus_Zl=away, l=sweep, **known) for sweep, _, away in sweeps.norms()
        )
        count = sweeps.count()
        # Where the first sweep is below the tolerance already, there is nothing to count.
        if count is None or known["norm_Phi"].low <= TOLERANCE or not state.A.any():
            return
        yield self.forward(iterations=count, **known)
        if equal:
            yield self.forward_exact(iterations=count, **known)

    def _known(self, p: Problem, state: State) -> dict[str, Any]:
        size = state.measure("Phi_fro")
        return {"gamma": given(state.gamma), "M": self.M(p), "norm_Phi": size}

    def _equal(self, p: Problem, state: State) -> bool:
        """Phi A = |A| Phi: then Z = Phi/(1 - gamma |A|), and every bound is an equality."""
        reach = np.where(state.XW + state.XW_reach > 0, 1.0, 0.0)
        top = float(state.norm_A.value)
        return self.M_is_norm(p) and state.norm_A.exact and scales_by(state, top, reach.T)


def _ends(p: Problem, state: State) -> Iterable[tuple[float, float]]:
    """How far the forward iterations from random starts end from Z, and how far they may: whatever
    moves by |T(Z) - Z|_F lies within this over 1 - gamma |A| of the solution."""
    stream = rng(p.seed, "gao2022/lem3.1.starts")
    size = float(np.abs(state.Z).max(initial=0.0)) or 1.0
    scale, q = state.gamma * state.A, float(state.gamma0.high)
    for _ in range(STARTS):
        Z = size * np.abs(stream.standard_normal((state.N, state.m)))
        for _ in range(CAP):
            last, Z = Z, relu(Z @ scale + state.Phi)
            # No unit is active: the iterates fall until they underflow, whose squares do before.
            moved = errors.length(Z - last)
            if moved <= EPS * errors.length(Z):
                break
        total = errors.length(scale) * errors.length(last) + errors.length(state.Phi)
        noise = errors.product(state.m, total) + state.Phi_radius
        # Z is one sweep nearer than `last`.
        radius = (q * moved + noise) / (1 - q) + noise + state.equilibrium.error
        yield errors.length(Z - state.Z.T), radius * (1 + 16 * EPS)
