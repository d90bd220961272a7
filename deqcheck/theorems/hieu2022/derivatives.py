"""Lemmas 3.2.1 to 3.2.3 and Proposition 4: derivatives with Kronecker and commutation matrices.

Each is compared with the derivative along a direction that one linear system for each sample
gives: the formulas are linear in the direction, and nothing is differenced.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.kron import unvec, vec
from deqcheck.linalg.matrix import Matrix
from deqcheck.models.monotone_deq import exact_oracle, oracle
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import WORDS, MonotoneStatement, cite
from deqcheck.theorems.hieu2022.draws import direction, only, same
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.tangents import (
    Slope,
    conditioning,
    exact_map,
    exact_weight,
    of_map,
    of_weight,
    size,
    solved,
)

# Entries of the largest sparse Kronecker factor.
LARGEST = 4_000_000


def entries(state: State) -> int:
    """Of Z^T kron I_n, of I_n kron A^T and of X^T kron I_n, the most."""
    n, N, d = state.n, state.N, len(state.X)
    return int(n * max(n * n, n * N, N * d))


class Derivative(MonotoneStatement):
    """Explicit derivatives, away from kinks."""

    dynamics = (STATIC,)

    smooth = Check("away from kinks", "kink_margin > 0", "setting")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.smooth(kink_margin=p.start.kink_margin)

    def unchecked(self, p: Problem) -> Iterable[str]:
        found = entries(p.start)
        if found > LARGEST:
            yield (
                f"the Kronecker products have {found} entries, the limit is {LARGEST}: "
                "a smaller width, or fewer samples"
            )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if entries(state) <= LARGEST:
            yield from self.compared(p, state)

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        raise NotImplementedError

    def ways(self, p: Problem) -> dict[str, Params]:
        """A drawn direction in each of A, B, U and u alone."""
        drawn = direction(p, f"{self.id}.way")
        return {name: only(drawn, name) for name in drawn}

    def drawn(self, p: Problem, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """A unit direction that is not one of a parameter."""
        found = rng(p.seed, f"{self.id}.{name}").standard_normal(shape)
        return found / euclidean(found)

    def agree(
        self, p: Problem, name: str, tangent: Slope, explicit: np.ndarray, again: Again | None
    ) -> Claim:
        """`again` makes the explicit form."""
        check: Check = getattr(self, f"for_{WORDS.get(name, name)}")
        found = Matrix(unvec(explicit, tangent.value.shape), tangent.noise, again)
        return same(p, check, tangent.matrix(), found, tangent.unsure)


def forced(state: State, way: Params, again: dict[str, Again] | None = None) -> Slope:
    """-dg along a direction of the parameters; `again` makes one that was computed."""
    ways = again or {name: exact.array(a) for name, a in way.items()}
    node = exact_map(state, exact_weight(state, ways), ways["U"])
    return of_map(state, of_weight(state, way), way["U"], node)


class MapDerivative(Derivative):
    """g = Z - relu(W Z + U X) has d vec g/d vec Z = I - D (I_N kron W), and at fixed Z
    d vec g/d vec A = -D (Z^T kron I_n) P_A and d vec g/d vec B = -D (Z^T kron I_n) P_B with
    P_A = -(I + K)(I_n kron A^T), P_B = I - K and the commutation matrix K. In U it is
    -D (X^T kron I_n).
    """

    id = "hieu2022/lem3.2.1"
    title = "Derivative of the equilibrium equation in Z, A, B and U"
    cite = cite("Lemma 3.2.1", "(C.0.1)")
    soundness = "typo"
    erratum = "The identity in P_A and P_B is I_{n^2}, not I_n."

    for_states = Check("derivative in Z", "left == right", "Lemma 3.2.1")
    for_symmetric = Check("derivative in A", "left == right", "Lemma 3.2.1")
    for_skew = Check("derivative in B", "left == right", "Lemma 3.2.1")
    for_inputs = Check("derivative in U", "left == right", "Lemma 3.2.1")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        dZ = self.drawn(p, "Z", state.Z.shape)
        moved = dZ - state.equilibrium.mask * (state.W @ dZ)
        noise = errors.rounding(state.n, 1 + size(state.W))
        kept = exact.product(state.again.W, exact.array(dZ))
        kept = exact.where_positive(state.again.relu.H, kept)
        tangent = Slope(moved, noise, state.W_radius, exact.minus(exact.array(dZ), kept))
        explicit = oracle.map_slope(state, "Z", vec(dZ))
        yield self.agree(p, "states", tangent, explicit, exact_oracle.map_slope(state, "Z", dZ))
        for name, way in self.ways(p).items():
            if name != "u":
                found = forced(state, way)
                node = exact.scaled(exact.MINUS_ONE, found.exact)
                down = Slope(-found.value, found.noise, found.unsure, node)
                explicit = oracle.map_slope(state, name, vec(way[name]))
                again = exact_oracle.map_slope(state, name, way[name])
                yield self.agree(p, name, down, explicit, again)


class StateDerivative(Derivative):
    """The equilibrium has d vec Z/d vec P = -Q^-1 d vec g/d vec P with Q = I - D (I_N kron W):
    Q^-1 D (Z^T kron I_n) in W, times P_A in A and times P_B in B, and Q^-1 D (X^T kron I_n) in U.
    """

    id = "hieu2022/lem3.2.2"
    title = "Derivative of the equilibrium in W, A, B and U"
    cite = cite("Lemma 3.2.2", "(C.0.2)")
    uses = ("hieu2022/thmA.0.1", "hieu2022/lem3.2.1")
    soundness = "typo"
    erratum = (
        "The lemma is right; its copy in the appendix (C.0.2), written for rows in place of "
        "columns, has every sign reversed."
    )

    for_weights = Check("derivative in W", "left == right", "Lemma 3.2.2")
    for_symmetric = Check("derivative in A", "left == right", "Lemma 3.2.2")
    for_skew = Check("derivative in B", "left == right", "Lemma 3.2.2")
    for_inputs = Check("derivative in U", "left == right", "Lemma 3.2.2")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        dW = self.drawn(p, "W", state.W.shape)
        tangent = solved(state, along_weights(state, dW))
        explicit = oracle.state_slope(state, "W", vec(dW))
        yield self.agree(p, "weights", tangent, explicit, exact_oracle.state_slope(state, "W", dW))
        for name, way in self.ways(p).items():
            if name != "u":
                tangent = solved(state, forced(state, way))
                explicit = oracle.state_slope(state, name, vec(way[name]))
                again = exact_oracle.state_slope(state, name, way[name])
                yield self.agree(p, name, tangent, explicit, again)


class LossDerivative(Derivative):
    """dL/d vec P = r^T (I_N kron u^T) Q^-1 D (...) for P = A, B, U and dL/du = (Z r)^T, where
    r = yhat - y. As printed the first factor is u^T kron I_N, which has the same shape.
    """

    id = "hieu2022/lem3.2.3"
    title = "Gradient of the loss in explicit form"
    cite = cite("Lemma 3.2.3")
    uses = ("hieu2022/lem3.2.2",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "yhat = (I_N kron u^T) vec Z; the printed u^T kron I_N is the same matrix only if n = 1 "
        "or N = 1. Elsewhere the gradient is wrong, on random instances by 0.17 of its size and "
        "up to 12 times that."
    )

    for_symmetric = Check("gradient in A", "left == right", "Lemma 3.2.3")
    for_skew = Check("gradient in B", "left == right", "Lemma 3.2.3")
    for_inputs = Check("gradient in U", "left == right", "Lemma 3.2.3")
    for_outputs = Check("gradient in u", "left == right", "Lemma 3.2.3")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        outer, r = oracle.read_out(state, self.printed), state.r
        for name, way in self.ways(p).items():
            if name == "u":
                yield self.agree(p, name, *_in_outputs(state, way["u"]))
                continue
            dZ = solved(state, forced(state, way))
            # <r, dZ^T u>: the factors of the sum over samples and units.
            scale, moved = size(r) * size(state.u), size(dZ.value)
            noise = scale * dZ.noise + errors.rounding(state.n + state.N, scale * moved)
            unsure = scale * dZ.unsure + state.r_radius * size(state.u) * moved
            value = np.array([[r @ (dZ.value.T @ state.u)]])
            tangent = Slope(value, noise, unsure, read_along(state, dZ.exact))
            explicit = r @ (outer @ oracle.state_slope(state, name, vec(way[name])))
            again = exact_oracle.loss_slope(state, name, way[name], self.printed)
            yield self.agree(p, name, tangent, np.array([explicit]), again)


def read_along(state: State, dZ: Again) -> Again:
    """<r, dZ^T u>, computed again."""
    read = exact.product(exact.transpose(dZ), state.again.a)
    return exact.product(exact.transpose(state.again.r), read)


def along_weights(state: State, dW: np.ndarray) -> Slope:
    """-dg along a direction of W."""
    still, node = np.zeros_like(state.U), exact.array(dW)
    again = exact_map(state, node, exact.array(still))
    return of_map(state, (dW, np.zeros_like(dW)), still, again)


def _in_outputs(state: State, du: np.ndarray) -> tuple[Slope, np.ndarray, Again]:
    """<r, Z^T du>, and the same as <Z r, du>."""
    Z, r = size(state.Z), size(state.r)
    noise = errors.rounding(state.n + state.N, Z * r * size(du))
    unsure = (Z * state.r_radius + r * state.equilibrium.error) * size(du)
    left, right = state.r @ (state.Z.T @ du), (state.Z @ state.r) @ du
    way, s = exact.array(du), state.again
    ahead = exact.product(exact.transpose(s.r), exact.product(exact.transpose(s.Z), way))
    back = exact.product(exact.transpose(s.Zr), way)
    return Slope(np.array([[left]]), noise, unsure, ahead), np.array([right]), back


class KernelDynamics(Derivative):
    """Along the flow dyhat/dt = -K r with K = J_A J_A^T + J_B J_B^T + J_U J_U^T + Z^T Z, where
    J_P = d yhat/d vec P. As printed, J_A is that of Lemma 3.2.3 with its Kronecker factors in the
    wrong order (and the products are J_A^T J_A, of shape n^2 x n^2, which cannot be meant).
    """

    id = "hieu2022/prop4"
    title = "Dynamics of the predictions and the tangent kernel"
    cite = cite("Proposition 4", "(3.7)")
    uses = ("hieu2022/lem3.2.3",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "J_A is N x n^2, so the kernel needs J_A J_A^T (likewise B and U), with the Kronecker "
        "factors of Lemma 3.2.3 in the right order; in the printed order dyhat/dt is missed by "
        "1.17 of its size on a random instance."
    )

    dynamics_of_yhat = Check("predictions follow the kernel", "left == right", "(3.7)")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        down, again = downhill(state)
        dZ = solved(state, forced(state, down, again))
        tangent = dZ.value.T @ state.u + state.Z.T @ down["u"]
        node = moved_predictions(state, dZ.exact, again["u"])
        explicit = -oracle.kernel_product(state, state.r, self.printed)
        # |J|^2 |r| bounds the size of K r, and each of its solves loses n eps |Q| |Q^-1|.
        K, r = float(np.trace(state.kernel.K)), size(state.r)
        noise = 8 * conditioning(state) * errors.rounding(state.n + state.N, K * r)
        noise += size(state.u) * dZ.noise
        unsure = sum(state.kernel.radii.values()) * r + size(state.u) * dZ.unsure
        unsure += np.sqrt(K) * (np.sqrt(K) * state.r_radius + state.gradient_radius)
        form = Matrix(explicit, noise, exact_oracle.kernel_product(state, self.printed))
        left = Matrix(tangent, noise, node)
        yield same(p, self.dynamics_of_yhat, left, form, 2 * float(unsure))


def downhill(state: State) -> tuple[Params, dict[str, Again]]:
    """Minus the gradient, and the same computed again."""
    down = {name: -g for name, g in state.gradient.items()}
    again = state.exact_gradient()
    return down, {name: exact.scaled(exact.MINUS_ONE, g) for name, g in again.items()}


def moved_predictions(state: State, dZ: Again, du: Again) -> Again:
    """dZ^T u + Z^T du, computed again."""
    s = state.again
    by_state = exact.product(exact.transpose(dZ), s.a)
    return exact.plus(by_state, exact.product(exact.transpose(s.Z), du))
