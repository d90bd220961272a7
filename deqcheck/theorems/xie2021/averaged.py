"""Lemmas 9, 10 and 13: the maps that SAM mixes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.convex import Quadratic
from deqcheck.models.opteq.equilibrium import Existence
from deqcheck.models.opteq.sweep import Sam
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, measured
from deqcheck.theorems.base import Check, Space
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    gap_noise,
    nonexpansive,
    overshoot,
    points,
    states_around,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.resting import RestingSet
from deqcheck.theorems.xie2021.setting import Problem

# How many fixed points are drawn.
VERTICES = 8
# In how many states a Hessian that is not constant is looked at.
HESSIANS = 8
GIVEN = Check("SAM is used", "sam == 1", "setting")
# For searches, weights that the hypotheses of Theorem 4 admit: L_z = 1 and 1/2.
ADMITTED = tuple(
    {"beta": eta, "lambda": eta, "gamma": gamma, "rho": rho, "c": c, "regularizer": R}
    for R, eta, gamma in (
        ("distance", 0.5, 0.5),
        ({"kind": "potential", "weight": 0.5}, 0.25, 1.0),
        ("least-squares", 0.1, 0.1),
    )
    for rho, c in ((0.3, 0.3), (0.5, 0.2))
)


class Lemma9(Pointwise):
    """S(x) = x - g (grad R(x) + lambda x) with R convex and L_z-smooth, g <= 1/(2 L_z) and lambda
    <= L_z/2 stretches distances by at least 1/4 and at most 1 - g lambda/2. The lower constant is
    blotted: the last legible line of the proof, 1/4 - 3/16 of the squared distance, gives 1/4,
    which is right and sharp; 1/2 could be read as well, and is looked at in a remark. The paper
    sets g = 1/(2 L_z). What is granted to the rounding of its conditions (1e-12) is granted to the
    bounds, too.
    """

    id = "xie2021/lem9"
    title = "The regulariser's step is a contraction, bounded below"
    cite = cite("Lemma 9")
    erratum = (
        "The lower constant is blotted. Read as 1/2 it would be wrong: R = x^2/2 with "
        "lambda = g = 1/2 gives S(x) = x/4. Read as 1/4, as the proof's 1/4 - 3/16 suggests, the "
        "lemma holds."
    )

    space = Space(fields={"sam": ()})

    given = GIVEN
    step = Check("g at most 1/(2 L_z)", "2*gamma*L_z <= 1 + 1e-12", "Lemma 9")
    damping = Check("lambda at most L_z/2", "2*lambda_1 <= L_z*(1 + 1e-12)", "Lemma 9")
    half = Check("distances shrink at most to 1/2 (the other reading)", "smallest >= 0.5")
    quarter = Check("distances shrink at most to 1/4", "smallest >= 0.25 - 2e-12", "Lemma 9")
    upper = Check("distances shrink", "largest <= 1 - gamma*lambda_1/2 + 2e-12", "Lemma 9")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        sam = p.start.sam
        yield self.given(sam=sam is not None)
        if sam is None:
            return
        L_z = smoothness(sam)
        yield self.step(gamma=given(sam.gamma), L_z=L_z)
        yield self.damping(lambda_1=given(sam.lambda_), L_z=L_z)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if (sam := p.start.sam) is not None:
            smallest, largest = stretches(p, sam)
            yield self.quarter(smallest=smallest)
            yield self.upper(largest=largest, gamma=given(sam.gamma), lambda_1=given(sam.lambda_))

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        if (sam := p.start.sam) is not None:
            yield self.half(smallest=stretches(p, sam)[0])


def stretches(p: Problem, sam: Sam) -> tuple[Measured, Measured]:
    """The smallest and the largest |eigenvalue| of (1 - g lambda) I - g H: of a quadratic R, H is
    A^T A; of others it is looked at in drawn states."""
    flat = isinstance(sam.R, Quadratic)
    drawn = p.model.Z0[None, :, :1] if flat else states_around(p, "xie2021/lem9.points", HESSIANS)
    # ||A^T A||_F, or that of a Hessian, is at most m L_z.
    noise = errors.rounding(2 * p.model.m, 1 + sam.gamma * (sam.lambda_ + sam.R.smoothness))
    noise += sam.gamma * sam.R.rounding(1.0, 1)
    ends = []
    for Z in drawn:
        for V in sam.jacobians(Z, sam.weights[0]):
            sizes = abs(errors.symmetric_eigenvalues(V, noise))
            ends += [sizes[int(np.argmin(sizes.value))], sizes[int(np.argmax(sizes.value))]]
    return min(ends, key=lambda size: size.value), max(ends, key=lambda size: size.value)


def smoothness(sam: Sam) -> Measured:
    """L_z of the regulariser."""
    return sam.R.L_z


class Lemma10(Pointwise):
    """For nonexpansive T the fixed points form a closed convex set and I - T is monotone. (Closed,
    because T is continuous: there is nothing to compute.) Convexity is looked at where the fixed
    points are known: a single one, or layers with orthonormal rows and no drive.
    """

    id = "xie2021/lem10"
    title = "Fixed points of a nonexpansive map form a convex set"
    cite = cite("Lemma 10")

    monotone = Check(f"I - T is monotone on {DRAWS} random pairs", "shortfall <= noise", "Lemma 10")
    convex = Check(
        f"points between {VERTICES} drawn fixed points are fixed", "residual <= noise", "Lemma 10"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        T, beyond = p.start.network.T, overshoot(p.start.network)
        drawn = points(p, "xie2021/lem10.points", 2 * DRAWS)
        worst = Worst()
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            d = a - b
            moved = d - (T(a) - T(b))
            size = euclidean(d)
            allowed = size * 2 * _work(p, a, b) + gap_noise(size, size) + beyond * size**2
            worst.see(-float(np.vdot(moved, d)), allowed)
        yield self.monotone(shortfall=worst.value, noise=Measured(worst.noise))
        resting = RestingSet.of(p)
        if resting is not None:
            yield self._convex(p, resting)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.start.solved.existence is not Existence.UNIQUE and RestingSet.of(p) is None:
            yield (
                "whether the fixed points form a convex set: they are not known here; weights "
                "below 1, or layers with orthonormal rows and no drive"
            )

    def _convex(self, p: Problem, resting: RestingSet) -> Claim:
        vertices = resting.extremes(p, "xie2021/lem10.fixed", VERTICES)
        worst = 0.0
        for i, a in enumerate(vertices):
            b = vertices[i - 1]
            Z = np.repeat(((a + b) / 2)[:, None], p.model.N, axis=1)
            worst = float(np.maximum(worst, np.linalg.norm(p.start.network.T(Z) - Z)))
        size = float(np.sqrt(p.model.N)) * max(euclidean(v) for v in vertices)
        off = float(np.sqrt(p.model.N)) * max(resting.missed(v) for v in vertices)
        return self.convex(residual=Measured(worst), noise=tolerance(off + _work(p, Z, Z), size))


def _work(p: Problem, a: np.ndarray, b: np.ndarray) -> float:
    size = euclidean(a) + euclidean(b)
    return sum(work(layer, size) for layer in p.start.network.layers)


class Lemma13(Pointwise):
    """f_l o ... o f_1 is averaged for every l. Explicitly, with zeta_l = a l/(2 + (l - 1) a): each
    layer is a/2-averaged because a proximal operator is 1/2-averaged.
    """

    id = "xie2021/lem13"
    title = "The composition of layers is averaged"
    cite = cite("Lemma 13")
    uses = ("xie2021/thm1",)

    averaged = Check(
        f"(f_l o ... o f_1 - (1 - zeta_l) I)/zeta_l is nonexpansive on {DRAWS} random pairs",
        "stretch <= 1 + noise",
        "Lemma 13",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)

    def zeta(self, p: Problem, depth: int) -> float:
        a = p.model.alpha
        return float(a * depth / (2 + (depth - 1) * a))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        a, L = measured(p.model.alpha), p.model.depth
        return {"zeta": a * L / (2 + (L - 1) * a)}

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        network = p.start.network
        drawn = points(p, "xie2021/lem13.points", 2 * DRAWS)
        worst, beyond = Worst(), overshoot(network)
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            d = a - b
            size = euclidean(d)
            ends = zip(network.blocks(a)[1:], network.blocks(b)[1:], strict=True)
            for depth, (fa, fb) in enumerate(ends, start=1):
                zeta = self.zeta(p, depth)
                stretch = float(np.linalg.norm((fa - fb - (1 - zeta) * d) / zeta)) / size
                worst.see(stretch, (2 * _work(p, a, b) / size + beyond) / zeta)
        yield self.averaged(stretch=worst.value, noise=Measured(worst.noise))
