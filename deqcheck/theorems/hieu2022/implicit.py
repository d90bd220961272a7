"""Section 2.1.3, Theorem A.0.1 and Lemma C.0.2: the implicit function and its derivative."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.kron import vec
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.models.monotone_deq import exact_oracle, oracle
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, given
from deqcheck.records.tower import Again
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.hieu2022.common import cite
from deqcheck.theorems.hieu2022.contraction import Spectra
from deqcheck.theorems.hieu2022.derivatives import Derivative, along_weights, forced, read_along
from deqcheck.theorems.hieu2022.draws import direction, same
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.tangents import Slope, conditioning, size, solved

# How far the parameters are moved, relative to their size; less where a unit would switch.
MOVES = (1e-3, 1e-5, 1e-7)


class BackwardPass(Derivative):
    """The gradient of the loss in any parameter is v^T df/dtheta, where v solves the linear
    fixed-point system v^T = v^T J + dL/dz with J = D W, in every sample: dL/dz = u (yhat - y).
    Only D v enters: D v = D (W^T D v + u r).
    """

    id = "hieu2022/eq2.4"
    title = "The backward pass is a linear fixed-point system"
    cite = cite("Section 2.1.3", "(2.3), (2.4)")
    uses = ("hieu2022/thmA.0.1",)

    fixed_point = Check("fixed-point system of v", "left == right", "after (2.4)")
    for_symmetric = Check("gradient in A", "left == right", "(2.4)")
    for_skew = Check("gradient in B", "left == right", "(2.4)")
    for_inputs = Check("gradient in U", "left == right", "(2.4)")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        E, r, u = state.E, size(state.r), size(state.u)
        mask = state.equilibrium.mask
        again = mask * (state.W.T @ E + np.outer(state.u, state.r))
        sizes = np.abs(state.W).T @ np.abs(E) + np.abs(np.outer(state.u, state.r))
        noise = conditioning(state) * errors.rounding(state.n, size(E))
        noise += errors.rounding(state.n, size(mask * sizes))
        s = state.again
        fed = exact.product(exact.transpose(s.W), s.E)
        fed = exact.plus(fed, exact.product(s.a, exact.transpose(s.r)))
        node = exact.where_positive(s.relu.H, fed)
        left, right = Matrix(E, noise, s.E), Matrix(again, noise, node)
        yield same(p, self.fixed_point, left, right, state.E_radius)
        for name, way in self.ways(p).items():
            if name == "u":
                continue
            along = forced(state, way)
            dZ = solved(state, along)
            moved = size(dZ.value)
            pushed = size(along.value)
            slack = u * r * dZ.noise + size(E) * along.noise + noise * pushed
            slack += errors.rounding(state.n + state.N, u * r * moved + size(E) * pushed)
            unsure = u * r * dZ.unsure + state.r_radius * u * moved + state.E_radius * pushed
            value = np.array([[state.r @ (dZ.value.T @ state.u)]])
            tangent = Slope(value, slack, unsure, read_along(state, dZ.exact))
            pulled = exact.trace(exact.product(exact.transpose(s.E), along.exact))
            form = exact.scaled(pulled, exact.array(np.ones((1, 1))))
            yield self.agree(p, name, tangent, np.array([np.vdot(E, along.value)]), form)


class ImplicitFunction(Derivative):
    """Where g(z, p) = 0, g is continuously differentiable and dg/dz is invertible, a function
    z = s(p) solves g(s(p), p) = 0 near by, with ds = -(dg/dz)^-1 dg/dp. For
    g = Z - relu(W Z + U X) away from kinks dg/dz = Q = I - D (I_N kron W).

    Judged along one drawn direction of all parameters: a step h moves Z by h dZ up to
    (h |W' - W| |dZ| + h^2 |dA|^2 |Z|)/m, as long as no unit switches, since then
    Z' - Z = (I - D W')^-1 D ((W' - W) Z + h dU X) with |(I - D W')^-1 D| <= 1/m, and
    W' - W is h dW - h^2 dA^T dA.
    """

    id = "hieu2022/thmA.0.1"
    title = "Implicit function theorem"
    cite = cite("Theorem A.0.1", "(A.1)")

    invertible = Check("dg/dz is invertible", "sigma_min_Q > 0", "Theorem A.0.1, 2")
    solves = Check("g(s(p), p) = 0", "distance <= noise", "Theorem A.0.1, 2")
    derivative = Check(
        "s moves as its derivative says",
        "remainder <= (h*dW*dZ + h^2*dA^2*Z)/m",
        "(A.1)",
    )

    def unchecked(self, p: Problem) -> Iterable[str]:
        yield from super().unchecked(p)
        if not Spectra(p.start).affordable:
            yield "the smallest singular value of Q: a smaller width, or fewer samples"
        elif p.start.equilibrium.kink_margin.low > 0 and self._moved(p) is None:
            yield "a unit switches however little the parameters move: a start further from kinks"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if Spectra(p.start).affordable:
            yield self.invertible(sigma_min_Q=Spectra(p.start).smallest)

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        found = self._moved(p)
        if found is None:
            return
        h, way, other = found
        g = other.Z - np.maximum(other.W @ other.Z + other.C, 0.0)
        scale = errors.length(other.W) * size(other.Z) + size(other.C) + size(other.Z)
        noise = errors.rounding(state.n + len(state.X), scale)
        noise += (1 + size(other.W)) * other.equilibrium.error
        yield self.solves(distance=errors.frobenius(g), noise=noise)
        dZ = solved(state, forced(state, way))
        apart = other.Z - state.Z - h * dZ.value
        # What was added to each parameter is h times the direction up to its rounding.
        lost = {name: EPS * size(other.theta[name]) for name in way}
        off = state.equilibrium.error + other.equilibrium.error + h * (dZ.noise + dZ.unsure)
        off += 4 * EPS * size(other.Z)
        W_lost = 2 * size(other.A) * lost["A"] + 2 * lost["B"]
        off += (W_lost * size(state.Z) + lost["U"] * size(state.X)) / state.m
        # Where no unit is active both equilibria are 0.
        off = off if state.equilibrium.mask.any() else 0.0
        yield self.derivative(
            f"h = {h:.3g}",
            remainder=errors.frobenius(apart, off),
            h=given(h),
            dW=errors.norm2(other.W - state.W, state.W_radius + other.W_radius + W_lost),
            dZ=errors.frobenius(dZ.value, dZ.noise + dZ.unsure, dZ.exact),
            dA=instance(way["A"]).norm2(),
            Z=state.matrix("Z").frobenius(),
            m=given(state.m),
        )

    def _moved(self, p: Problem) -> tuple[float, dict[str, np.ndarray], State] | None:
        """A step, its direction and the state after it, on the same side of every kink."""
        way = direction(p, f"{self.id}.way")
        reach = np.sqrt(sum(size(a) ** 2 for a in p.theta0.values())) or 1.0
        for move in MOVES:
            h = float(move * reach)
            other = p.model.at({n: p.theta0[n] + h * way[n] for n in way})
            try:
                same_side = np.array_equal(other.equilibrium.mask, p.start.equilibrium.mask)
            except NoEquilibrium:
                continue
            if same_side and other.equilibrium.kink_margin.low > 0:
                return h, way, other
        return None


class RowsInPlaceOfColumns(Derivative):
    """The equilibrium in rows, Zr = relu(Zr Wr + X^T Ur) with Zr = Z^T, Wr = W^T, Ur = U^T, has
    d vec Zr/d vec Wr = Q^-1 D (I_n kron Zr), times -(I + K)(I_n kron A^T) in A and times I - K in
    Br = B^T, and Q^-1 D (I_n kron X^T) in Ur, where Q = I - D (W kron I_N). As printed every sign
    is reversed.
    """

    id = "hieu2022/lemC.0.2"
    title = "Derivative of the equilibrium, written in rows"
    cite = cite("Lemma C.0.2")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("hieu2022/thmA.0.1",)
    erratum = (
        "Every sign is reversed (Lemma 3.2.2 has them right): n = N = d = 1, m = 1, A = B = 0, "
        "U = x = 1 has z = 1 and dz/dU = 1, where -1 is printed."
    )

    for_weights = Check("derivative in W", "left == right", "Lemma C.0.2")
    for_symmetric = Check("derivative in A", "left == right", "Lemma C.0.2")
    for_skew = Check("derivative in B", "left == right", "Lemma C.0.2")
    for_inputs = Check("derivative in U", "left == right", "Lemma C.0.2")

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        mask = vec(state.equilibrium.mask.T).astype(float)
        turned = scipy.sparse.kron(state.W, scipy.sparse.identity(state.N))
        Q = scipy.sparse.identity(len(mask)) - scipy.sparse.diags(mask) @ turned
        solve = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(Q)).solve
        for name, (pushed, moved, node) in self.moves(p, state).items():
            tangent = solved(state, pushed)
            features = state.X.T if name == "inputs" else state.Z.T
            rows = scipy.sparse.kron(scipy.sparse.identity(state.n), features) @ moved
            explicit = solve(mask * rows)
            again = exact.transpose(tangent.exact)
            in_rows = Slope(tangent.value.T, tangent.noise, tangent.unsure, again)
            form = exact_oracle.row_slope(state, node, name == "inputs", self.printed)
            yield self.agree(p, name, in_rows, -explicit if self.printed else explicit, form)

    def moves(self, p: Problem, state: State) -> dict[str, tuple[Slope, np.ndarray, Again]]:
        """D (dW Z + dU X), and vec dWr or vec dUr of the same direction, twice."""
        dW, ways = self.drawn(p, "W", state.W.shape), self.ways(p)
        A, B, U = (ways[name][name] for name in ("A", "B", "U"))
        turned = {"A": vec(A), "B": vec(B.T), "weights": vec(dW.T), "inputs": vec(U.T)}
        nodes = {
            name: exact_oracle.weight_slope(state.A, name, exact.array(x))
            for name, x in turned.items()
        }
        return {
            "weights": (along_weights(state, dW), turned["weights"], nodes["weights"]),
            "symmetric": (forced(state, ways["A"]), oracle.P_A(state.A) @ vec(A), nodes["A"]),
            "skew": (forced(state, ways["B"]), oracle.P_B(state.n) @ vec(B.T), nodes["B"]),
            "inputs": (forced(state, ways["U"]), turned["inputs"], nodes["inputs"]),
        }
