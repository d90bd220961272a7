"""Lemma 4.1: how the predictions move, and the two inequalities that follow it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.implicit_relu import oracle
from deqcheck.models.problem import gradient_norm
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.lem3_2 import central_difference
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import Dense, OffKinks

PROJECTIONS = 5


class Lemma41(OffKinks):
    """Along the gradient flow d yhat/dt = -H r with H = Z Z^T + M M^T + Pi Pi^T, which is positive
    semi-definite. So dL/dt = -r^T H r = -|grad L|^2 <= -2 lambda_min(H) L: twice the rate of the
    remark after the lemma.
    """

    id = "gao2022/lem4.1"
    title = "The predictions follow the Gram matrix H"
    cite = cite("Lemma 4.1", "(10)-(13)")

    moves = Check(
        f"d yhat/dt = -H r, projected (worst of {PROJECTIONS})", "minus_uHr == u_dyhat", "(10)"
    )
    dense = Check("H by Hadamard products and densely", "distance_H <= noise", "(11)-(13)")
    semidefinite = Check("H is positive semi-definite", "lambda_min_H >= 0", "Lemma 4.1")
    speed = Check("the loss falls with r^T H r", "gradient^2 == rHr", "Lemma 4.1")
    remark = Check("the remark, twice as fast", "gradient^2 >= 2*lambda_min_H*loss", "Lemma 4.1")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        H, radius = state.H_with_radius
        if not state.kinks.zeros:
            yield from worst(self._projections(p, state, H, radius))
        if oracle.affordable(state):
            distance = float(np.linalg.norm(oracle.dense(state).H - H))
            condition = ((1 + state.gamma0.high) / (1 - state.gamma0.high)) ** 2
            yield self.dense(distance_H=distance, noise=radius * (1 + condition))
        yield self.semidefinite(lambda_min_H=state.lambda_min_H)
        r = state.r
        spread = 2 * float(np.linalg.norm(H)) * float(np.linalg.norm(r)) * state.r_radius
        size = float(np.linalg.norm(r)) ** 2
        error = spread + size * (radius + 8 * EPS * state.N * float(np.linalg.norm(H)))
        gradient = state.measure("gradient")
        yield self.speed(gradient=gradient, rHr=Measured(float(r @ H @ r), error))
        yield self.remark(gradient=gradient, lambda_min_H=state.lambda_min_H, loss=state.loss)

    def _projections(
        self, p: Problem, state: State, H: np.ndarray, radius: float
    ) -> Iterable[Claim]:
        stream = rng(p.seed, "gao2022/lem4.1.projections")
        Hr = H @ state.r
        size = float(np.linalg.norm(Hr))
        if not size or not gradient_norm(state.gradient):
            return
        direction = {name: -g for name, g in state.gradient.items()}
        for _ in range(PROJECTIONS):
            noise = stream.standard_normal(state.N)
            u = Hr / size + noise / np.linalg.norm(noise) / 2
            error = 2 * (radius * float(np.linalg.norm(state.r)) + 8 * EPS * state.N * size)
            error += 2 * float(np.linalg.norm(H)) * state.r_radius

            def projected(s: Any, u: np.ndarray = u) -> Measured:
                return Measured(float(u @ s.r), float(np.linalg.norm(u)) * s.r_radius)

            yield self.moves(
                minus_uHr=Measured(-float(u @ Hr), error),
                u_dyhat=central_difference(p, direction, projected),
            )


class SigmaMin(Dense):
    """Lower bounds on the N-th singular values of M and Pi of Lemma 4.1.

    Printed: with the factor 1/(1 - gamma0), as if sigma_min(Q^-1) were its largest singular value.
    Corrected: with 1/(1 + gamma0); and the sharper Schur form, which does not need every unit to be
    active: M M^T = gamma^2 (Z Z^T) o (P P^T) and Pi Pi^T = (X X^T) o ((E o P)(E o P)^T).
    D_min is 1 if every unit is active on every sample and 0 otherwise, DE_min likewise for both
    layers; gamma0 = gamma |A|.
    """

    id = "gao2022/sigma-min"
    title = "Smallest singular values of M and Pi"
    cite = cite("Section 4.1", "after Lemma 4.1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "sigma_min(Q^-1) = 1/|Q| is at least 1/(1 + gamma0), not 1/(1 - gamma0): N = d = m = 1, "
        "X = W = b = 1, A = -1, gamma = 1/2 gives M = 2/9 against 2/3 and Pi = 2/3 against 2."
    )

    printed_m = Check(
        "sigma_N(M) as printed", "sigma_M >= gamma*norm_b*D_min*sigma_Z/(1-gamma0)", "Section 4.1"
    )
    printed_pi = Check(
        "sigma_N(Pi) as printed", "sigma_Pi >= norm_b*DE_min*sigma_X/(1-gamma0)", "Section 4.1"
    )
    plain_m = Check(
        "sigma_N(M)", "sigma_M >= gamma*norm_b*D_min*sigma_Z/(1+gamma0)", "Section 4.1, corrected"
    )
    plain_pi = Check(
        "sigma_N(Pi)", "sigma_Pi >= norm_b*DE_min*sigma_X/(1+gamma0)", "Section 4.1, corrected"
    )
    schur_m = Check("sigma_N(M), Schur", "sigma_M >= gamma*p_min*sigma_Z", "Schur product")
    schur_p = Check("the shortest p_i", "p_min >= Db_min/(1+gamma0)", "p = D b + gamma D A p")
    schur_pi = Check("sigma_N(Pi), Schur", "sigma_Pi >= Ep_min*sigma_X", "Schur product")
    schur_m_equal = Check(
        "sigma_N(M), every unit active", "sigma_M == gamma*p_min*sigma_Z", "Schur product"
    )
    schur_pi_equal = Check(
        "sigma_N(Pi), every unit active", "sigma_Pi == Ep_min*sigma_X", "Schur product"
    )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not oracle.affordable(state):
            return
        active = state.equilibrium.mask.T
        known = {
            **self._sigmas(state),
            "gamma": state.gamma,
            "gamma0": state.gamma0,
            "norm_b": errors.frobenius(state.b),
            "D_min": float(active.all()),
            "DE_min": float((active & state.on).all()),
            "sigma_Z": state.sigma_min_Z,
            "sigma_X": errors.nth_singular_value(state.X, state.N),
            "p_min": _shortest(state.P, state.V_radius),
            "Ep_min": _shortest(state.on * state.P, state.EP_radius),
            "Db_min": _shortest(active * state.b, 0.0),
        }
        for check in self._asked(bool(known["D_min"]), bool(known["DE_min"])):
            yield check(**known)

    def _asked(self, all_active: bool, both_active: bool) -> tuple[Check, ...]:
        """Where every unit is active, all p_i are the same, and Schur's bounds are equalities."""
        if self.printed:
            return self.printed_m, self.printed_pi
        schur_m = self.schur_m_equal if all_active else self.schur_m
        schur_pi = self.schur_pi_equal if both_active else self.schur_pi
        return self.plain_m, self.plain_pi, schur_m, self.schur_p, schur_pi

    def _sigmas(self, state: State) -> dict[str, Measured]:
        """M and Pi are exact linear images of P, Z and X, in the order of Khatri-Rao products."""
        P, Z, N, dP = state.P, state.Z.T, state.N, state.V_radius
        M = state.gamma * np.einsum("ij,ik->ijk", Z, P).reshape(N, -1)
        Pi = np.einsum("ij,ik->ijk", state.X, state.on * P).reshape(N, -1)
        longest_P, longest_Z, longest_X = (_longest(a) for a in (P, Z, state.X))
        dZ = state.equilibrium.error
        dM = state.gamma * (longest_Z * dP + longest_P * dZ + dP * dZ) + 4 * EPS * _size(M)
        dPi = longest_X * state.EP_radius + 4 * EPS * _size(Pi)
        return {
            "sigma_M": errors.nth_singular_value(M, N, dM),
            "sigma_Pi": errors.nth_singular_value(Pi, N, dPi),
        }


def _size(a: np.ndarray) -> float:
    return float(np.linalg.norm(a))


def _longest(a: np.ndarray) -> float:
    return float(np.linalg.norm(a, axis=1).max())


def _shortest(a: np.ndarray, radius: float) -> Measured:
    shortest = float(np.linalg.norm(a, axis=1).min())
    return Measured(shortest, radius + errors.product(a.shape[1], shortest))
