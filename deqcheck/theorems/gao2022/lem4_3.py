"""Lemma 4.3: the equilibrium is a Lipschitz function of the parameters."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import instance
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import given, maximum
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.drawn import looked_at
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import Pointwise, equality

PAIRS = 20
RIGHT = "X_fro/(1-gamma*lambda2)*(gamma*lambda1*norm_A_minus_A/(1-gamma*lambda2) + norm_W_minus_W)"


class Lemma43(Pointwise):
    """|Z_a - Z_b|_F <= |X|_F u (gamma u lambda1 |A_a - A_b| + |W_a - W_b|) with u = 1/(1 - gamma
    lambda2), lambda1 and lambda2 the larger norms of the two: also with the Frobenius norm on the
    left. Judged between the initial parameters and random ones around them.
    """

    id = "gao2022/lem4.3"
    title = "The equilibrium is Lipschitz in the parameters"
    cite = cite("Lemma 4.3", "(16)")
    uses = ("gao2022/lem3.1",)
    erratum = (
        "A.5 splits |Z_a A_a - Z_b A_b|_F with an index slip, |Z_a^l A_a - Z_b^l A_b| for "
        "|Z_a^l A_a - Z_a^l A_b|, and with Frobenius and operator norms exchanged: "
        "|Z (A_a - A_b)|_F <= |Z|_F |A_a - A_b| is what is used, and right."
    )

    well_posed = Check("well-posed", "gamma*norm_A < 1", "Lemma 4.3")
    w_moves = Check(f"W moves (worst of {PAIRS})", f"norm_Z_minus_Z <= {RIGHT}", "(16)")
    a_moves = Check(f"A moves (worst of {PAIRS})", f"norm_Z_minus_Z <= {RIGHT}", "(16)")
    w_moves_equal = equality(w_moves)
    both_move = Check(f"both move (worst of {PAIRS})", f"norm_Z_minus_Z <= {RIGHT}", "(16)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.well_posed(gamma=given(p.model.gamma), norm_A=p.start.norm_A)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        for check, names in (
            (self.w_moves, ("W",)),
            (self.a_moves, ("A",)),
            (self.both_move, ("W", "A")),
        ):
            yield from worst(
                self._pair(check, state, other) for other in looked_at(_around(p, names))
            )

    def _pair(self, check: Check, one: State, other: State) -> Claim:
        if check is self.w_moves and _linear(one) and _linear(other):
            check = self.w_moves_equal
        radius = one.equilibrium.error + other.equilibrium.error
        return check(
            norm_Z_minus_Z=errors.frobenius(
                one.Z - other.Z, radius, exact.minus(one.again.Z, other.again.Z)
            ),
            X_fro=one.X_fro,
            gamma=given(one.gamma),
            lambda1=maximum(one.measure("norm2.W"), other.measure("norm2.W")),
            lambda2=maximum(one.norm_A, other.norm_A),
            norm_A_minus_A=(instance(one.A) - instance(other.A)).norm2(),
            norm_W_minus_W=(instance(one.W) - instance(other.W)).norm2(),
        )


def _linear(state: State) -> bool:
    """One unit, one feature and no sign that cuts off: Z = X W/(1 - gamma A), and (16) with A fixed
    is an equality."""
    sure = state.XW - state.XW_reach > 0
    on = sure | ((state.XW == 0) & (state.XW_reach == 0))
    return state.m == state.model.d == 1 and bool(state.A[0, 0] >= 0) and bool(on.all())


def _around(p: Problem, names: tuple[str, ...]) -> Iterable[State]:
    """States at distances of 1e-3 to 1 times the room, which is |W|, and for A what is left until
    gamma |A| = 1."""
    stream = rng(p.seed, f"gao2022/lem4.3.{''.join(names)}")
    start: Params = p.theta0
    room = {
        "W": spectral_norm(start["W"]) or 1.0,
        "A": 0.9 * (1 - float(p.start.gamma0.high)) / p.model.gamma,
    }
    for i in range(PAIRS):
        share = 10.0 ** (-3 * i / (PAIRS - 1))
        theta = dict(start)
        for name in names:
            noise = stream.standard_normal(start[name].shape)
            theta[name] = start[name] + share * room[name] * noise / spectral_norm(noise)
        yield p.model.at(theta)
