"""Section 4.1: a last layer prox_R adds a regulariser to the hidden objective."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.models.opteq.equilibrium import FixedPoint
from deqcheck.models.opteq.regularizers import Quadratic
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.blocks import block_gradient
from deqcheck.theorems.xie2021.common import (
    Pointwise,
    cite,
    found,
    nonexpansive,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm2 import inclusion_residuals


class Section41(Pointwise):
    """Fixed points of prox_R o T. Printed: they solve the inclusion of Theorem 2 with R(z_L) added
    to Phi, with L blocks as before. Corrected: R is a further block, L + 1 in all; for one layer
    the fixed point minimises a M_phi^1 + R, so a larger weight of R never gives a larger R.
    """

    id = "xie2021/sec4.1"
    title = "A last proximal layer adds a regulariser"
    cite = cite("Section 4.1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The regulariser needs a block of its own: for one layer f(z) = z/2 + 1/2 "
        "(phi = u^2/2 - u) and R = u^2/2 the fixed point of prox_R o f is 1/3, while the minimiser "
        "of phi + R is 1/2."
    )

    regular = Check("a regulariser is given (model.prox)", "given == 1", "setting")
    printed_block = Check("last block with R added", "residual <= noise", "section 4.1")
    inclusion = Check("block residual", "residual <= noise", "corrected")
    extra = Check("residual of the block of R", "residual <= noise", "corrected")
    objective = Check("minimiser of a M_phi^1 + R (BFGS)", "distance <= noise", "corrected")
    shrinks = Check("twice the weight, no larger R", "R_double <= R_single + noise", "corrected")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.regular(given=p.model.fields.prox is not None)
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        R, solved = p.start.map.prox, p.start.solved
        if R is None or not solved.found:
            return
        if self.printed:
            yield self._printed(p, R)
            return
        for i, (off, noise, size) in enumerate(inclusion_residuals(p, solved), start=1):
            yield self.inclusion(f"block {i}", residual=Measured(off), noise=tolerance(noise, size))
        before = p.start.network.T(solved.Z)
        size = float(np.linalg.norm(before))
        noise = 3 * solved.error + p.start.map.noise(solved.Z) * (1 + _smoothness(R))
        off = float(np.linalg.norm(before - solved.Z - subgradient(R, solved.Z, before - solved.Z)))
        yield self.extra(residual=Measured(off), noise=tolerance(noise, size))
        if p.model.depth == 1:
            yield from self._single(p, R)

    def _printed(self, p: Problem, R: Any) -> Claim:
        Z = p.start.solved.Z
        layer, a = p.start.network.layers[-1], p.model.alpha
        before = p.start.network.blocks(Z)[-2]
        gradient, error = block_gradient(layer, Z, a)
        wanted = before - Z - gradient
        off = float(np.linalg.norm(wanted - subgradient(R, Z, wanted)))
        noise = error + 3 * p.start.solved.error * (1 + _smoothness(R))
        return self.printed_block(
            residual=Measured(off), noise=tolerance(noise, float(np.linalg.norm(Z)))
        )

    def _single(self, p: Problem, R: Any) -> Iterable[Claim]:
        solved, layer, a = p.start.solved, p.start.network.layers[0], p.model.alpha
        hidden, shape = Hidden(layer), p.start.solved.Z.shape
        if isinstance(R, Quadratic):
            x, slope = minimised(
                lambda x: a * hidden.envelope(x.reshape(shape)) + R.value(x.reshape(shape)),
                lambda x: (
                    a * (x.reshape(shape) - hidden.f(x.reshape(shape)))
                    + R.gradient(x.reshape(shape))
                ).ravel(),
                np.zeros(solved.Z.size),
            )
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

    def _shrinks(self, p: Problem, R: Any) -> Claim:
        doubled = type(p.model.fields.prox)(
            **{**vars(p.model.fields.prox), "weight": 2 * p.model.fields.prox.weight}
        )
        twice = doubled.on(p.model.m, p.start.Wo)
        other = FixedPoint(p.start.network, twice).solve(p.start.solved.Z)
        Z, solved = other.Z, p.start.solved
        slope = _growth(R, Z) + _growth(R, solved.Z)
        return self.shrinks(
            R_double=Measured(R.value(Z)),
            R_single=Measured(R.value(solved.Z)),
            noise=Measured(slope * (other.error + solved.error)),
        )


def _smoothness(R: Any) -> float:
    return R.smoothness if isinstance(R, Quadratic) else 0.0


def _growth(R: Any, Z: np.ndarray) -> float:
    """A Lipschitz constant of R near Z."""
    if isinstance(R, Quadratic):
        return float(np.linalg.norm(R.gradient(Z))) + R.smoothness
    return float(R.weight * np.sqrt(Z.size))


def subgradient(R: Any, Z: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The subgradient of R at Z that is nearest to the wanted one."""
    if isinstance(R, Quadratic):
        return R.gradient(Z)
    found: np.ndarray = np.where(
        Z != 0, R.weight * np.sign(Z), np.clip(wanted, -R.weight, R.weight)
    )
    return found
