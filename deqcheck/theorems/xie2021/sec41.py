"""Section 4.1: a last layer prox_R adds a regulariser to the hidden objective."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq.convex import Proximal, Quadratic
from deqcheck.models.opteq.equilibrium import FixedPoint
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Space
from deqcheck.theorems.xie2021.blocks import block_gradient
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    found,
    gap_noise,
    nonexpansive,
    points,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm2 import inclusion_residuals

# Those with a proximal map at hand that moves with nothing else.
PROXIMAL = ("distance", "l1", "box", "euclidean")


class Section41(Pointwise):
    """Fixed points of prox_R o T. Printed: they solve the inclusion of Theorem 2 with R(z_L) added
    to Phi, with L blocks as before. Corrected: R is a further block, L + 1 in all; for one layer
    the fixed point minimises a M_phi^1 + R, so a larger weight of R never gives a larger R. R is
    any convex function that is given by its proximal map: that T(z) - z is a subgradient of R at z
    is looked at by its definition, too, at drawn points of the domain. (A last layer I - g grad R
    is in xie2021/sec4.1-explicit.)
    """

    id = "xie2021/sec4.1"
    title = "A last proximal layer adds a regulariser"
    cite = cite("Section 4.1")
    uses = ("xie2021/thm2",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The regulariser needs a block of its own: for one layer f(z) = z/2 + 1/2 "
        "(phi = u^2/2 - u) and R = u^2/2 the fixed point of prox_R o f is 1/3, while the minimiser "
        "of phi + R is 1/2."
    )

    space = Space(fields={"solver": ("implicit",), "prox": PROXIMAL})

    regular = Check("a regulariser is given (model.prox)", "proximal == 1", "setting")
    printed_block = Check("last block with R added", "residual <= noise", "section 4.1")
    inclusion = Check("block residual", "residual <= noise", "corrected")
    extra = Check("residual of the block of R", "residual <= noise", "corrected")
    supports = Check(
        f"T(z) - z is a subgradient of R at z: R(u) above its plane at {DRAWS} drawn u",
        "shortfall <= noise",
        "corrected",
    )
    lowest = Check(
        f"no drawn point ({DRAWS}) has a smaller a M_phi^1 + R", "excess <= noise", "corrected"
    )
    objective = Check("minimiser of a M_phi^1 + R (BFGS)", "distance <= noise", "corrected")
    shrinks = Check("twice the weight, no larger R", "R_double <= R_single + noise", "corrected")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.regular(proximal=isinstance(p.start.map.prox, Proximal))
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        R, solved = p.start.map.prox, p.start.solved
        if not isinstance(R, Proximal) or not solved.found:
            return
        if self.printed:
            yield self._printed(p, R)
            return
        for i, (off, noise, size) in enumerate(inclusion_residuals(p, solved), start=1):
            yield self.inclusion(f"block {i}", residual=Measured(off), noise=tolerance(noise, size))
        before = p.start.network.T(solved.Z)
        size = float(np.linalg.norm(before))
        pull, turn = before - solved.Z, R.turn(solved.Z)
        noise = (3 * solved.error + p.start.map.noise(solved.Z)) * (1 + turn)
        off = float(np.linalg.norm(pull - R.subgradient(solved.Z, pull)))
        yield self.extra(residual=Measured(off), noise=tolerance(noise, size))
        yield self._supports(p, R, pull)
        if p.model.depth == 1:
            yield from self._single(p, R)

    def _printed(self, p: Problem, R: Proximal) -> Claim:
        Z = p.start.solved.Z
        layer, a = p.start.network.layers[-1], p.model.alpha
        before = p.start.network.blocks(Z)[-2]
        gradient, error = block_gradient(layer, Z, a)
        wanted = before - Z - gradient
        off = float(np.linalg.norm(wanted - R.subgradient(Z, wanted)))
        noise = error + 3 * p.start.solved.error * (1 + R.turn(Z))
        return self.printed_block(
            residual=Measured(off), noise=tolerance(noise, float(np.linalg.norm(Z)))
        )

    def _supports(self, p: Problem, R: Proximal, pull: np.ndarray) -> Claim:
        solved, worst = p.start.solved, Worst()
        Z, here = solved.Z, R.value(solved.Z)
        off = 3 * solved.error + p.start.map.noise(Z)
        for drawn in points(p, "xie2021/sec4.1.points"):
            # Points of the domain: whatever the prox gives.
            u = R.prox(drawn)
            step, there = u - Z, R.value(u)
            size = float(np.linalg.norm(step))
            own = gap_noise(float(np.linalg.norm(pull)), size) + value_noise(here, there, Z.size)
            worst.see(here + float(np.vdot(pull, step)) - there, off * (size + R.growth(Z)) + own)
        return self.supports(shortfall=worst.value, noise=Measured(worst.noise))

    def _lowest(self, p: Problem, R: Proximal) -> Claim:
        solved, a, worst = p.start.solved, p.model.alpha, Worst()
        hidden = Hidden(p.start.network.layers[0])
        here = a * hidden.envelope(solved.Z) + R.value(solved.Z)
        # The smooth part is stationary up to the subgradient of R, and 1-Lipschitz beyond.
        off = solved.error * (R.growth(solved.Z) + solved.error)
        off += solved.error * float(np.linalg.norm(solved.Z - hidden.f(solved.Z)))
        off += p.start.map.noise(solved.Z) * (1 + R.growth(solved.Z))
        for drawn in points(p, "xie2021/sec4.1.points"):
            u = R.prox(drawn)
            there = a * hidden.envelope(u) + R.value(u)
            own = value_noise(R.value(solved.Z), R.value(u), u.size)
            own += hidden.noise(u) + hidden.noise(solved.Z) + hidden.dip(u - solved.Z)
            worst.see(here - there, off + own)
        return self.lowest(excess=worst.value, noise=tolerance(worst.noise, hidden.scale(solved.Z)))

    def _single(self, p: Problem, R: Proximal) -> Iterable[Claim]:
        solved, layer, a = p.start.solved, p.start.network.layers[0], p.model.alpha
        hidden, shape = Hidden(layer), p.start.solved.Z.shape
        yield self._lowest(p, R)
        if isinstance(R, Quadratic):

            def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
                u = x.reshape(shape)
                value = a * hidden.envelope(u) + R.value(u)
                return value, (a * (u - hidden.f(u)) + R.gradient(u)).ravel()

            x, slope = minimised(objective, np.zeros(solved.Z.size))
            convexity = a * (1 - layer.s.slopes[1] * layer.norm**2)
            convexity += float(np.linalg.eigvalsh(R.hessian)[0])
            size = float(np.linalg.norm(solved.Z))
            reach = (
                (slope + work(layer, size)) / convexity + solved.error if convexity > 0 else np.inf
            )
            distance = float(np.linalg.norm(x.reshape(shape) - solved.Z))
            yield self.objective(distance=Measured(distance), noise=tolerance(reach, size))
        weight = getattr(p.model.fields.prox, "weight", None)
        if weight is not None:
            yield self._shrinks(p, R)

    def _shrinks(self, p: Problem, R: Proximal) -> Claim:
        doubled = type(p.model.fields.prox)(
            **{**vars(p.model.fields.prox), "weight": 2 * p.model.fields.prox.weight}
        )
        twice = doubled.on(p.model.m, p.start.Wo)
        other = FixedPoint(p.start.network, twice).solve(p.start.solved.Z)
        Z, solved = other.Z, p.start.solved
        slope, twofold, single = R.growth(Z) + R.growth(solved.Z), R.value(Z), R.value(solved.Z)
        noise = slope * (other.error + solved.error) + value_noise(single, twofold, Z.size)
        return self.shrinks(
            R_double=Measured(twofold), R_single=Measured(single), noise=Measured(noise)
        )


def value_noise(here: float, there: float, count: int) -> float:
    """Rounding of two sums over the entries of a state."""
    return errors.rounding(2 + count, abs(here) + abs(there)) if np.isfinite(there) else 0.0
