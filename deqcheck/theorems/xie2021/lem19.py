"""Lemma 19: the state, its derivative and the gradient are Lipschitz in the parameters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.problem import pack, unpack
from deqcheck.records.claim import Claim
from deqcheck.records.measured import given, maximum
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Constant, Space
from deqcheck.theorems.drawn import number
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import (
    BOUNDED,
    GIVEN_INPUT,
    Pointwise,
    cite,
    largest_norm,
    too_large,
)
from deqcheck.theorems.xie2021.pairs import Pair
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm5 import PrintedConstants

PAIRS = 12


class Lemma19(Pointwise):
    """On a ball around the parameters where ||W_l|| <= 1, without SAM and with a fixed X.
    Corrected: |Z^K(a) - Z^K(b)| <= B_J |a - b|, the derivative of the state changes by at most C_J
    |a - b| and the gradient by at most Q1 |a - b|. Printed (29), with L_g = 1 and the B_Ub, B_x,
    B_L of Assumption 3 that are least on the ball (and sqrt(N) <= B_x, which the proofs use): 2 a
    sqrt(L) K C_z |a - b| for the states Z^K and Z^(k,l), L_sigma (C_D |a_l - b_l| + |Z^(k,l)(a) -
    Z^(k,l)(b)|) for the slopes D, 4 a sqrt(L) L_sigma C_z |a - b| for A, and (9 a sqrt(L) B*
    L_sigma C_z + 2 sqrt(3 L) a K B* L_sigma C_D) |a - b| for the derivative of Z^K. B* is that of
    Lemma 12, a constant times B_x, B_Ub and the bound of Assumption 4, which is asked, too; it is
    taken as the least bound on fixed points and states that is known, or as given.
    """

    id = "xie2021/lem19"
    title = "Lipschitz constants in the parameters"
    cite = cite("Lemma 19", "(29)")
    uses = ("xie2021/eq19", "xie2021/eq20", "xie2021/lem15", "xie2021/lem17", "xie2021/jacobian")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed bounds on A and J are proportional to L_sigma, but A = a w^2 s' + 1 - a "
        "depends on w even where s' is nearly constant. s = k t + (1 - k) tanh t with k near 1 and "
        "small inputs satisfies Assumption 4 with B* near 1, and L_sigma is of the order of 1 - k. "
        "The corrected C_J is a K L (L_sigma (B_J + c_A)^2 + 4 B_J + 2 c_A)."
    )
    constants = {
        "rho": Constant(
            "radius of the ball; default: 0.05, less where ||W_l|| needs it",
            for_all=True,
            above=0,
        ),
        "B_star": Constant(
            "the B* of Lemma 12 (printed); default: a bound that holds for all parameters",
            for_all=True,
            above=0,
        ),
    }

    space = Space(fields={"activation": BOUNDED, **GIVEN_INPUT})

    plain = Check("the state is Z^K of plain iterations", "other == 0", "setting")
    smooth = Check("smooth activation", "kinks == 0", "Lemma 19")
    inside = Check("weights stay nonexpansive on the ball", "norm_W + rho <= 1", "Assumption 3")
    exists = Check(
        "all parameters have fixed points, which are bounded", "unbounded == 0", "Assumption 4"
    )
    bounded = Check("B* bounds fixed points and states", "bound <= B_star", "Assumption 4")
    printed_state = Check(
        f"states, {PAIRS} random pairs", "change <= 2*alpha*sqrt(L)*K*C_z*distance", "(29)"
    )
    printed_slopes = Check(
        f"slopes D, {PAIRS} random pairs", "change <= L_sigma*(C_D*own + state_change)", "(29)"
    )
    printed_factor = Check(
        f"A, {PAIRS} random pairs", "change <= 4*alpha*sqrt(L)*L_sigma*C_z*distance", "(29)"
    )
    printed_bound = Check(f"derivative, {PAIRS} random pairs", "change <= C_J*distance", "(29)")
    state_bound = Check(f"state, {PAIRS} random pairs", "change <= B_J*distance", "Lemma 19")
    derivative_bound = Check(
        f"derivative, {PAIRS} random pairs", "change <= C_J*distance", "Lemma 19"
    )
    gradient_bound = Check(f"gradient, {PAIRS} random pairs", "change <= Q1*distance", "Lemma 19")

    def rho(self, p: Problem) -> float:
        room = (1 - largest_norm(p.start.network).high) / 2
        return float(self.fixed.get("rho", max(min(0.05, room), 1e-9)))

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {**self.fixed, "rho": self.rho(p)}

    def _constants(self, p: Problem) -> PrintedConstants:
        rho, plain = given(self.rho(p)), PrintedConstants(p, {})
        least = {"B_Ub": plain.input_norm + rho, "B_x": plain.x_norm}
        return PrintedConstants(p, {**least, "B_L": plain.output_norm + rho, **self._star})

    @property
    def _star(self) -> dict[str, float]:
        return {name: value for name, value in self.fixed.items() if name == "B_star"}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.plain(other=p.model.implicit or p.model.fields.sam is not None)
        yield self.smooth(kinks=len(p.model.s.kinks))
        yield self.inside(norm_W=largest_norm(p.start.network), rho=given(self.rho(p)))
        if not self.printed:
            return
        constants = self._constants(p)
        yield self.exists(unbounded=constants.unbounded)
        if self._star and not constants.unbounded:
            yield self.bounded(bound=constants.least_B_star, B_star=constants.B_star)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.start.network.extractor is not None:
            yield "the constants are worked out for an input that is given: without an extractor"
        yield from too_large(p.model.m * p.model.N * p.start.count)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.implicit or not p.model.s.smooth or p.model.fields.sam is not None:
            return
        if list(self.unchecked(p)):
            return
        yield from self._printed(p) if self.printed else self._corrected(p)

    def _printed(self, p: Problem) -> Iterable[Claim]:
        c, pairs = self._constants(p), list(self._pairs(p))
        if c.unbounded:
            return
        a, L = given(p.model.alpha), p.model.depth
        common = {"alpha": a, "L": L, "C_z": c.C_z}
        yield self._worst(
            self.printed_state(**common, K=p.model.iterations, change=change, distance=pair.whole)
            for pair in pairs
            for change in (pair.state, *pair.inner_states)
        )
        L_sigma, C_D = c.L_sigma, maximum(3 * c.B_star, c.B_x)
        yield self._worst(
            self.printed_slopes(
                change=change, L_sigma=L_sigma, C_D=C_D, own=own, state_change=moved
            )
            for pair in pairs
            for change, own, moved in pair.slopes
        )
        yield self._worst(
            self.printed_factor(**common, change=change, L_sigma=L_sigma, distance=pair.whole)
            for pair in pairs
            for change in pair.factors
        )
        yield self._worst(
            self.printed_bound(change=pair.derivative, C_J=c.C_J, distance=pair.whole)
            for pair in pairs
        )

    def _corrected(self, p: Problem) -> Iterable[Claim]:
        bounds, pairs = Bounds(p, given(self.rho(p))), list(self._pairs(p))
        yield self._worst(
            (self.state_bound(change=pair.state, B_J=bounds.B_J, distance=pair.layers))
            for pair in pairs
        )
        yield self._worst(
            self.derivative_bound(change=pair.derivative, C_J=bounds.C_J, distance=pair.layers)
            for pair in pairs
        )
        yield self._worst(
            self.gradient_bound(
                change=pair.gradient, Q1=bounds.Q1(pair.residual(bounds)), distance=pair.whole
            )
            for pair in pairs
        )

    def _worst(self, claims: Iterable[Claim]) -> Claim:
        """The claim with the largest left side relative to its right side."""
        return max(claims, key=lambda c: c.left.value / max(c.right.value, 1e-300))

    def _pairs(self, p: Problem) -> Iterable[Pair]:
        draw = rng(p.seed, "xie2021/lem19.pairs")
        centre = pack(p.theta0)
        for _ in range(number(PAIRS)):
            ends = []
            for _ in range(2):
                direction = draw.standard_normal(centre.size)
                share = self.rho(p) * draw.uniform() / np.linalg.norm(direction)
                ends.append(unpack(centre + share * direction, p.shapes))
            yield Pair(p.model.at(ends[0]), p.model.at(ends[1]))
