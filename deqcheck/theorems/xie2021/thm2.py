"""Theorem 2 and Corollary 1: the inclusion and, for two layers, the equilibrium's objective."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.opteq.equilibrium import OpteqEquilibrium
from deqcheck.models.opteq.network import Layer
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.blocks import block_gradient, block_value
from deqcheck.theorems.xie2021.common import (
    UNKNOWN,
    Pointwise,
    cite,
    found,
    nonexpansive,
    plain,
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
        size = float(np.linalg.norm(here) + np.linalg.norm(before))
        if a == 1:
            yield fenchel_gap(layer, before), Hidden(layer).noise(before), size
            continue
        gradient, error = block_gradient(layer, here, a)
        yield float(np.linalg.norm(gradient + here - before)), error + work(layer, size), size


def fenchel_gap(layer: Layer, Z: np.ndarray) -> float:
    """a = 1: z_{i-1} - z_i is a subgradient of phi_i at z_i = f(z_{i-1}) if and only if
    phi(f(z)) + psi(z) + |f(z)|^2/2 = <f(z), z>, with phi from the conjugate of S."""
    hidden = Hidden(layer)
    return abs(hidden.phi_conjugate(Z) - hidden.phi_at_image(Z))


class Corollary1(Pointwise):
    """For two layers the equilibrium minimises a M_{phi_1}^(1-a)(z_1) + a M_{phi_2}^(1-a)(z_0)
    + |z_1 - z_0|^2/2.
    """

    id = "xie2021/cor1"
    title = "For two layers the equilibrium minimises one objective"
    cite = cite("Corollary 1")

    two = Check("two layers", "L == 2", "Corollary 1")
    proper = Check("a real skip connection", "alpha < 1", "Corollary 1")
    minimiser = Check(
        "equilibrium minimises the objective (BFGS)", "distance <= noise", "Corollary 1"
    )
    lowest = Check("value at the equilibrium against BFGS", "excess <= noise", "Corollary 1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.two(L=p.model.depth)
        yield self.proper(alpha=p.model.alpha)
        yield plain(p)
        yield nonexpansive(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if not p.start.solved.found or p.model.depth != 2 or p.model.alpha == 1:
            return
        Z0 = p.start.solved.Z
        Z1 = p.start.network.layers[0].f(Z0)
        shape, half = Z0.shape, Z0.size
        layers, a = p.start.network.layers, p.model.alpha

        def objective(x: np.ndarray) -> tuple[float, np.ndarray, float]:
            first, last = x[:half].reshape(shape), x[half:].reshape(shape)
            v1, g1, e1 = block_value(layers[0], first, a)
            v0, g0, e0 = block_value(layers[1], last, a)
            apart = first - last
            gradient = np.concatenate([(g1 + apart).ravel(), (g0 - apart).ravel()])
            return v1 + v0 + float(np.vdot(apart, apart)) / 2, gradient, e1 + e0

        start = np.concatenate([p.model.Z0.ravel(), p.model.Z0.ravel()])
        x, slope = minimised(lambda x: objective(x)[0], lambda x: objective(x)[1], start)
        there = np.concatenate([Z1.ravel(), Z0.ravel()])
        size = float(np.linalg.norm(there))
        noise = 1e2 * sum(work(layer, size) for layer in layers) / (1 - a)
        convexity = min(modulus(Hidden(layer).modulus, a) for layer in layers)
        reach = (slope + objective(x)[2] / (1 - a) + noise) / convexity if convexity > 0 else np.inf
        distance = float(np.linalg.norm(x - there))
        room = reach + 2 * p.start.solved.error
        limit = tolerance(room, size) if np.isfinite(room) else UNKNOWN
        yield self.minimiser(distance=Measured(distance), noise=limit)
        scale = sum(Hidden(layer).noise(Z0) for layer in layers) + noise * size
        excess = objective(there)[0] - objective(x)[0]
        yield self.lowest(excess=Measured(excess), noise=tolerance(scale, size))


def modulus(phi: float, alpha: float) -> float:
    """Strong convexity of a M_phi^(1-a) for a phi-strongly convex function."""
    return alpha / (1 - alpha) if phi == np.inf else alpha * phi / (1 + (1 - alpha) * phi)
