"""Section 4.1: a last layer I - g grad R, where the proximal map of R is hard to compute."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.convex import ExplicitStep
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Space
from deqcheck.theorems.xie2021.blocks import block_gradient, block_value
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    found,
    nonexpansive,
    points,
    tolerance,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised
from deqcheck.theorems.xie2021.sec41 import value_noise
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm2 import inclusion_residuals


class Explicit(Pointwise):
    """Fixed points z = T_R(T(z)) with T_R = I - g grad R in place of prox_R. Printed, as for
    prox_R: z solves the inclusion of Theorem 2 with R(z_L) added to Phi, which is read as g R: the
    step g is not in prox_R, and T_R knows R with this factor only. Corrected: it is T(z), not z, at
    which R counts. With z_1, ..., z_L the outputs of the layers, z = z_L - g grad R(z_L), so that
    the first block's equation gets g grad R(z_L): 0 in dPhi_1(z_1) + z_1 - z_L + g grad R(z_L), the
    others stay. For one layer T(z) minimises a M_phi^(1-a) + g R (a = 1: phi + g R), as in
    forward-backward splitting, whatever g.
    """

    id = "xie2021/sec4.1-explicit"
    title = "A last layer I - g grad R adds a regulariser to its input"
    cite = cite("Section 4.1", "T_R = I - g dR")
    uses = ("xie2021/thm2",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The regulariser is added at T(z), not at the fixed point z: for f(z) = z/2 + 1/2 (phi = "
        "u^2/2 - u), R = u^2/2 and g = 1/2 the fixed point is 1/3, and the minimiser of phi + g R "
        "is f(1/3) = 2/3. For several layers it enters the equation of the first block."
    )

    space = Space(fields={"solver": ("implicit",), "prox": ("distance",), "explicit_step": ()})

    step = Check("a last layer I - g grad R is given", "explicit == 1", "setting")
    printed_block = Check("last block with g R added", "residual <= noise", "section 4.1")
    first = Check("first block with g grad R(T(z))", "residual <= noise", "corrected")
    inclusion = Check("block residual", "residual <= noise", "corrected")
    lowest = Check(
        f"T(z) minimises the objective (BFGS; for a = 1, {DRAWS} draws)",
        "excess <= noise",
        "corrected",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.step(explicit=isinstance(p.start.map.prox, ExplicitStep))
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        last, solved = p.start.map.prox, p.start.solved
        if not isinstance(last, ExplicitStep) or not solved.found:
            return
        if self.printed:
            yield self._printed(p, last)
            return
        Z, top = solved.Z, p.start.network.T(solved.Z)
        residuals = list(inclusion_residuals(p, solved))
        # z = z_L - g grad R(z_L) up to what the equilibrium is off, which a long step stretches.
        off, noise, size = residuals[0]
        gap = float(np.linalg.norm(top - last.gamma * last.R.gradient(top) - Z))
        room = noise + (1 + p.start.map.lipschitz) * solved.error + p.start.map.noise(Z)
        yield self.first(residual=Measured(off + gap), noise=tolerance(room, size))
        for i, (off, noise, size) in enumerate(residuals[1:], start=2):
            yield self.inclusion(f"block {i}", residual=Measured(off), noise=tolerance(noise, size))
        if p.model.depth == 1:
            yield self._lowest(p, last, top)

    def _printed(self, p: Problem, last: ExplicitStep) -> Claim:
        solved, layer = p.start.solved, p.start.network.layers[-1]
        before = p.start.network.blocks(solved.Z)[-2]
        gradient, error = block_gradient(layer, solved.Z, p.model.alpha)
        off = gradient + last.gamma * last.R.gradient(solved.Z) + solved.Z - before
        noise = error + 3 * solved.error * (1 + last.gamma * last.R.smoothness)
        return self.printed_block(
            residual=Measured(euclidean(off)),
            noise=tolerance(noise, euclidean(solved.Z)),
        )

    def _lowest(self, p: Problem, last: ExplicitStep, top: np.ndarray) -> Claim:
        """At images of f alone phi is known, which is enough for a = 1."""
        a, layer, g, R = p.model.alpha, p.start.network.layers[0], last.gamma, last.R
        hidden, shape, solved = Hidden(layer), top.shape, p.start.solved
        bend = 1 + g * R.smoothness + (a / (1 - a) if a < 1 else 1.0)
        off = bend * (solved.error + p.start.map.noise(solved.Z)) ** 2
        worst = Worst()
        if a == 1:
            here = hidden.phi_conjugate(solved.Z) + g * R.value(top)
            own = hidden.noise(solved.Z) + g * value_noise(R.value(top), 0.0, top.size)
            for w in points(p, "xie2021/sec4.1-explicit.points"):
                u = hidden.f(w)
                noise = hidden.noise(w) + g * value_noise(R.value(u), 0.0, u.size)
                noise += hidden.dip(u - top)
                worst.see(here - hidden.phi_conjugate(w) - g * R.value(u), off + own + noise)
            return self.lowest(excess=worst.value, noise=tolerance(worst.noise, abs(here)))

        def objective(x: np.ndarray) -> tuple[float, np.ndarray, float]:
            u = x.reshape(shape)
            value, slope, error = block_value(layer, u, a)
            error += g * value_noise(R.value(u), 0.0, u.size)
            return value + g * R.value(u), (slope + g * R.gradient(u)).ravel(), error

        x, _ = minimised(lambda x: objective(x)[:2], p.model.Z0.ravel())
        (least, _, miss), (here, _, own) = objective(x), objective(top.ravel())
        miss += hidden.dip(x.reshape(shape) - top)
        room = tolerance(miss + own + off, abs(here))
        return self.lowest(excess=Measured(here - least), noise=room)
