"""Lemmas 3.2.1 to 3.2.3 and Proposition 4: derivatives with Kronecker and commutation matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg.kron import vec
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.monotone_deq import oracle
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim, Decision
from deqcheck.records.measured import EPS
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import WORDS, MonotoneStatement, cite
from deqcheck.theorems.hieu2022.draws import direction, only, same, slope
from deqcheck.theorems.hieu2022.setting import Problem, State


class Derivative(MonotoneStatement):
    """Explicit derivatives against central differences, away from kinks."""

    dynamics = (STATIC,)

    smooth = Check("away from kinks", "kink_margin > 0", "setting")
    small = Check("small enough for dense Jacobians", "entries <= 4000000", "setting")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s = p.start
        yield self.smooth(kink_margin=s.equilibrium.kink_margin)
        yield self.fits(s)

    def fits(self, state: State) -> Claim:
        return self.small(entries=state.n * state.N * state.n * max(state.n, len(state.X)))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.fits(state).judge().decision is Decision.HOLDS:
            yield from self.dense_claims(p, state)

    def dense_claims(self, p: Problem, state: State) -> Iterable[Claim]:
        way = direction(p, f"{self.id}.way")
        for name in ("A", "B", "U"):
            yield self.compared(p, state, name, only(way, name))

    def compared(self, p: Problem, state: State, name: str, way: Params) -> Claim:
        raise NotImplementedError


class MapDerivative(Derivative):
    """g = Z - relu(W Z + U X) at fixed Z has d vec g/d vec A = -D (Z^T kron I_n) P_A and
    d vec g/d vec B = -D (Z^T kron I_n) P_B with P_A = -(I + K)(I_n kron A^T), P_B = I - K and the
    commutation matrix K. In U it is -D (X^T kron I_n).
    """

    id = "hieu2022/lem3.2.1"
    title = "Derivative of the equilibrium equation in A, B and U"
    cite = cite("Lemma 3.2.1", "(C.0.1)")
    soundness = "typo"
    erratum = "The identity in P_A and P_B is I_{n^2}, not I_n."

    for_symmetric = Check("derivative in A", "left == right", "Lemma 3.2.1")
    for_skew = Check("derivative in B", "left == right", "Lemma 3.2.1")
    for_inputs = Check("derivative in U", "left == right", "Lemma 3.2.1")

    def compared(self, p: Problem, state: State, name: str, way: Params) -> Claim:
        Z = state.Z

        def g(other: Any) -> tuple[np.ndarray, float]:
            H = other.W @ Z + other.C
            size = np.linalg.norm(other.W) * np.linalg.norm(Z) + np.linalg.norm(other.C)
            noise = other.W_radius * np.linalg.norm(Z) + other.C_radius + 4 * EPS * size
            return vec(Z - relu(H)), float(noise)

        exact = oracle.map_jacobians(state)[name] @ vec(way[name])
        noise = 16 * EPS * state.n * _size(state, way[name]) + state.equilibrium.error
        return same(p, getattr(self, f"for_{WORDS[name]}"), slope(p, way, g), (exact, noise))


class StateDerivative(Derivative):
    """The equilibrium has d vec Z/d vec P = -Q^-1 d vec g/d vec P with Q = I - D (I_N kron W):
    Q^-1 D (Z^T kron I_n) P_A in A, Q^-1 D (Z^T kron I_n) P_B in B, Q^-1 D (X^T kron I_n) in U.
    """

    id = "hieu2022/lem3.2.2"
    title = "Derivative of the equilibrium in A, B and U"
    cite = cite("Lemma 3.2.2", "(C.0.2)")
    soundness = "typo"
    erratum = (
        "The lemma is right; its copy in the appendix (C.0.2), written for rows in place of "
        "columns, has every sign reversed."
    )

    for_symmetric = Check("derivative in A", "left == right", "Lemma 3.2.2")
    for_skew = Check("derivative in B", "left == right", "Lemma 3.2.2")
    for_inputs = Check("derivative in U", "left == right", "Lemma 3.2.2")

    def compared(self, p: Problem, state: State, name: str, way: Params) -> Claim:
        measured = slope(p, way, lambda s: (vec(s.Z), s.equilibrium.error))
        exact = oracle.state_jacobians(state)[name] @ vec(way[name])
        return same(
            p, getattr(self, f"for_{WORDS[name]}"), measured, (exact, _noise(state, way[name]))
        )


class LossDerivative(Derivative):
    """dL/d vec P = r^T (I_N kron u^T) Q^-1 D (...) for P = A, B, U and dL/du = (Z r)^T, where
    r = yhat - y. As printed the first factor is u^T kron I_N, which has the same shape.
    """

    id = "hieu2022/lem3.2.3"
    title = "Gradient of the loss in explicit form"
    cite = cite("Lemma 3.2.3", "(C.0.3)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "yhat = (I_N kron u^T) vec Z; the printed u^T kron I_N is the same matrix only if n = 1 "
        "or N = 1, and elsewhere the gradient is wrong by 0.17 to 1.8 of its size."
    )

    for_symmetric = Check("gradient in A", "left == right", "Lemma 3.2.3")
    for_skew = Check("gradient in B", "left == right", "Lemma 3.2.3")
    for_inputs = Check("gradient in U", "left == right", "Lemma 3.2.3")
    for_outputs = Check("gradient in u", "left == right", "Lemma 3.2.3")

    def dense_claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from super().dense_claims(p, state)
        yield self.compared(p, state, "u", only(direction(p, f"{self.id}.way"), "u"))

    def compared(self, p: Problem, state: State, name: str, way: Params) -> Claim:
        measured = slope(p, way, lambda s: (np.array([s.loss.value]), s.loss.error))
        if name == "u":
            exact = np.array([float(state.Z @ state.r @ way["u"])])
        else:
            jacobian = oracle.jacobians(state, self.printed)[name]
            exact = np.array([float(state.r @ (jacobian @ vec(way[name])))])
        u, r = float(np.linalg.norm(state.u)), float(np.linalg.norm(state.r))
        z = float(np.linalg.norm(state.Z)) * float(np.linalg.norm(way[name]))
        if name == "u":
            off = 2 * (r * state.equilibrium.error + z * state.r_radius)
        else:
            off = state.r_radius * u * _size(state, way[name]) / state.m
        off += r * u * _noise(state, way[name]) + 16 * EPS * state.n * r * z
        return same(p, getattr(self, f"for_{WORDS[name]}"), measured, (exact, off))


class KernelDynamics(Derivative):
    """Along the flow dyhat/dt = -K r with K = J_A J_A^T + J_B J_B^T + J_U J_U^T + Z^T Z, where
    J_P = d yhat/d vec P. As printed, J_A is that of Lemma 3.2.3 with its Kronecker factors in the
    wrong order (and the products are J_A^T J_A, of shape n^2 x n^2, which cannot be meant).
    """

    id = "hieu2022/prop4"
    title = "Dynamics of the predictions and the tangent kernel"
    cite = cite("Proposition 4")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "J_A is N x n^2, so the kernel needs J_A J_A^T (likewise B and U), with the Kronecker "
        "factors of Lemma 3.2.3 in the right order; in the printed order dyhat/dt is missed by "
        "1.17 of its size on a random instance."
    )

    dynamics_of_yhat = Check("predictions follow the kernel", "left == right", "Proposition 4")
    by_products = Check("kernel by Hadamard products", "left == right", "Proposition 4")

    def dense_claims(self, p: Problem, state: State) -> Iterable[Claim]:
        parts = oracle.kernel_parts(state, self.printed)
        K = np.sum(list(parts.values()), axis=0)
        down = {name: -g for name, g in state.gradient.items()}
        measured = slope(p, down, lambda s: (s.r, s.r_radius))
        jacobian = np.sqrt(max(float(np.trace(state.kernel.K)), 0.0))
        off = sum(state.kernel.radii.values()) * float(np.linalg.norm(state.r))
        off += jacobian * (jacobian * state.r_radius + sum(state.gradient_radii().values()))
        yield same(p, self.dynamics_of_yhat, measured, (-K @ state.r, 2 * off))
        if not self.printed:
            radius = sum(state.kernel.radii.values())
            yield same(p, self.by_products, (K, radius), (state.kernel.K, radius))


def _size(state: State, way: np.ndarray) -> float:
    parts = float(np.linalg.norm(state.A)) * 2 + 2
    data = float(np.linalg.norm(state.Z) + np.linalg.norm(state.X))
    return parts * data * float(np.linalg.norm(way))


def _noise(state: State, way: np.ndarray) -> float:
    """Radius of an explicit derivative of Z: |Q^-1 D| <= 1/m, rounded and at a state in error."""
    size = _size(state, way)
    lipschitz = float(state.lipschitz.value)
    relative = 16 * EPS * state.n * (1 + lipschitz) / state.m
    moved = state.equilibrium.error * (2 * float(np.linalg.norm(state.A)) + 2)
    return (size * relative + moved * float(np.linalg.norm(way))) / state.m
