"""Theorem 1: a layer is the proximal operator of a hidden convex function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.equilibrium import OpteqEquilibrium
from deqcheck.models.opteq.network import Layer, Network
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, chosen, given
from deqcheck.theorems.base import Check, Constant
from deqcheck.theorems.xie2021.common import (
    DRAWS,
    Pointwise,
    Worst,
    cite,
    gap_noise,
    matrix_norm,
    points,
    rest_of,
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
    minimisers of phi. Judged for every layer and its own fixed point (with mu = 1 and one layer,
    the equilibrium of the network): phi meets its Moreau envelope there, as at minimisers only, and
    is smaller nowhere that BFGS or random draws find. For relu and an invertible W, phi is written
    down in section 2.2; read with the value infinity at x = 0 it would be wrong at corners, so that
    S*(0) = 0 is the reading here.
    """

    id = "xie2021/thm1"
    title = "A layer is the proximal operator of a hidden convex function"
    cite = cite("Theorem 1")
    uses = ("xie2021/lem5",)
    constants = {"mu": Constant("scale of the layer; default: 1", for_all=True, above=0)}

    scale = Check("mu covers the slope", "mu*(1 + 1e-12) >= slope*norm_W^2", "Theorem 1")
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
    level = Check(
        "phi meets its envelope at the fixed point, as at minimisers only",
        "deviation <= noise",
        "Theorem 1",
    )
    minimiser = Check(
        f"fixed point minimises phi (BFGS, {DRAWS} draws)", "excess <= noise", "Theorem 1"
    )
    explicit = Check("fixed point minimises phi (NNLS)", "distance <= noise", "Theorem 1")

    def _mu(self) -> float:
        return float(self.fixed.get("mu", 1.0))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        mu = chosen(self._mu())
        for layer in p.start.network.layers:
            yield self.scale(mu=mu, slope=given(layer.s.slopes[1]), norm_W=matrix_norm(layer.W))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        drawn = points(p, "xie2021/thm1.points", 2 * DRAWS)
        for i, layer in enumerate(p.start.network.layers, start=1):
            hidden, note = Hidden(layer, self._mu()), f"layer {i}"
            yield from self._spectrum(hidden, drawn, note)
            yield self._firm(hidden, drawn, note)
            yield from self._prox(hidden, drawn, note)
            rest = self._rest(p, layer)
            if rest.found:
                yield from self._fixed_point(hidden, rest, drawn, note)

    def unchecked(self, p: Problem) -> Iterable[str]:
        for i, layer in enumerate(p.start.network.layers, start=1):
            rest = self._rest(p, layer)
            if not rest.found:
                yield (
                    f"no fixed point of layer {i} is certified ({rest.existence.value}), so that "
                    "nothing is known of it as a minimiser: weights below 1, or a larger mu"
                )

    def _rest(self, p: Problem, layer: Layer) -> OpteqEquilibrium:
        """With z' = sqrt(mu) z the fixed point is that of a layer with weights W/sqrt(mu)."""
        root = float(np.sqrt(self._mu()))
        theta = {"W1": layer.W / root, "U1": layer.U, "b1": layer.b}
        found = rest_of(Network(1.0, layer.s, layer.X, theta, 1), p.model.Z0)
        return replace(found, Z=found.Z / root, error=found.error / root)

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
            size = euclidean(d)
            error = 2 * work(hidden.layer, euclidean(a) + euclidean(b))
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

    def _fixed_point(
        self, hidden: Hidden, rest: OpteqEquilibrium, drawn: np.ndarray, note: str
    ) -> Iterable[Claim]:
        Z, shape = rest.Z, rest.Z.shape
        here = hidden.phi_conjugate(Z)
        # phi is convex, and its envelope has a 1-Lipschitz gradient: Z up to its error costs that.
        noise, size = hidden.noise(Z) + rest.error**2, hidden.scale(Z)
        off = abs(here - hidden.envelope(Z))
        yield self.level(note, deviation=Measured(off), noise=tolerance(noise, size))

        def envelope(x: np.ndarray) -> tuple[float, np.ndarray]:
            there = x.reshape(shape)
            return hidden.envelope(there), (there - hidden.f(there)).ravel()

        x, _ = minimised(envelope, drawn[0].ravel())
        excess = Worst()
        for other in (x.reshape(shape), *drawn[:DRAWS]):
            room = noise + hidden.noise(other) + hidden.dip(hidden.f(other) - Z)
            excess.see(here - hidden.phi_conjugate(other), room)
        yield self.minimiser(note, excess=excess.value, noise=tolerance(excess.noise, size))
        q = hidden.layer.s.slopes[1] * hidden.layer.norm**2
        explicit = prox_by_nnls(hidden, np.zeros(shape), 0.0)
        if explicit is not None and q < 1:
            off = euclidean(explicit - Z)
            loss = rest.error + 100 * work(hidden.layer, euclidean(Z)) / (1 - q)
            yield self.explicit(note, distance=Measured(off), noise=tolerance(loss, euclidean(Z)))
