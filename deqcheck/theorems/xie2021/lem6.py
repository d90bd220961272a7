"""Lemmas 5 and 6: which maps are proximal operators.

A map u(z) picks subgradients of a convex function if and only if it is cyclically monotone
(Rockafellar): sum_i <u_i, z_{i+1} - z_i> <= 0 around every cycle z_1, ..., z_n, z_1. So f = grad
psi with psi convex is sum <f(z_i), z_{i+1} - z_i> <= 0, and f = prox_phi with phi convex, that is
z - f(z) in dphi(f(z)), is sum <z_i - f(z_i), f(z_{i+1}) - f(z_i)> <= 0: neither phi nor psi is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.convex import Proximal
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Constant
from deqcheck.theorems.drawn import number
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    TOLERANCE,
    Pointwise,
    Worst,
    cite,
    gap_noise,
    nonexpansive,
    points,
    work,
)
from deqcheck.theorems.xie2021.setting import Problem

# Points on each cycle; two alone would test monotone, not gradients.
CYCLE = 4
CYCLES = DRAWS // CYCLE
Points = Sequence[np.ndarray]


class Drawn(NamedTuple):
    """Points, their images, and how far the images may be off."""

    z: Points
    u: Points
    noise: float


def cyclic(left: Points, right: Points, noise: float) -> tuple[float, float]:
    """sum_i <left_i, right_{i+1} - right_i> around each cycle: the largest, and its noise; `noise`
    is how far a left or right one may be off."""
    worst = Worst()
    for first in range(0, len(left), CYCLE):
        total = allowed = 0.0
        for i in range(CYCLE):
            a = left[first + i]
            step = right[first + (i + 1) % CYCLE] - right[first + i]
            sizes = euclidean(a), euclidean(step)
            total += float(np.vdot(a, step))
            # What is granted to norms of 1 is granted to the inner products.
            allowed += noise * (2 * sizes[0] + sizes[1]) + gap_noise(*sizes)
            allowed += errors.rounding(a.size, sizes[0] * sizes[1])
            allowed += 4 * TOLERANCE * sizes[1] ** 2
        worst.see(total, allowed)
    return float(worst.value.value), worst.noise


def stretch(z: Points, u: Points, noise: float) -> tuple[float, float]:
    """The largest |u_i - u_j|/|z_i - z_j| of neighbours, and its noise."""
    worst = Worst()
    for a, b, ua, ub in zip(z[:-1], z[1:], u[:-1], u[1:], strict=True):
        size = euclidean(a - b)
        if size > 0:
            ratio = euclidean(ua - ub) / size
            worst.see(ratio, 2 * noise / size + 4 * TOLERANCE + errors.rounding(a.size, 1.0))
    return float(worst.value.value), worst.noise


class Lemma5(Pointwise):
    """f is the proximal operator of a convex phi if and only if it is the gradient of a convex psi
    and nonexpansive; then phi = psi* - |.|^2/2 is one choice. Judged on maps of which both hold:
    every layer with its skip connection (xie2021/skip), and the prox_R of the case if it has one.
    """

    id = "xie2021/lem5"
    title = "Proximal operators are the nonexpansive gradients"
    cite = cite("Lemma 5")

    proximal = Check(
        f"f is a proximal operator: z - f(z) cyclically monotone in f(z), {CYCLES} cycles",
        "excess <= noise",
        "Lemma 5 (i)",
    )
    gradient = Check(
        f"f is a convex gradient: cyclically monotone, {CYCLES} cycles",
        "excess <= noise",
        "Lemma 5 (ii a)",
    )
    contracts = Check("f is nonexpansive", "ratio <= 1 + noise", "Lemma 5 (ii b)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        for name, drawn in self._maps(p):
            gaps = [z - u for z, u in zip(drawn.z, drawn.u, strict=True)]
            excess, noise = cyclic(gaps, drawn.u, drawn.noise)
            yield self.proximal(name, excess=Measured(excess), noise=Measured(noise))
            excess, noise = cyclic(drawn.u, drawn.z, drawn.noise)
            yield self.gradient(name, excess=Measured(excess), noise=Measured(noise))
            ratio, noise = stretch(drawn.z, drawn.u, drawn.noise)
            yield self.contracts(name, ratio=Measured(ratio), noise=Measured(noise))

    def _maps(self, p: Problem) -> Iterator[tuple[str, Drawn]]:
        z = list(points(p, "xie2021/lem5.points"))
        size = max(euclidean(Z) for Z in z)
        for i, layer in enumerate(p.start.network.layers, start=1):
            yield f"layer {i}", Drawn(z, [layer.f(Z) for Z in z], work(layer, size))
        R = p.start.map.prox
        if isinstance(R, Proximal):
            yield "prox_R", Drawn(z, [R.prox(Z) for Z in z], max(R.noise(Z) for Z in z))


class Lemma6(Pointwise):
    """Lemma 5 with an invertible 1-Lipschitz A between: (i) f(z) minimises |u|^2/2 - <u, A z> +
    phi(u) for a convex phi. Printed: that is so if and only if (ii) f o A is a convex gradient and
    f is nonexpansive. Corrected: if and only if f o A^-1 is a convex gradient and nonexpansive.
    Judged with A = c P, P the permutation of Theorem 2 and 0 < c <= 1, on maps made of the blocks G
    of the network, which is a proximal operator: f = G o A has (i), and so should have (ii); f = c
    G o A^-1 has the printed (ii), and so should have (i).
    """

    id = "xie2021/lem6"
    title = "Proximal operators behind an invertible map"
    cite = cite("Lemma 6", "(14)")
    uses = ("xie2021/lem5",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "A^-1 is meant in (ii), for A = the rotation by 90 degrees and phi = |u|^2/2 give f = A/2, "
        "and f o A = -I/2 is no convex gradient. With it, nonexpansive f are still not enough: for "
        "A = I/2 the identity has f o A^-1 = 2 I, while (i) allows slopes up to 1/2. f o A^-1 has "
        "to be nonexpansive; for an isometry, as in Theorem 2, that is the same."
    )
    constants = {"c": Constant("A = c P; default: 1", for_all=True)}

    invertible = Check("A is invertible", "c > 0", "Lemma 6")
    lipschitz = Check("A is 1-Lipschitz", "c <= 1", "Lemma 6")
    gradient = Check(
        "(i) gives (ii a): f o A is a convex gradient", "excess <= noise", "Lemma 6, printed"
    )
    contracts = Check("(i) gives (ii b): f is nonexpansive", "ratio <= 1 + noise", "Lemma 6")
    back = Check(
        "(ii) gives (i): A z - f(z) cyclically monotone in f(z)",
        "excess <= noise",
        "Lemma 6, printed",
    )
    right_gradient = Check(
        "(i) gives (ii a): f o A^-1 is a convex gradient", "excess <= noise", "corrected"
    )
    right_contracts = Check(
        "(i) gives (ii b): f o A^-1 is nonexpansive", "ratio <= 1 + noise", "corrected"
    )
    right_back = Check(
        "(ii) gives (i): A z - f(z) cyclically monotone in f(z)", "excess <= noise", "corrected"
    )

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {"c": 1.0, **self.fixed}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        c = given(self.constants_used(p)["c"])
        yield self.invertible(c=c)
        yield self.lipschitz(c=c)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        c, z = self.constants_used(p)["c"], _stacked_points(p)
        if not 0 < c <= 1:
            return
        A, inverse = _turn(p, c, 1), _turn(p, 1 / c, -1)
        G = _blocks(p)
        images = _map(A, z)
        if self.printed:
            yield from self._printed(p, z, A, inverse, G)
            return
        f = _drawn(p, z, lambda Z: G(A(Z)))
        yield self._cycle(self.right_gradient, f.u, images, f.noise)
        ratio, noise = stretch(images, f.u, f.noise)
        yield self.right_contracts(ratio=Measured(ratio), noise=Measured(noise))
        gaps = [y - u for y, u in zip(images, f.u, strict=True)]
        yield self._cycle(self.right_back, gaps, f.u, f.noise)

    def _printed(self, p: Problem, z: Points, A: Turn, inverse: Turn, G: Turn) -> Iterable[Claim]:
        f = _drawn(p, z, lambda Z: G(A(Z)))
        after = _drawn(p, _map(A, z), lambda Z: G(A(Z)))
        yield self._cycle(self.gradient, after.u, z, after.noise)
        ratio, noise = stretch(z, f.u, f.noise)
        yield self.contracts(ratio=Measured(ratio), noise=Measured(noise))
        c = self.constants_used(p)["c"]
        other = _drawn(p, z, lambda Z: c * G(inverse(Z)))
        gaps = [A(Z) - u for Z, u in zip(z, other.u, strict=True)]
        yield self._cycle(self.back, gaps, other.u, other.noise)

    def _cycle(self, check: Check, left: Points, right: Points, noise: float) -> Claim:
        excess, allowed = cyclic(left, right, noise)
        return check(excess=Measured(excess), noise=Measured(allowed))


Turn = Callable[[np.ndarray], np.ndarray]


def _map(f: Turn, z: Points) -> list[np.ndarray]:
    return [f(Z) for Z in z]


def _drawn(p: Problem, z: Points, f: Turn) -> Drawn:
    u = _map(f, z)
    size = max(euclidean(each) for each in (*z, *u))
    c_inverse = 1 + size
    noise = sum(2 * work(layer, size) for layer in p.start.network.layers)
    return Drawn(z, u, noise + errors.rounding(2, c_inverse))


def _stacked_points(p: Problem) -> list[np.ndarray]:
    """Blocks z_1, ..., z_{L-1}, z_0 as an array (L x m x N)."""
    shape = (p.model.depth, *p.model.Z0.shape)
    draw = rng(p.seed, "xie2021/lem6.points")
    sizes = 10.0 ** draw.uniform(-1, 1, size=DRAWS)
    return [size * draw.standard_normal(shape) for size in sizes[: number(DRAWS)]]


def _turn(p: Problem, factor: float, way: int) -> Turn:
    """factor times P, or P^-1: P (z_1, ..., z_{L-1}, z_0) = (z_0, z_1, ..., z_{L-1})."""
    return lambda Z: factor * np.roll(Z, way, axis=0)


def _blocks(p: Problem) -> Turn:
    """G: layer l on block l, the F o P^-1 of Theorem 2's proof."""
    layers: Sequence[Any] = p.start.network.layers

    def G(Z: np.ndarray) -> np.ndarray:
        return np.stack([layer.f(block) for layer, block in zip(layers, Z, strict=True)])

    return G
