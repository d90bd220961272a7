"""Theorem 1: a layer is the proximal operator of a hidden convex function."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    gap_noise,
    matrix_norm,
    points,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised, prox_by_nnls
from deqcheck.theorems.xie2021.setting import Problem

# How many of the drawn states have their Jacobians taken apart.
SPECTRA = 8


class Theorem1(Pointwise):
    """If mu >= L_s ||W||^2 and mu > 0, then f(z) = (1/mu) W^T s(W z + c) is the proximal operator
    of phi = psi* - |.|^2/2 with psi(z) = (1/mu) 1^T S(W z + c), and its fixed points are the
    minimisers of phi. Judged for every layer; the equilibrium for one layer with mu = 1.
    """

    id = "xie2021/thm1"
    title = "A layer is the proximal operator of a hidden convex function"
    cite = cite("Theorem 1")
    constants = {"mu": "scale of the layer; default: 1"}

    scale = Check("mu covers the slope", "mu + 1e-12 >= slope*norm_W^2", "Theorem 1")
    positive = Check("mu is positive", "mu > 0", "Theorem 1")
    convex = Check("Jacobian positive semidefinite", "smallest >= -noise", "Lemma 5")
    nonexpansive = Check("Jacobian at most the identity", "largest <= 1 + noise", "Lemma 5")
    firm = Check(f"firmly nonexpansive on {DRAWS} random pairs", "excess <= noise", "Lemma 5")
    envelope = Check(
        "phi from the conjugate gives the envelope |z|^2/2 - psi(z)",
        "deviation <= noise",
        "Theorem 1",
    )
    proximal = Check(
        f"no drawn point ({DRAWS}) has a smaller proximal objective",
        "shortfall <= noise",
        "Theorem 1",
    )
    minimiser = Check("equilibrium minimises the envelope (BFGS)", "distance <= noise", "Theorem 1")
    explicit = Check("equilibrium minimises phi (NNLS)", "distance <= noise", "Theorem 1")

    def _mu(self) -> float:
        return float(self.fixed.get("mu", 1.0))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        mu = measured(self._mu())
        yield self.positive(mu=mu)
        for layer in p.start.network.layers:
            yield self.scale(mu=mu, slope=layer.s.slopes[1], norm_W=matrix_norm(layer.W))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        drawn = points(p, "xie2021/thm1.points", 2 * DRAWS)
        for i, layer in enumerate(p.start.network.layers, start=1):
            hidden, note = Hidden(layer, self._mu()), f"layer {i}"
            yield from self._spectrum(hidden, drawn, note)
            yield self._firm(hidden, drawn, note)
            yield from self._prox(hidden, drawn, note)
        if p.model.depth == 1 and self._mu() == 1 and p.model.fields.prox is None:
            yield from self._equilibrium(p)

    def _spectrum(self, hidden: Hidden, drawn: np.ndarray, note: str) -> Iterable[Claim]:
        W = hidden.layer.W
        low, high = np.inf, -np.inf
        for Z in drawn[:SPECTRA]:
            jacobians = hidden.layer.slopes_between(hidden.pre(Z)) / hidden.mu
            spectrum = np.linalg.eigvalsh(jacobians)
            low, high = min(low, spectrum.min()), max(high, spectrum.max())
        noise = errors.rounding(sum(W.shape), max(1.0, high)) + 2e-12
        yield self.convex(note, smallest=Measured(float(low)), noise=noise)
        yield self.nonexpansive(note, largest=Measured(float(high)), noise=noise)

    def _firm(self, hidden: Hidden, drawn: np.ndarray, note: str) -> Claim:
        worst = Worst()
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            fa, fb = hidden.f(a), hidden.f(b)
            df, d = fa - fb, a - b
            excess = float(np.vdot(df, df) - np.vdot(df, d))
            size = float(np.linalg.norm(d))
            error = 2 * work(hidden.layer, float(np.linalg.norm(a) + np.linalg.norm(b)))
            allowed = 3 * size * error / hidden.mu + gap_noise(size, size) + 2e-12 * size**2
            worst.see(excess, allowed)
        return self.firm(note, excess=worst.value, noise=Measured(worst.noise))

    def _prox(self, hidden: Hidden, drawn: np.ndarray, note: str) -> Iterable[Claim]:
        deviation, shortfall = Worst(), Worst()
        first = drawn[0]
        target = hidden.envelope(first)
        for Z in drawn[:DRAWS]:
            image = hidden.f(Z)
            value = hidden.phi_conjugate(Z) + float(np.vdot(image - Z, image - Z)) / 2
            deviation.see(abs(value - hidden.envelope(Z)), hidden.noise(Z))
            away = hidden.phi_at_image(Z) + float(np.vdot(image - first, image - first)) / 2
            shortfall.see(target - away, hidden.noise(Z) + hidden.noise(first))
        size = hidden.scale(first)
        yield self.envelope(note, deviation=deviation.value, noise=tolerance(deviation.noise, size))
        yield self.proximal(note, shortfall=shortfall.value, noise=tolerance(shortfall.noise, size))

    def _equilibrium(self, p: Problem) -> Iterable[Claim]:
        solved = p.start.solved
        layer = p.start.network.layers[0]
        hidden, shape = Hidden(layer), solved.Z.shape
        q = layer.s.slopes[1] * layer.norm**2
        if not solved.found or q >= 1:
            return
        x, slope = minimised(
            lambda x: hidden.envelope(x.reshape(shape)),
            lambda x: (x.reshape(shape) - hidden.f(x.reshape(shape))).ravel(),
            p.model.Z0.ravel(),
        )
        size = float(np.linalg.norm(solved.Z))
        # The envelope is (1 - q)-strongly convex: its gradient bounds the distance.
        noise = solved.error + (slope + work(layer, size)) / (1 - q)
        distance = float(np.linalg.norm(x.reshape(shape) - solved.Z))
        yield self.minimiser(distance=Measured(distance), noise=tolerance(noise, size))
        explicit = prox_by_nnls(hidden, np.zeros(shape), 0.0)
        if explicit is not None:
            off = float(np.linalg.norm(explicit - solved.Z))
            noise = solved.error + 100 * work(layer, size) / (1 - q)
            yield self.explicit(distance=Measured(off), noise=tolerance(noise, size))
