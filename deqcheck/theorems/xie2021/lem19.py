"""Lemma 19: the state, its derivative and the gradient are Lipschitz in the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.problem import Params, pack, unpack
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, maximum, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.bounds import Bounds
from deqcheck.theorems.xie2021.common import INFINITY, Pointwise, cite, largest_norm
from deqcheck.theorems.xie2021.common import too_large
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm5 import PrintedConstants

PAIRS = 12


class Lemma19(Pointwise):
    """On a ball around the parameters where ||W_l|| <= 1: |Z^K(a) - Z^K(b)| <= B_J |a - b|, the
    derivative of the state changes by at most C_J |a - b| and the gradient by at most Q1 |a - b|.
    The printed C_J is proportional to the smoothness of s.
    """

    id = "xie2021/lem19"
    title = "Lipschitz constants in the parameters"
    cite = cite("Lemma 19")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed bounds on A and J are proportional to L_sigma, but A = a w^2 + 1 - a depends "
        "on w even for s = id, where L_sigma = 0. The corrected C_J is "
        "a K L (L_sigma (B_J + c_A)^2 + 4 B_J + 2 c_A)."
    )
    constants = {"rho": "radius of the ball; default: 0.05, less where ||W_l|| needs it"}

    plain = Check("the state is Z^K of plain iterations", "other == 0", "setting")
    smooth = Check("smooth activation", "L_sigma < infinity", "setting")
    inside = Check("weights stay nonexpansive on the ball", "norm_W + rho <= 1", "Assumption 3")
    state_bound = Check(f"state, {PAIRS} random pairs", "change <= B_J*distance", "Lemma 19")
    printed_bound = Check(
        f"derivative, {PAIRS} random pairs", "change <= C_J_printed*distance", "Lemma 19, printed"
    )
    derivative_bound = Check(
        f"derivative, {PAIRS} random pairs", "change <= C_J*distance", "Lemma 19"
    )
    gradient_bound = Check(f"gradient, {PAIRS} random pairs", "change <= Q1*distance", "Lemma 19")

    def rho(self, p: Problem) -> float:
        room = (1 - largest_norm(p.start.network).high) / 2
        return float(self.fixed.get("rho", max(min(0.05, room), 1e-9)))

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {"rho": self.rho(p)}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.plain(other=p.model.implicit or p.model.fields.sam is not None)
        yield self.smooth(L_sigma=p.model.s.curvature, infinity=INFINITY)
        yield self.inside(norm_W=largest_norm(p.start.network), rho=self.rho(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.implicit or not p.model.s.smooth or p.model.fields.sam is not None:
            return
        if p.start.Z.size * p.start.count > DENSE_LIMIT:
            return
        bounds = Bounds(p, measured(self.rho(p)))
        pairs = list(self._pairs(p))
        yield self._worst(
            (self.state_bound(change=pair.state, B_J=bounds.B_J, distance=pair.layers))
            for pair in pairs
        )
        if self.printed:
            # Without smoothness the printed constant is 0 whatever B_star is.
            linear = p.model.s.curvature == 0
            C_J = PrintedConstants(p, {"B_star": bounds.B_z.high} if linear else {}).C_J
            yield self._worst(
                self.printed_bound(change=pair.derivative, C_J_printed=C_J, distance=pair.layers)
                for pair in pairs
            )
            return
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
        for _ in range(PAIRS):
            ends = []
            for _ in range(2):
                direction = draw.standard_normal(centre.size)
                share = self.rho(p) * draw.uniform() / np.linalg.norm(direction)
                ends.append(unpack(centre + share * direction, p.shapes))
            yield Pair(p.model.at(ends[0]), p.model.at(ends[1]))


class Pair:
    """Two states of the network and how far apart everything is."""

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def _apart(self, names: Iterable[str]) -> Measured:
        moved: Params = {n: self.a.theta[n] - self.b.theta[n] for n in names}
        size = float(np.linalg.norm(pack({n: self.a.theta[n] for n in moved})))
        return errors.frobenius(pack(moved), errors.rounding(1, size))

    @cached_property
    def layers(self) -> Measured:
        return self._apart(name for name in self.a.theta if name != "Wo")

    @cached_property
    def whole(self) -> Measured:
        return self._apart(self.a.theta)

    @cached_property
    def state(self) -> Measured:
        return errors.frobenius(self.a.Z - self.b.Z, self.a.Z_radius + self.b.Z_radius)

    @cached_property
    def derivative(self) -> Measured:
        (Da, ea), (Db, eb) = self.a.dZ, self.b.dZ
        cut = -self.a.Wo.size
        return errors.norm2(Da[:, :cut] - Db[:, :cut], ea + eb)

    @cached_property
    def gradient(self) -> Measured:
        off = pack(self.a.gradient) - pack(self.b.gradient)
        radii = [norm.error for s in (self.a, self.b) for norm in s.gradient_norms.values()]
        return errors.frobenius(off, sum(radii))

    def residual(self, bounds: Bounds) -> Measured:
        """On the segment: that of the ends, and what may be gained in between."""
        gained = (bounds.B_L * bounds.B_J + bounds.B_z) * self.whole
        return maximum(self.a.residual, self.b.residual) + gained
