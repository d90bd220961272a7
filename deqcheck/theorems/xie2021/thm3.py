"""Theorem 3: deep networks with small alpha become wide ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.equilibrium import FixedPoint, OpteqEquilibrium
from deqcheck.models.opteq.network import Network
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given, measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.common import (
    Pointwise,
    cite,
    matrix_norm,
    nonexpansive,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden, minimised
from deqcheck.theorems.xie2021.setting import Problem

ALPHAS = (0.1, 0.01, 0.001)
# Small enough for the first order to show, large enough for (z_0 - y*)/alpha to keep its digits.
COARSE, FINE = 2.0**-8, 2.0**-10
ONE_CONTRACTS = Check("one layer contracts", "smallest_norm_W < 1", "Theorem 3")


@dataclass(frozen=True)
class Wide:
    """y* with L y* = sum_l f_l(y*): a network of one layer with weights W_l/sqrt(L) stacked."""

    network: Network
    start: np.ndarray

    @cached_property
    def _hidden(self) -> list[Hidden]:
        return [Hidden(layer) for layer in self.network.layers]

    @cached_property
    def solved(self) -> OpteqEquilibrium:
        layers, root = self.network.layers, np.sqrt(len(self.network.layers))
        # With y' = sqrt(L) y the stacked layer maps y' to sum_l W_l^T s(W_l y + c_l)/sqrt(L).
        theta = {
            "W1": np.vstack([layer.W for layer in layers]) / root,
            "U1": np.vstack([layer.U for layer in layers]),
            "b1": np.concatenate([layer.b for layer in layers]),
        }
        wide = Network(1.0, self.network.s, self.network.X, theta, 1)
        found = FixedPoint(wide).solve(root * self.start)
        return OpteqEquilibrium(
            found.Z / root, found.residual / root, found.noise, found.error / root, found.existence
        )

    def g(self, i: int, Y: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._hidden[i].f(Y) - Y
        return found

    def slopes(self, i: int, Y: np.ndarray) -> np.ndarray:
        layer = self.network.layers[i]
        return layer.slopes_between(layer.W @ Y + layer.drive) - np.eye(len(Y))

    def first_order(self) -> np.ndarray:
        """v = -(DG)^-1 sum_{i > j} Dg_i(y*) g_j(y*), G = sum_l g_l."""
        Y, L = self.solved.Z, len(self.network.layers)
        right, partial = np.zeros_like(Y), np.zeros_like(Y)
        total = np.zeros((Y.shape[1], len(Y), len(Y)))
        for i in range(L):
            slopes = self.slopes(i, Y)
            right += np.einsum("jik,kj->ij", slopes, partial)
            partial += self.g(i, Y)
            total += slopes
        return -np.linalg.solve(total, right.T[:, :, None])[:, :, 0].T

    def value(self, Y: np.ndarray) -> float:
        return sum(hidden.envelope(Y) for hidden in self._hidden)

    def noise(self, Y: np.ndarray) -> float:
        return sum(hidden.noise(Y) for hidden in self._hidden)

    def scale(self, Y: np.ndarray) -> float:
        return sum(hidden.scale(Y) for hidden in self._hidden)

    def slope(self, Y: np.ndarray) -> np.ndarray:
        found: np.ndarray = -np.sum([self.g(i, Y) for i in range(len(self._hidden))], axis=0)
        return found


class Theorem3(Pointwise):
    """If every ||W_l|| <= 1 and one is smaller, the blocks of the equilibrium tend, as alpha -> 0,
    to the y* with L y* = sum_l W_l^T s(W_l y* + c_l), which minimises the sum of the envelopes.
    The limit is judged by a bound that tends to 0 with alpha: g_l = W_l^T s(W_l . + c_l) - id is
    1-Lipschitz, so with D_l = D_{l-1} + alpha (|g_l(y*)| + D_{l-1}) block l lies within e + D_l of
    y*, e = |z_0 - y*| <= alpha sum_l D_{l-1}/(1 - q), q the contraction factor. Where every norm is
    nearly 1 that is of no use, and this is: -sum_l g_l is strongly monotone with modulus
    mu = L - ||(W_1; ...; W_L)||^2 (for slopes of s up to 1), sum_l g_l(z_{l-1}) = 0, and block l
    lies within D_l + ((1 + alpha)^l - 1) e of z_0; hence mu e <= |sum_l g_l(z_0)| <=
    sum_l (D_{l-1} + ((1 + alpha)^(l-1) - 1) e). Nothing is judged at an alpha at which neither
    bounds e. A remark, not of the paper: z_0 = y* + alpha v + O(alpha^2); at a given alpha the
    higher orders may still be larger.
    """

    id = "xie2021/thm3"
    title = "Deep networks with small alpha tend to a wide one"
    cite = cite("Theorem 3")
    uses = ("xie2021/thm1", "xie2021/eq15", "xie2021/lem7")

    strict = ONE_CONTRACTS
    objective = Check("y* minimises the sum of envelopes (BFGS)", "excess <= noise", "Theorem 3")
    limit = Check("the blocks are near y*", "distance <= gain*spread + drift + noise", "Theorem 3")
    slope = Check(
        "(z_0 - y*)/alpha tends to v: a quarter of alpha, less than half the error",
        "fine_error <= 0.5*coarse_error",
        "first order",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        yield self.strict(smallest_norm_W=smallest_norm(p))

    def unchecked(self, p: Problem) -> Iterable[str]:
        star = Wide(p.start.network, p.model.Z0).solved
        if not star.found:
            yield f"the limit y* is not certified ({star.existence.value}): smaller weights"
        elif not any(np.isfinite(gain(p, alpha).high) for alpha in ALPHAS):
            yield "no layer contracts by enough to tell how far the limit is: smaller weights"

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        wide = Wide(p.start.network, p.model.Z0)
        if not wide.solved.found:
            return
        yield self._objective(wide)
        for alpha in ALPHAS:
            if np.isfinite(gain(p, alpha).high):
                yield self._limit(p, wide, alpha)

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        wide = Wide(p.start.network, p.model.Z0)
        if wide.solved.found and p.start.network.s.smooth:
            coarse, fine = (self._slope_error(p, wide, alpha) for alpha in (COARSE, FINE))
            yield self.slope(f"alpha = {COARSE:g}, {FINE:g}", fine_error=fine, coarse_error=coarse)

    def _objective(self, wide: Wide) -> Claim:
        star, shape = wide.solved, wide.solved.Z.shape
        x, _ = minimised(
            lambda x: (wide.value(x.reshape(shape)), wide.slope(x.reshape(shape)).ravel()),
            np.zeros(star.Z.size),
        )
        other = x.reshape(shape)
        # The sum is convex with an L-Lipschitz gradient: y* up to its error costs L error^2/2.
        missed = len(wide.network.layers) * star.error**2 / 2
        noise = missed + wide.noise(star.Z) + wide.noise(other)
        excess = wide.value(star.Z) - wide.value(other)
        return self.objective(excess=Measured(excess), noise=tolerance(noise, wide.scale(other)))

    def _limit(self, p: Problem, wide: Wide, alpha: float) -> Claim:
        deep, z = at_alpha(p, wide, alpha)
        star = wide.solved
        distance = max(euclidean(b - star.Z) for b in deep.blocks(z.Z)[:-1])
        factor = gain(p, alpha)
        drift, spread = Measured(0.0), Measured(0.0)
        for i, layer in enumerate(deep.layers):
            spread = spread + drift
            size = euclidean(star.Z)
            pull = Measured(
                float(np.linalg.norm(wide.g(i, star.Z))), work(layer, size) + 2 * star.error
            )
            drift = drift + alpha * (pull + drift)
        loose = z.error + star.error + deep.visit(z.Z, 0.0)[2]
        loose += drift.error + (factor * spread).error
        return self.limit(
            f"alpha = {alpha:g}",
            distance=Measured(distance),
            gain=factor.value,
            spread=spread.value,
            drift=drift.value,
            noise=tolerance(loose, euclidean(star.Z)),
        )

    def _slope_error(self, p: Problem, wide: Wide, alpha: float) -> Measured:
        """|(z_0 - y*)/alpha - v|."""
        _, z = at_alpha(p, wide, alpha)
        off = (z.Z - wide.solved.Z) / alpha - wide.first_order()
        radius = (z.error + wide.solved.error) / measured(alpha)
        return Measured(euclidean(off), radius.high)


def smallest_norm(p: Problem) -> Measured:
    """min_l ||W_l||."""
    norms = [matrix_norm(layer.W) for layer in p.start.network.layers]
    return min(norms, key=lambda norm: norm.low)


def gain(p: Problem, alpha: float) -> Measured:
    """What bounds |z_0 - y*|/sum_l D_{l-1}; infinite where nothing does. Of one layer, whose sum is
    empty, y* is z_0."""
    layers, s = p.start.network.layers, p.model.s
    if len(layers) == 1:
        return given(0)
    deep = Network(alpha, s, p.start.network.X, p.theta0, p.model.depth)
    room = 1 - measured(min(deep.lipschitz, 1.0))
    norm = matrix_norm(np.vstack([layer.W for layer in layers]))
    turned = sum((1 + given(alpha)) ** i - 1 for i in range(len(layers)))
    modulus = len(layers) - given(s.slopes[1]) * norm**2 - turned
    found = [alpha / room] if room.low > 0 else []
    found += [1 / modulus] if modulus.low > 0 else []
    return min(found, key=lambda each: float(each.high), default=Measured(np.inf))


def at_alpha(p: Problem, wide: Wide, alpha: float) -> tuple[Network, OpteqEquilibrium]:
    deep = Network(alpha, p.model.s, p.start.network.X, p.theta0, p.model.depth)
    return deep, FixedPoint(deep).solve(wide.solved.Z)
