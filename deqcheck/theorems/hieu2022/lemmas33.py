"""Lemmas 3.3.2 to 3.3.6: sensitivities, sizes and Lipschitz bounds of the equilibrium."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.monotone_deq import exact_oracle, oracle
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.drawn import looked_at
from deqcheck.theorems.hieu2022.common import MonotoneStatement, at_start, cite
from deqcheck.theorems.hieu2022.draws import nearby
from deqcheck.theorems.hieu2022.setting import Problem, State

# Rows of the largest dense Q.
LARGEST = 2000
PAIRS = 12


class Sensitivities(MonotoneStatement):
    """|(I_N kron u^T) Q^-1 D| = max_i |v_i| <= |u|/m, where v_i solves (I - W_SS)^T v_S = u_S on
    the active units S of sample i. As printed, without D and with the Kronecker factors in the
    other order: |(u^T kron I_N) Q^-1| <= |u|/m.
    """

    id = "hieu2022/lem3.3.2"
    title = "Sensitivities of the predictions are bounded by |u|/m"
    cite = cite("Lemma 3.3.2", "(C.0.4), (C.0.5)")
    uses = ("hieu2022/prop3", "hieu2022/lem3.3.3")
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Without D it is false. n = N = d = 1, A = B = 0, m = 2, U = u = 1, x = -1: the unit is "
        "inactive, Q = 1, left 1, right 0.5. Also for m < 1: n = 2, N = d = 1, m = 0.5, A = 0, "
        "B = [[0, 10], [0, 0]], U = (1, 0)^T, u = (1, 0), x = 1: left 20.1, right 2. Every later "
        "use carries D."
    )

    printed_norm = Check("norm without D", "norm <= norm_u/m", "Lemma 3.3.2")
    bound = Check("largest sensitivity", "v_max <= norm_u/m", "Lemma 3.3.2, corrected")
    norm = Check("norm with D", "norm == v_max", "Lemma 3.3.2, corrected")

    def unchecked(self, p: Problem) -> Iterable[str]:
        rows = p.start.n * p.start.N
        if rows > LARGEST and self.printed:
            yield f"Q has {rows} rows, the limit is {LARGEST}: a smaller width, or fewer samples"

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        u = state.measure("norm2.u")
        dense = state.n * state.N <= LARGEST
        if self.printed:
            if dense:
                claim = self.printed_norm(
                    norm=_operator_norm(state, True), norm_u=u, m=given(state.m)
                )
                yield claim.known_equal(_without_D(state)) if _without_D(state) else claim
            return
        claim = self.bound(v_max=state.sensitivity_max, norm_u=u, m=given(state.m))
        yield claim.known_equal(_SCALAR) if _attained(state) else claim
        if dense:
            yield self.norm(norm=_operator_norm(state, False), v_max=state.sensitivity_max)


_SCALAR = "W = (1 - m) I, and some sample activates every unit"


def _attained(state: State) -> bool:
    """Whether v_i = u/m for some sample."""
    found = state.equilibrium
    scalar = not state.A.any() and np.array_equal(state.B, state.B.T)
    return bool(scalar and (found.mask & ~found.doubtful).all(axis=0).any())


def _without_D(state: State) -> str:
    """Why the norm is |u|/m: where no unit is active Q = I, where every one is Q = m I."""
    found = state.equilibrium
    if found.doubtful.any():
        return ""
    if not found.mask.any() and state.m == 1:
        return "no unit is active, and m = 1"
    largest = found.mask.all() or (state.n == 1 and state.m <= 1)
    return _SCALAR if _attained(state) and largest else ""


def _operator_norm(state: State, printed: bool) -> Measured:
    """Relative error of the solve: n eps times the condition of I - J W, at most that of I - W's
    blocks, (1 + |W|) (1 + |W|/m). Of (I - W^T D)^-1 u = u + W^T v, |v| <= |u|/m, D leaves a part
    out, but not its share of that error."""
    rows = oracle.sensitivity_operator(state, printed)
    W = euclidean(state.W) + state.W_radius
    relative = (16 * EPS * state.n + state.W_radius) * (1 + W) * (1 + W / state.m)
    again = exact_oracle.sensitivity_operator(state, printed)
    solved = errors.length(rows)
    if not printed:
        solved = np.sqrt(state.N) * errors.length(state.u) * (1 + W / state.m)
    return errors.norm2(rows, relative * float(solved), again)


class EquilibriumSize(MonotoneStatement):
    """|Z|_F <= |X|_F |U|/m: m |z|^2 <= <z, (I - W) z> = <z, U x> in every sample."""

    id = "hieu2022/lem3.3.3"
    title = "Size of the equilibrium"
    cite = cite("Lemma 3.3.3")
    uses = ("hieu2022/prop3",)
    dynamics = (STATIC,)

    bound = Check("size of the equilibrium", "Z_fro <= X*norm_U/m", "Lemma 3.3.3")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield self.bound(Z_fro=state.matrix("Z").frobenius(), **at_start(p))


class Pairs(MonotoneStatement):
    """A Lipschitz bound between the parameters of the case and others around them."""

    dynamics = (STATIC,)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        """Of every check, the pair with the least room."""
        found: dict[str, Claim] = {}
        for i in looked_at(range(PAIRS)):
            other = p.model.at(nearby(p, f"{self.id}.{i}", 10.0 ** (-4 + i % 5)))
            for claim in _judgeable(self.between, state, other):
                known = found.get(claim.name)
                if known is None or _room(claim) < _room(known):
                    found[claim.name] = claim
        yield from found.values()

    def between(self, state: State, other: Any) -> Iterable[Claim]:
        raise NotImplementedError


def _judgeable(
    between: Callable[[Any, Any], Iterable[Claim]], state: State, other: Any
) -> list[Claim]:
    """Nothing where a splitting step of the case is not admissible at the other parameters."""
    try:
        return list(between(state, other))
    except NoEquilibrium:
        return []


def _room(claim: Claim) -> float:
    """Right over left; what is exactly 0 has any room. An identity that does not fail says the more
    the larger its sides are."""
    if claim.relation == "==":
        fails = claim.left.low > claim.right.high or claim.left.high < claim.right.low
        return -math.inf if fails else -abs(float(claim.left.value))
    left = float(claim.left.high)
    return float(claim.right.low) / left if left else math.inf


class EquilibriumLipschitz(Pairs):
    """Between any two parameters |Z - Z'|_F <= |X|_F (|U - U'|/m + |W - W'| |U'|/m^2), and the
    predictions move by at most |u| |Z - Z'| + |u - u'| |X|_F |U'|/m.
    """

    id = "hieu2022/lem3.3.4"
    title = "The equilibrium is Lipschitz in the parameters"
    cite = cite("Lemma 3.3.4")
    uses = ("hieu2022/prop3", "hieu2022/lem3.3.3")
    soundness = "typo"
    erratum = "The printed y(s) is meant to be yhat(s)."

    states = Check(
        "equilibria, worst of 12 drawn pairs",
        "dZ <= X*(dU/m + dW*norm_U2/m^2)",
        "Lemma 3.3.4",
    )
    predictions = Check(
        "predictions, worst of 12 drawn pairs",
        "dyhat <= norm_u*X*(dU/m + dW*norm_U2/m^2) + du*X*norm_U2/m",
        "Lemma 3.3.4",
    )

    def between(self, state: State, other: Any) -> Iterable[Claim]:
        apart = {
            name: state.matrix(name) - other.matrix(name) for name in ("U", "u", "W", "Z", "r")
        }
        common = {
            "X": state.measure("X_fro"),
            "m": given(state.m),
            "dU": apart["U"].norm2(),
            "dW": apart["W"].norm2(),
            "norm_U2": other.measure("norm2.U"),
        }
        yield self.states(dZ=apart["Z"].frobenius(), **common)
        yield self.predictions(
            dyhat=apart["r"].frobenius(),
            norm_u=state.measure("norm2.u"),
            du=apart["u"].norm2(),
            **common,
        )


class WeightLipschitz(Pairs):
    """With dA = A' - A and dB = B' - B,
    |W' - W| = |A^T dA + dA^T A + dA^T dA + dB - dB^T| <= 2 |A| |dA| + |dA|^2 + 2 |dB|. The first
    three terms S are symmetric, the others T skew, and W' - W = -S + T: the printed sign of S is
    harmless, since |T - S| = |(T + S)^T|.
    """

    id = "hieu2022/lem3.3.6"
    title = "The weights are Lipschitz in A and B"
    cite = cite("Lemma 3.3.6")

    sign = Check("the sign of S does not matter", "norm_minus == norm_plus", "Lemma 3.3.6")
    bound = Check(
        "weights, worst of 12 drawn pairs",
        "dW <= 2*norm_A*dA + dA^2 + 2*dB",
        "Lemma 3.3.6",
    )

    def between(self, state: State, other: Any) -> Iterable[Claim]:
        A, other_A = state.matrix("A"), other.matrix("A")
        S, dB = A.T @ A - other_A.T @ other_A, state.matrix("B") - other.matrix("B")
        T = dB - dB.T
        yield self.sign(norm_minus=(T - S).norm2(), norm_plus=(T + S).norm2())
        yield self.bound(
            dW=(state.matrix("W") - other.matrix("W")).norm2(),
            norm_A=state.measure("norm2.A"),
            dA=(A - other_A).norm2(),
            dB=dB.norm2(),
        )
