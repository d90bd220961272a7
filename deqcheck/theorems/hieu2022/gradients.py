"""Norms of the gradients, of P_A and P_B, and the speed of the equilibrium."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.models.monotone_deq import exact_oracle, oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.hieu2022.common import (
    WORDS,
    MonotoneStatement,
    at_start,
    cite,
)
from deqcheck.theorems.hieu2022.setting import Problem, State

# n of the largest P_A (n^2 x n^2) whose norm is computed.
LARGEST = 24


class GradientNorms(MonotoneStatement):
    """At any parameters, with r = yhat - y and Frobenius norms on the left:
    |gA| <= 2 |X| |U| |u| |A| |r|/m^2, |gB| <= 2 |X| |U| |u| |r|/m^2, |gU| <= |X| |u| |r|/m,
    |gu| <= |X| |U| |r|/m, and along the flow |dZ/dt| is bounded likewise. |P_A|^2 = 4 |A|^2 and
    |P_B| = 2 for n >= 2 (0 for n = 1).
    """

    id = "hieu2022/gradients"
    title = "Norms of the gradients and speed of the equilibrium"
    cite = cite("proofs of Theorem 3.3.1 and Lemma 3.3.7", "(3.10)-(3.13)")
    uses = ("hieu2022/lem3.2.2", "hieu2022/lem3.2.3", "hieu2022/lem3.3.2", "hieu2022/lem3.3.3")
    dynamics = (STATIC,)
    soundness = "typo"
    erratum = (
        "P_A P_A^T and P_B P_B^T are printed without transposes; |I - K| = 2 needs n >= 2; the "
        "printed dZ/dt has lost a minus sign and transposes. The equalities of Lemma 3.3.7 have "
        "lost a factor of the step."
    )

    of_symmetric = Check(
        "gradient in A", "gradient <= 2*X*norm_U*norm_u*norm_A*r/m^2", "Lemma 3.3.7"
    )
    of_skew = Check("gradient in B", "gradient <= 2*X*norm_U*norm_u*r/m^2", "Lemma 3.3.7")
    of_inputs = Check("gradient in U", "gradient <= X*norm_u*r/m", "Lemma 3.3.7")
    of_outputs = Check("gradient in u", "gradient <= X*norm_U*r/m", "Lemma 3.3.7")
    speed = Check(
        "speed of the equilibrium along the flow",
        "speed <= norm_u/m^2*X^2*(4*norm_U^2*(norm_A^2+1)/m^2 + 1)*r",
        "proof of Theorem 3.3.1",
    )
    norm_of_symmetric = Check("norm of P_A", "norm^2 == 4*norm_A^2", "proof of Theorem 3.3.1")
    norm_of_skew = Check("norm of P_B", "norm == 2", "proof of Theorem 3.3.1")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.start.n > LARGEST:
            rows = p.start.n**2
            yield (
                f"the norms of P_A and P_B: they have {rows} rows, the limit is {LARGEST**2}: "
                f"at most {LARGEST} units"
            )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        at = at_start(p)
        values = {**at, "r": at["r0"]}
        for name, norm in state.gradient_norms.items():
            check: Check = getattr(self, f"of_{WORDS[name]}")
            yield check(**{**values, "gradient": norm})
        yield self.speed(**{**values, "speed": speed(state)})
        if state.n <= LARGEST:
            P_A, P_B = oracle.P_A(state.A).toarray(), oracle.P_B(state.n).toarray()
            again = exact_oracle.P_A(exact.array(state.A), state.n)
            yield self.norm_of_symmetric(norm=errors.norm2(P_A, exact=again), norm_A=at["norm_A"])
            if state.n >= 2:
                yield self.norm_of_skew(norm=errors.norm2(P_B, exact=exact_oracle.P_B(state.n)))


def speed(state: State) -> Measured:
    """|dZ/dt|_F along the flow: dz_S = (I - W_SS)^-1 (dW z + dU x)_S in every column."""
    g, radii = state.gradient, state.gradient_radii()
    dW = state.A.T @ g["A"] + g["A"].T @ state.A - g["B"] + g["B"].T
    forcing = dW @ state.Z - g["U"] @ state.X
    moved = state.patterns.solve(forcing)
    A, Z, X = (euclidean(a) for a in (state.A, state.Z, state.X))
    off = (2 * A * radii["A"] + 2 * radii["B"]) * Z + radii["U"] * X
    off += euclidean(dW) * state.equilibrium.error
    size = euclidean(dW) * Z + euclidean(g["U"]) * X
    off += errors.rounding(state.n, size) * (1 + float(state.lipschitz.high))
    off += state.W_radius * euclidean(moved)
    return errors.frobenius(moved, off / state.m, _exact_speed(state))


def _exact_speed(state: State) -> Again:
    g, A = state.exact_gradient(), exact.array(state.A)
    turned = exact.product(exact.transpose(A), g["A"])
    dW = exact.minus(exact.plus(turned, exact.transpose(turned)), g["B"])
    dW = exact.plus(dW, exact.transpose(g["B"]))
    pushed = exact.product(g["U"], exact.array(state.X))
    return state.again.relu.tangents(exact.minus(exact.product(dW, state.again.Z), pushed))
