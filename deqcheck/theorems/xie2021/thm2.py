"""Theorem 2 and Corollary 1: the inclusion and, for two layers, the equilibrium's objective."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.equilibrium import OpteqEquilibrium
from deqcheck.models.opteq.network import Layer
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check, Space
from deqcheck.theorems.xie2021.blocks import block_gradient, block_value
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    found,
    nonexpansive,
    plain,
    points,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised
from deqcheck.theorems.xie2021.setting import Problem


class Theorem2(Pointwise):
    """An equilibrium of a deep network, in blocks, solves 0 in dPhi(zt) + (I - P) zt with
    Phi = sum_i a M_{phi_i}^(1-a)(z_i), where the last block is z_0 and a = 1 means Phi = sum phi_i.
    """

    id = "xie2021/thm2"
    title = "The equilibrium of a deep network solves a monotone inclusion"
    cite = cite("Theorem 2")
    uses = ("xie2021/lem3", "xie2021/lem6", "xie2021/thm1")

    inclusion = Check("block residual", "residual <= noise", "Theorem 2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield plain(p)
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        solved: OpteqEquilibrium = p.start.solved
        if not solved.found:
            return
        for i, (off, noise, size) in enumerate(inclusion_residuals(p, solved), start=1):
            yield self.inclusion(f"block {i}", residual=Measured(off), noise=tolerance(noise, size))


def inclusion_residuals(
    p: Problem, solved: OpteqEquilibrium
) -> Iterable[tuple[float, float, float]]:
    """|grad Phi_i(z_i) + z_i - z_{i-1}| for each block, its noise and the block's size."""
    a = p.model.alpha
    blocks = p.start.network.blocks(solved.Z)
    for layer, before, here in zip(p.start.network.layers, blocks[:-1], blocks[1:], strict=True):
        size = euclidean(here) + euclidean(before)
        if a == 1:
            yield fenchel_gap(layer, before), Hidden(layer).noise(before), size
            continue
        gradient, error = block_gradient(layer, here, a)
        yield euclidean(gradient + here - before), error + work(layer, size), size


def fenchel_gap(layer: Layer, Z: np.ndarray) -> float:
    """a = 1: z_{i-1} - z_i is a subgradient of phi_i at z_i = f(z_{i-1}) if and only if
    phi(f(z)) + psi(z) + |f(z)|^2/2 = <f(z), z>, with phi from the conjugate of S."""
    hidden = Hidden(layer)
    return abs(hidden.phi_conjugate(Z) - hidden.phi_at_image(Z))


class Corollary1(Pointwise):
    """For two layers the equilibrium minimises a M_{phi_1}^(1-a)(z_1) + a M_{phi_2}^(1-a)(z_0)
    + |z_1 - z_0|^2/2, where a = 1 means phi_1(z_1) + phi_2(z_0) + |z_1 - z_0|^2/2. The objective is
    convex: its gradient decides (a = 1: Fenchel's equality for a subgradient), whether or not the
    minimiser is unique.
    """

    id = "xie2021/cor1"
    title = "For two layers the equilibrium minimises one objective"
    cite = cite("Corollary 1")
    uses = ("xie2021/thm2",)

    space = Space(fields={"depth": (2,)})

    two = Check("two layers", "L == 2", "Corollary 1")
    stationary = Check("the objective is stationary", "residual <= noise", "Corollary 1")
    lowest = Check(
        f"no point found has a smaller objective (BFGS; for a = 1, {DRAWS} draws)",
        "excess <= noise",
        "Corollary 1",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.two(L=p.model.depth)
        yield plain(p)
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if not p.start.solved.found or p.model.depth != 2:
            return
        for name, (off, noise, size) in zip(
            ("z_1", "z_0"), inclusion_residuals(p, p.start.solved), strict=True
        ):
            yield self.stationary(name, residual=Measured(off), noise=tolerance(noise, size))
        yield self._drawn(p) if p.model.alpha == 1 else self._searched(p)

    def _searched(self, p: Problem) -> Claim:
        Z0, layers, a = p.start.solved.Z, p.start.network.layers, p.model.alpha
        shape, half = Z0.shape, Z0.size

        def objective(x: np.ndarray) -> tuple[float, np.ndarray, float]:
            first, last = x[:half].reshape(shape), x[half:].reshape(shape)
            v1, g1, e1 = block_value(layers[0], first, a)
            v0, g0, e0 = block_value(layers[1], last, a)
            apart = first - last
            gradient = np.concatenate([(g1 + apart).ravel(), (g0 - apart).ravel()])
            return v1 + v0 + float(np.vdot(apart, apart)) / 2, gradient, e1 + e0

        start = np.concatenate([p.model.Z0.ravel(), p.model.Z0.ravel()])
        x, _ = minimised(lambda x: objective(x)[:2], start)
        there = np.concatenate([layers[0].f(Z0).ravel(), Z0.ravel()])
        (least, _, miss), (here, _, own) = objective(x), objective(there)
        miss += max(Hidden(layer).dip(x - there) for layer in layers)
        # The gradient is 0 at the equilibrium and (2 + a/(1 - a))-Lipschitz; both blocks are off.
        off = (2 + a / (1 - a)) * (2 * p.start.solved.error) ** 2
        limit = tolerance(miss + own + off, abs(here))
        return self.lowest(excess=Measured(here - least), noise=limit)

    def _drawn(self, p: Problem) -> Claim:
        """a = 1: phi is known where f maps to, and z_1 = f_1(z_0), z_0 = f_2(z_1)."""
        first, last = (Hidden(layer) for layer in p.start.network.layers)

        def objective(w: np.ndarray, v: np.ndarray) -> tuple[float, float]:
            apart = first.f(w) - last.f(v)
            value = first.phi_conjugate(w) + last.phi_conjugate(v)
            return value + float(np.vdot(apart, apart)) / 2, first.noise(w) + last.noise(v)

        Z0 = p.start.solved.Z
        Z1 = first.f(Z0)
        here, own = objective(Z0, Z1)
        # Its derivatives by w and v vanish at the equilibrium and grow at most twice as fast.
        own += 8 * p.start.solved.error**2
        drawn, worst = points(p, "xie2021/cor1.points", 2 * DRAWS), Worst()
        for w, v in zip(drawn[::2], drawn[1::2], strict=True):
            value, noise = objective(w, v)
            dip = first.dip(first.f(w) - Z1) + last.dip(last.f(v) - Z0)
            worst.see(here - value, noise + own + dip)
        return self.lowest(excess=worst.value, noise=tolerance(worst.noise, abs(here)))
