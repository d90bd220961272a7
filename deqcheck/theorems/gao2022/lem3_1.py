"""Lemma 3.1: the equilibrium exists, is unique and bounded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import BoundedA

SWEEPS, PAIRS = 20, 20
# Section 7 stops the forward iteration here.
TOLERANCE, CAP = 1e-2, 100


class Lemma31(BoundedA):
    """If |A| <= M and gamma0 = gamma M < 1, the equation has exactly one solution Z, the limit of
    Z^(l+1) = relu(gamma Z^l A + Phi) from Z^0 = 0, and no iterate exceeds |Phi|_F/(1 - gamma0).

    Sharper: |Z^l|_F <= |Phi|_F (1 - gamma0^l)/(1 - gamma0) and
    |Z - Z^l|_F <= |Phi|_F gamma0^l/(1 - gamma0), so the forward iteration of Section 7 (Table 1)
    takes at most 1 + ceil(log(tol/|Phi|_F)/log(gamma0)) sweeps, and exactly this number at A = a I.
    """

    id = "gao2022/lem3.1"
    title = "Well-posedness and bounded equilibria"
    cite = cite("Lemma 3.1", "(4), Table 1")

    state = Check("Z is bounded", "norm_Z <= norm_Phi/(1-gamma*M)", "Lemma 3.1")
    iterates = Check(
        f"the iterates are bounded (worst of {SWEEPS})",
        "norm_Zl <= norm_Phi*(1-(gamma*M)^l)/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    distance = Check(
        f"the iterates converge (worst of {SWEEPS})",
        "norm_Z_minus_Zl <= norm_Phi*(gamma*M)^l/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    state_equal = Check("Z at A = a I", "norm_Z == norm_Phi/(1-gamma*M)", "Lemma 3.1")
    iterates_equal = Check(
        f"the iterates at A = a I (worst of {SWEEPS})",
        "norm_Zl == norm_Phi*(1-(gamma*M)^l)/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    distance_equal = Check(
        f"their convergence at A = a I (worst of {SWEEPS})",
        "norm_Z_minus_Zl == norm_Phi*(gamma*M)^l/(1-gamma*M)",
        "Lemma 3.1, sharper",
    )
    unique = Check(
        f"the map contracts (worst of {PAIRS} random pairs)",
        "norm_T_minus_T <= gamma*M*norm_Z_minus_Z",
        "Lemma 3.1",
    )
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
        known = {
            "gamma": state.gamma,
            "M": self.M(p),
            "norm_Phi": errors.frobenius(state.Phi, state.Phi_radius),
        }
        # Z = Phi/(1 - gamma a) at A = a I, where every bound is an equality.
        equal = "M" not in self.fixed and _multiple_of_identity(state.A)
        bounds = (self.state, self.iterates, self.distance)
        equalities = (self.state_equal, self.iterates_equal, self.distance_equal)
        bounded, iterates, distance = equalities if equal else bounds
        sweeps = Iterates(state)
        yield bounded(norm_Z=errors.frobenius(state.Z, state.equilibrium.error), **known)
        # At l = 1 the first is |Phi| <= |Phi|.
        yield from worst(
            iterates(norm_Zl=norm, l=sweep, **known)
            for sweep, norm, _ in sweeps.norms()
            if sweep > 1
        )
        yield from worst(
            distance(norm_Z_minus_Zl=away, l=sweep, **known) for sweep, _, away in sweeps.norms()
        )
        yield from worst(
            self.unique(
                norm_T_minus_T=moved, norm_Z_minus_Z=apart, gamma=known["gamma"], M=known["M"]
            )
            for moved, apart in _pairs(p, state)
        )
        yield from self._forward(state, sweeps, equal, **known)

    def _forward(
        self, state: State, iterates: Iterates, equal: bool, **known: Any
    ) -> Iterable[Claim]:
        count = iterates.count()
        # Where the first sweep is below the tolerance already, there is nothing to count.
        if count is None or known["norm_Phi"].low <= TOLERANCE or not state.A.any():
            return
        yield self.forward(iterations=count, **known)
        if equal:
            yield self.forward_exact(iterations=count, **known)


def _multiple_of_identity(A: np.ndarray) -> bool:
    return bool(A[0, 0] >= 0 and np.array_equal(A, A[0, 0] * np.eye(len(A))))


class Iterates:
    """The forward iteration from 0, with the rounding of each sweep carried along."""

    def __init__(self, state: State):
        self.state = state
        self.q = float(state.gamma0.high)

    def _sweeps(self) -> Iterable[tuple[int, np.ndarray, float]]:
        s = self.state
        scale, Z = s.gamma * s.A, s.Phi
        # One sweep multiplies the error by at most q and adds its own rounding; no iterate exceeds
        # |Phi|/(1 - q).
        size = float(np.linalg.norm(s.Phi))
        total = size * (1 + float(np.linalg.norm(scale)) / (1 - self.q))
        noise = errors.product(s.m, total)
        radius = s.Phi_radius
        for sweep in range(1, CAP + 1):
            yield sweep, Z, radius
            Z = relu(Z @ scale + s.Phi)
            radius = self.q * radius + s.Phi_radius + noise

    def norms(self) -> Iterable[tuple[int, Measured, Measured]]:
        """l, |Z^l|_F and |Z - Z^l|_F, as long as the latter can be told from rounding."""
        s = self.state
        for sweep, Z, radius in self._sweeps():
            away = errors.frobenius(s.Z.T - Z, radius + s.equilibrium.error)
            if sweep > SWEEPS or (sweep > 1 and away.error > 1e-6 * away.value):
                return
            yield sweep, errors.frobenius(Z, radius), away

    def count(self) -> int | None:
        """Sweeps until |Z^(l+1) - Z^l|_F <= 1e-2, where Z^0 = 0; None if it is not certain."""
        last, radius_last = np.zeros_like(self.state.Phi), 0.0
        for sweep, Z, radius in self._sweeps():
            moved = errors.frobenius(Z - last, radius + radius_last)
            if moved.low <= TOLERANCE:
                return sweep if moved.high <= TOLERANCE else None
            last, radius_last = Z, radius
        return None


def _pairs(p: Problem, state: State) -> Iterable[tuple[Measured, Measured]]:
    stream = rng(p.seed, "gao2022/lem3.1.pairs")
    size = float(np.abs(state.Z).max(initial=0.0)) or 1.0
    scale = state.gamma * state.A
    for _ in range(PAIRS):
        one, other = size * stream.standard_normal((2, state.N, state.m))
        moved = relu(one @ scale + state.Phi) - relu(other @ scale + state.Phi)
        products = float(np.linalg.norm(scale) * (np.linalg.norm(one) + np.linalg.norm(other)))
        total = products + 2 * float(np.linalg.norm(state.Phi))
        apart = errors.frobenius(one - other)
        yield errors.frobenius(moved, errors.product(state.m, total)), apart
