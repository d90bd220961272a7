"""Lemmas 9, 10 and 13: the maps that SAM mixes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq.sweep import Sam
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    gap_noise,
    nonexpansive,
    points,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.resting import RestingSet
from deqcheck.theorems.xie2021.setting import Problem

GIVEN = Check("SAM is used", "given == 1", "setting")


class Lemma9(Pointwise):
    """S(x) = x - g (grad R(x) + lambda x) with R convex and L_z-smooth, g <= 1/(2 L_z) and
    lambda <= L_z/2 stretches distances by at least 1/4 (corrected; 1/2 in the printed reading) and
    at most 1 - g lambda/2.
    """

    id = "xie2021/lem9"
    title = "The regulariser's step is a contraction, bounded below"
    cite = cite("Lemma 9")
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Read with the lower constant 1/2 the lemma is false: R = x^2/2 with lambda = g = 1/2 "
        "gives S(x) = x/4. The constant 1/4 is right and sharp."
    )

    given = GIVEN
    step = Check("g at most 1/(2 L_z)", "2*gamma*L_z <= 1 + 1e-12", "Lemma 9")
    damping = Check("lambda at most L_z/2", "lambda_1 <= L_z/2 + 1e-12", "Lemma 9")
    half = Check("distances shrink at most to 1/2", "smallest >= 0.5", "Lemma 9, printed")
    quarter = Check("distances shrink at most to 1/4", "smallest >= 0.25", "Lemma 9")
    upper = Check("distances shrink", "largest <= 1 - gamma*lambda_1/2", "Lemma 9")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        sam = p.start.sam
        yield self.given(given=sam is not None)
        if sam is None:
            return
        L_z = smoothness(sam)
        yield self.step(gamma=sam.gamma, L_z=L_z)
        yield self.damping(lambda_1=sam.lambda_, L_z=L_z)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        sam = p.start.sam
        if sam is None:
            return
        jacobian = (1 - sam.gamma * sam.lambda_) * np.eye(p.model.m) - sam.gamma * sam.R.hessian
        spectrum = errors.symmetric_eigenvalues(jacobian, errors.rounding(len(sam.R.A), 1.0))
        sizes = abs(spectrum)
        smallest, largest = (sizes[int(pick(sizes.value))] for pick in (np.argmin, np.argmax))
        yield (self.half if self.printed else self.quarter)(smallest=smallest)
        yield self.upper(largest=largest, gamma=sam.gamma, lambda_1=sam.lambda_)


def smoothness(sam: Sam) -> Measured:
    """L_z of the regulariser."""
    return errors.norm2(sam.R.A) ** 2


class Lemma10(Pointwise):
    """For nonexpansive T the fixed points form a closed convex set and I - T is monotone."""

    id = "xie2021/lem10"
    title = "Fixed points of a nonexpansive map form a convex set"
    cite = cite("Lemma 10")

    monotone = Check(f"I - T is monotone on {DRAWS} random pairs", "shortfall <= noise", "Lemma 10")
    convex = Check(
        f"points between fixed points are fixed ({DRAWS} draws)", "residual <= noise", "Lemma 10"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        T = p.start.network.T
        drawn = points(p, "xie2021/lem10.points", 2 * DRAWS)
        worst = Worst()
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            d = a - b
            moved = d - (T(a) - T(b))
            size = float(np.linalg.norm(d))
            allowed = size * 2 * _work(p, a, b) + gap_noise(size, size) + 1e-11 * size**2
            worst.see(-float(np.vdot(moved, d)), allowed)
        yield self.monotone(shortfall=worst.value, noise=Measured(worst.noise))
        resting = RestingSet.of(p)
        if resting is not None and resting.bounded:
            yield self._convex(p, resting)

    def _convex(self, p: Problem, resting: RestingSet) -> Claim:
        vertices = resting.extremes(p, "xie2021/lem10.fixed", 8)
        worst = 0.0
        for i, a in enumerate(vertices):
            b = vertices[i - 1]
            Z = np.repeat(((a + b) / 2)[:, None], p.model.N, axis=1)
            worst = float(np.maximum(worst, np.linalg.norm(p.start.network.T(Z) - Z)))
        size = max(float(np.linalg.norm(v)) for v in vertices)
        # Vertices come from linear programs, accurate to about 1e-9.
        return self.convex(
            residual=Measured(worst), noise=tolerance(1e-8 * max(size, 1.0) + _work(p, Z, Z), size)
        )


def _work(p: Problem, a: np.ndarray, b: np.ndarray) -> float:
    size = float(np.linalg.norm(a) + np.linalg.norm(b))
    return sum(work(layer, size) for layer in p.start.network.layers)


class Lemma13(Pointwise):
    """T is zeta-averaged with zeta = a L/(2 + (L - 1) a): each layer is a/2-averaged because a
    proximal operator is 1/2-averaged.
    """

    id = "xie2021/lem13"
    title = "The composition of layers is averaged"
    cite = cite("Lemma 13")

    averaged = Check(
        f"(T - (1 - zeta) I)/zeta is nonexpansive on {DRAWS} random pairs",
        "stretch <= 1 + noise",
        "Lemma 13",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)

    def zeta(self, p: Problem) -> float:
        a, L = p.model.alpha, p.model.depth
        return float(a * L / (2 + (L - 1) * a))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        a, L = measured(p.model.alpha), p.model.depth
        return {"zeta": a * L / (2 + (L - 1) * a)}

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        zeta, T = self.zeta(p), p.start.network.T
        drawn = points(p, "xie2021/lem13.points", 2 * DRAWS)
        worst = Worst()
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            d = a - b
            size = float(np.linalg.norm(d))
            moved = (T(a) - T(b) - (1 - zeta) * d) / zeta
            stretch = float(np.linalg.norm(moved)) / size
            allowed = 2 * _work(p, a, b) / (zeta * size) + 1e-11 / zeta
            worst.see(stretch, allowed)
        yield self.averaged(stretch=worst.value, noise=Measured(worst.noise))
