"""Lemma 7 and (15): from the contractions T_alpha to their limit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.equilibrium import OpteqEquilibrium
from deqcheck.models.opteq.network import Network
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given, maximum, stack
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import (
    Pointwise,
    cite,
    matrix_norm,
    nonexpansive,
    points,
    tolerance,
    work,
)
from deqcheck.theorems.xie2021.hidden import Hidden
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm3 import ONE_CONTRACTS, Wide, at_alpha, smallest_norm

# The sequence alpha_n = 4^-n, n = 1..TERMS.
TERMS = 6
# States at which the two sides of (15) are compared, and the depth up to which the printed one, a
# sum over all sets of layers, is formed.
STATES, DEEPEST = 8, 8


def slopes(network: Network) -> list[Measured]:
    """w_l = ||W_l||^2 sup s', at least the Lipschitz constants of prox_{phi_l}."""
    return [matrix_norm(layer.W) ** 2 * given(layer.s.slopes[1]) for layer in network.layers]


def contraction(network: Network, alpha: float) -> Measured:
    """k = 1 - (1 - q)/(L alpha), q = prod_l (alpha w_l + 1 - alpha): the sum over sets of layers in
    the proof is (q - (1 - alpha)^L)/(L alpha). At alpha = 0 it is the mean of the w_l."""
    # 1 - q by telescoping: the difference of two numbers near 1 would have no digits left.
    lost, q, share = given(0), given(1), given(alpha)
    for each in slopes(network):
        lost = lost + q * (1 - each)
        q = q * (share * each + (1 - share))
    return 1 - lost / len(network.layers)


def averaged_map(network: Network, alpha: float, Z: np.ndarray) -> np.ndarray:
    """T_alpha(z) = z + (f_L o ... o f_1 (z) - z)/(L alpha) = z + sum_l (prox_l - I)(z^(l-1))/L."""
    total, here = np.zeros_like(Z), Z
    for layer in network.layers:
        pull = Hidden(layer).f(here) - here
        total += pull
        here = here + alpha * pull
    out: np.ndarray = Z + total / len(network.layers)
    return out


class Lemma7(Pointwise):
    """If T_n are k-contractions for one k < 1 and tend to T_0 at every point, their fixed points
    tend to that of T_0: |x_n - x_0| <= |T_n x_0 - x_0|/(1 - k). Judged on the sequence that the
    paper applies it to (Theorem 3): T_alpha = I + (f_L o ... o f_1 - I)/(L alpha) for alpha = 4^-n,
    which contracts by 1 - (1 - q)/(L alpha), q = prod (alpha ||W_l||^2 + 1 - alpha), and T_0 =
    sum_l prox_l/L. With D_l = D_{l-1} + alpha (|g_l(x_0)| + D_{l-1}), g_l = prox_l - I, |T_alpha
    x_0 - x_0| is at most sum_l D_{l-1}/L, which tends to 0 with alpha.
    """

    id = "xie2021/lem7"
    title = "Fixed points of contractions tend to that of their limit"
    cite = cite("Lemma 7")

    strict = ONE_CONTRACTS
    contracts = Check("all maps contract by one k", "k < 1", "Lemma 7")
    pointwise = Check("T_n tends to T_0 at x_0", "moved <= spread + noise", "Lemma 7")
    near = Check("the fixed points are near", "distance <= moved/(1 - k) + noise", "Lemma 7")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        yield self.strict(smallest_norm_W=smallest_norm(p))
        yield self.contracts(k=self._k(p))

    def _k(self, p: Problem) -> Measured:
        network = p.start.network
        factors = [contraction(network, alpha) for alpha in (0.0, *_alphas())]
        return maximum(*factors)

    def unchecked(self, p: Problem) -> Iterable[str]:
        star = Wide(p.start.network, p.model.Z0).solved
        if not star.found:
            yield f"no fixed point of T_0 is certified ({star.existence.value}): smaller weights"

    def claims(self, p: Problem, state: object) -> Iterable[Claim | Curve]:
        wide, network = Wide(p.start.network, p.model.Z0), p.start.network
        if not wide.solved.found or not self._k(p).high < 1:
            return
        star, alphas = wide.solved, _alphas()
        n = np.arange(1, TERMS + 1)
        moved, spread, distance, loose = [], [], [], []
        rounded = sum(2 * work(layer, euclidean(star.Z)) for layer in network.layers)
        for alpha in alphas:
            _, z = at_alpha(p, wide, alpha)
            # T_alpha is nonexpansive: x_0 up to its error moves T_alpha x_0 - x_0 by at most twice.
            off = float(np.linalg.norm(averaged_map(network, alpha, star.Z) - star.Z))
            moved.append(Measured(off, 2 * star.error + rounded))
            spread.append(self._spread(wide, star, alpha))
            distance.append(euclidean(z.Z - star.Z))
            loose.append(z.error + star.error)
        size = euclidean(star.Z)
        k = self._k(p)
        yield self.pointwise.sampled(
            n,
            np.array(alphas),
            moved=np.array([each.value for each in moved]),
            spread=stack(spread),
            noise=tolerance(moved[0].error + rounded, size),
        )
        noise = max(loose) + moved[0].error / max(1 - float(k.high), 1e-300)
        yield self.near.sampled(
            n,
            np.array(alphas),
            distance=np.array(distance),
            moved=np.array([each.value for each in moved]),
            k=k,
            noise=tolerance(noise, size),
        )

    def _spread(self, wide: Wide, star: OpteqEquilibrium, alpha: float) -> Measured:
        """sum_l D_{l-1}/L: g_l is 1-Lipschitz."""
        drift, total = Measured(0.0), Measured(0.0)
        for i in range(len(wide.network.layers)):
            total = total + drift
            drift = drift + alpha * (float(np.linalg.norm(wide.g(i, star.Z))) + drift)
        return total / len(wide.network.layers)


def _alphas() -> list[float]:
    return [4.0**-n for n in range(1, TERMS + 1)]


class Equation15(Pointwise):
    """The equilibrium is a fixed point of T_alpha = I + (f_L o ... o f_1 - I)/(L alpha), written
    out for alpha < 1. Printed: as a sum over all sets of layers of alpha^(p-1) (1-alpha)^(L-p)/L
    times the composition of their p proximal operators, as if these were linear. Corrected: c_0 z +
    sum_l (1-alpha)^(L-l) prox_l(z^(l-1))/L with c_0 = 1 - (1 - (1-alpha)^L)/(L alpha), where
    z^(l-1) is what layer l sees. The bound on the Lipschitz constant that the proof reads off the
    sum is right all the same: both have 1 - (1 - prod (alpha w_l + 1 - alpha))/(L alpha).
    """

    id = "xie2021/eq15"
    title = "The averaged map of Theorem 3's proof"
    cite = cite("Theorem 3, proof", "(15)")
    uses = ("xie2021/thm1",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "(15) takes prox_2(alpha u + (1-alpha) z) for alpha prox_2(u) + (1-alpha) prox_2(z). For "
        "prox_1(z) = relu(z + 3), prox_2 = relu, alpha = 1/2 and z = -1 the composition is 1/2, "
        "and the sum gives 3/4. The limit and the contraction factor are not affected."
    )

    proper = Check("alpha below 1", "alpha < 1", "(15)")
    expanded = Check(f"both sides agree at {STATES} drawn states", "deviation <= noise", "(15)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield nonexpansive(p)
        yield self.proper(alpha=given(p.model.alpha))

    def unchecked(self, p: Problem) -> Iterable[str]:
        if self.printed and p.model.depth > DEEPEST:
            yield f"the sum over all sets of {p.model.depth} layers: at most {DEEPEST} layers"

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if p.model.alpha == 1 or list(self.unchecked(p)):
            return
        network, alpha = p.start.network, p.model.alpha
        worst = size = noise = 0.0
        for Z in points(p, "xie2021/eq15.points", STATES):
            # By the composition itself: what is compared with is written out term by term.
            left = Z + (network.T(Z) - Z) / (len(network.layers) * alpha)
            right = self._expanded(network, alpha, Z)
            worst = max(worst, euclidean(left - right))
            here = euclidean(Z)
            size = max(size, here)
            rounded = sum(2 * work(layer, here) for layer in network.layers)
            noise = max(noise, rounded * (1 + 2 / alpha))
        yield self.expanded(deviation=Measured(worst), noise=tolerance(noise, size))

    def _expanded(self, network: Network, alpha: float, Z: np.ndarray) -> np.ndarray:
        L = len(network.layers)
        out = (1 - (1 - (1 - alpha) ** L) / (L * alpha)) * Z
        if not self.printed:
            for i, (layer, seen) in enumerate(
                zip(network.layers, network.blocks(Z)[:-1], strict=True), start=1
            ):
                out = out + (1 - alpha) ** (L - i) / L * Hidden(layer).f(seen)
            return out
        for p in range(1, L + 1):
            share = alpha ** (p - 1) * (1 - alpha) ** (L - p) / L
            for chosen in combinations(network.layers, p):
                image = Z
                for layer in chosen:
                    image = Hidden(layer).f(image)
                out = out + share * image
        return out
