"""Theorem 4: SAM converges to the fixed point that the regulariser selects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.models.opteq.convex import Quadratic
from deqcheck.models.opteq.equilibrium import Existence
from deqcheck.models.opteq.sweep import Sam, Weights
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, given, sqrt
from deqcheck.theorems.base import Check, Space
from deqcheck.theorems.xie2021.averaged import ADMITTED, GIVEN, smoothness
from deqcheck.theorems.xie2021.common import (
    INFINITY,
    UNKNOWN,
    Pointwise,
    cite,
    nonexpansive,
    overshoot,
    work,
)
from deqcheck.theorems.xie2021.resting import SOLVED, RestingSet
from deqcheck.theorems.xie2021.setting import Problem

# The distance to the limit is compared at these shares of the last iteration, each half the next.
DOUBLINGS = 5
FIXED_POINT_STEPS = 20_000


@dataclass(frozen=True)
class Selected:
    """zbar, how accurately it is known, and the extent of the set of minimisers."""

    Z: np.ndarray
    error: float
    spread: float


class Theorem4(Pointwise):
    """T nonexpansive, the fixed points of beta S_lambda + (1 - beta) T bounded uniformly for beta
    in [0, 1/2] and lambda in [0, L_z/2] (the ends of both are blotted; beta = 0, the fixed points
    of T itself, is legible), R convex and L_z-smooth with a unique minimiser zbar on Fix T, g =
    1/(2 L_z), beta_k = eta k^-rho, lambda_k = eta k^-c with rho, c > 0, rho + 2 c < 1 and eta =
    min(sqrt(2 L_z), 1/2, L_z/2): then z^k -> zbar. The proof needs no more than first weights of at
    most eta and, as Lemma 9 does, a g of at most 1/(2 L_z): no more is asked, since no double need
    be 1/(2 L_z). Judged by what a run can show: each step contracts towards its own fixed point
    zbar^k by 1 - beta_k g lambda_k; since I - T is monotone, R + lambda_k |.|^2/2 is no larger at
    zbar^k than at zbar, which an independent solver finds; and every doubling of k brings z^k
    nearer to zbar (where it does not, nothing is decided: no finite run refutes a limit).
    """

    id = "xie2021/thm4"
    title = "SAM converges to the fixed point that the regulariser selects"
    cite = cite("Theorem 4", "(10)")
    uses = ("xie2021/lem8", "xie2021/lem9", "xie2021/lem10")

    space = Space(fields={"sam": ADMITTED, "iterations": (2**DOUBLINGS,)})

    given = GIVEN
    step = Check("g at most 1/(2 L_z)", "2*gamma*L_z <= 1 + 1e-12", "Theorem 4")
    beta = Check(
        "beta_k small enough", "beta_1 <= min(sqrt(2*L_z), 0.5, L_z/2)*(1 + 1e-12)", "Theorem 4"
    )
    damping = Check(
        "lambda_k small enough", "lambda_1 <= min(sqrt(2*L_z), 0.5, L_z/2)*(1 + 1e-12)", "Theorem 4"
    )
    positive = Check("weights are positive", "min(beta_1, lambda_1) > 0", "Theorem 4")
    rho = Check("beta_k falls", "rho > 0", "Theorem 4")
    c = Check("lambda_k falls", "c > 0", "Theorem 4")
    slow = Check("slowly enough", "rho + 2*c < 1", "Theorem 4")
    bounded = Check("fixed points are uniformly bounded", "unbounded == 0", "Theorem 4")
    unique = Check("R selects one fixed point", "spread <= 1e-6", "Theorem 4")
    contraction = Check(
        "each step contracts towards its own fixed point",
        "after <= (1 - beta*gamma*lambda_k)*before",
        "Lemma 9",
    )
    selection = Check(
        "R + lambda_k |.|^2/2 at zbar^k not above that at zbar",
        "R_k + lambda_k*norm_k^2/2 <= R_bar + lambda_k*norm_bar^2/2 + noise",
        "Lemma 10",
    )
    nearer = Check(
        "every doubling of k brings zbar nearer", "distance_2k < distance_k", "Theorem 4"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        fields, sam = p.model.fields.sam, p.start.sam
        yield self.given(sam=sam is not None)
        yield nonexpansive(p)
        if sam is None or fields is None:
            return
        L_z = smoothness(sam)
        beta, lambda_ = given(fields.beta), given(fields.lambda_)
        rho, c = given(fields.rho), given(fields.c)
        yield self.step(gamma=given(sam.gamma), L_z=L_z)
        yield self.beta(beta_1=beta, L_z=L_z)
        yield self.damping(lambda_1=lambda_, L_z=L_z)
        yield self.positive(beta_1=beta, lambda_1=lambda_)
        yield self.rho(rho=rho)
        yield self.c(c=c)
        yield self.slow(rho=rho, c=c)
        yield self._bounded(p, sam)
        zbar = selected(p, sam)
        yield self.unique(spread=UNKNOWN if zbar is None else zbar.spread)

    def _bounded(self, p: Problem, sam: Sam) -> Claim:
        bound = state_bound(p, sam)
        if np.isfinite(bound.value):
            return self.bounded(f"by {bound.value:.4g}", unbounded=0)
        resting = RestingSet.of(p)
        # Bounds are sufficient conditions: without one, only an unbounded Fix T decides.
        known = resting is not None and resting.recedes
        return self.bounded(unbounded=1 if known else UNKNOWN)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.model.iterations < 2**DOUBLINGS:
            yield (
                f"the limit is judged over {DOUBLINGS} doublings of k, and there are only "
                f"{p.model.iterations} iterations: at least {2**DOUBLINGS}"
            )

    def claims(self, p: Problem, state: object) -> Iterable[Claim | Curve]:
        sam = p.start.sam
        if sam is None or p.model.iterations < 2**DOUBLINGS:
            return
        k = p.model.iterations // 2 ** np.arange(DOUBLINGS, -1, -1)
        states = self._states(p)
        rests = [tracked(p, sam, sam.weights[i - 1], states[i]) for i in k.tolist()]
        yield self._contraction(p, sam, k, rests)
        zbar = selected(p, sam)
        if zbar is not None:
            yield self._selection(p, sam, zbar, k, rests)
            yield from self._nearer(p, zbar, k)

    def _states(self, p: Problem) -> list[np.ndarray]:
        return [*(step.Z for step in p.start.steps), p.start.Z]

    def _nearer(self, p: Problem, zbar: Selected, k: np.ndarray) -> Iterable[Claim]:
        states = self._states(p)
        off = [euclidean(states[i] - zbar.Z) for i in k]
        radius = zbar.error + p.start.Z_radius
        for i, before, after in zip(k[:-1], off[:-1], off[1:], strict=True):
            yield self.nearer(
                f"k = {i}",
                distance_2k=Measured(after, np.inf if after >= before else radius),
                distance_k=Measured(before, radius),
            )

    def _selection(
        self,
        p: Problem,
        sam: Sam,
        zbar: Selected,
        k: np.ndarray,
        rests: list[tuple[np.ndarray, float]],
    ) -> Curve:
        lambdas = np.array([sam.weights[i - 1].lambda_ for i in k])
        values = np.array([sam.R.value(rest) for rest, _ in rests])
        norms = np.array([euclidean(rest) for rest, _ in rests])
        top = euclidean(zbar.Z)
        pulls = [float(np.linalg.norm(sam.R.gradient(Z))) for Z, _ in (*rests, (zbar.Z, 0.0))]
        slope = max(pulls) + float(lambdas.max()) * (top + float(norms.max())) + sam.R.smoothness
        noise = np.array([slope * (error + zbar.error) for _, error in rests])
        noise += sam.noise(1 + top, zbar.Z.shape[1]) * (1 + slope)
        # <(I - T) a - (I - T) b, a - b> >= -overshoot |a - b|^2, over beta_k g.
        betas = np.array([sam.weights[i - 1].beta for i in k.tolist()])
        noise += (
            overshoot(p.start.network) * (norms + top) ** 2 / np.maximum(betas * sam.gamma, EPS)
        )
        return self.selection.sampled(
            k,
            k.astype(float),
            R_k=Measured(values),
            lambda_k=Measured(lambdas),
            norm_k=Measured(norms),
            R_bar=sam.R.value(zbar.Z),
            norm_bar=top,
            noise=Measured(noise, np.where(np.isfinite(noise), 0.0, np.inf)),
        )

    def _contraction(
        self, p: Problem, sam: Sam, k: np.ndarray, rests: list[tuple[np.ndarray, float]]
    ) -> Curve:
        states = self._states(p)
        pairs = list(zip(k.tolist(), rests, strict=True))
        before = [euclidean(states[i - 1] - rest) for i, (rest, _) in pairs]
        after = [euclidean(states[i] - rest) for i, (rest, _) in pairs]
        radius = np.array([2 * error for _, error in rests])
        radius += overshoot(p.start.network) * np.array(before)
        return self.contraction.sampled(
            k,
            k.astype(float),
            after=Measured(np.array(after), radius),
            beta=Measured(np.array([sam.weights[i - 1].beta for i in k])),
            gamma=sam.gamma,
            lambda_k=Measured(np.array([sam.weights[i - 1].lambda_ for i in k])),
            before=Measured(np.array(before), radius),
        )


def state_bound(p: Problem, sam: Sam) -> Measured:
    """On the fixed points of z = beta S(z) + (1 - beta) T(z), beta <= 1/2; infinite if not known.

    |f_l(z)| <= a B + (1 - a) |z| with B = ||W_l|| sqrt(n_l N) sup|s|, so |z| <= |S(0)|/(1 - r) + B
    with r = (1 - a)^L; for a contraction with factor q, |z| <= (|S(0)| + |T(0)|)/(1 - q). Where T
    has one fixed point z* and R is c-strongly convex, |z - z*| <= |S(z) - z*| for beta > 0, so that
    |z - z*| <= |z* - S(z*)|/(g c) <= (|grad R(z*)| + L_z |z*|/2)/c.
    """
    network, N = p.start.network, p.model.N
    pull = errors.frobenius(sam.gamma * sam.R.gradient(np.zeros_like(p.model.Z0)))
    if network.lipschitz < 1:
        moved = errors.frobenius(network.T(np.zeros_like(p.model.Z0)))
        return (pull + moved) / (1 - Measured(network.lipschitz))
    if not np.isfinite(network.s.bound):
        return _around(p, sam)
    width = max(layer.norm * np.sqrt(len(layer.W)) for layer in network.layers)
    kept = (1 - p.model.alpha) ** p.model.depth
    return pull / (1 - Measured(kept)) + float(width * network.s.bound) * sqrt(float(N))


def _around(p: Problem, sam: Sam) -> Measured:
    solved, curvature = p.start.solved, sam.R.strong_convexity
    if solved.existence is not Existence.UNIQUE or curvature.low <= 0:
        return INFINITY
    size = errors.frobenius(solved.Z, solved.error)
    slope = errors.frobenius(sam.R.gradient(solved.Z), sam.R.smoothness * solved.error)
    return size + (slope + sam.R.smoothness / 2 * size) / curvature


def selected(p: Problem, sam: Sam) -> Selected | None:
    """zbar where the fixed points are known: one is selected; else see RestingSet."""
    solved = p.start.solved
    if p.start.network.lipschitz < 1 or solved.existence is Existence.UNIQUE:
        return Selected(solved.Z, solved.error, 0.0)
    resting = RestingSet.of(p)
    if resting is None:
        return None
    R = sam.R
    if not isinstance(R, Quadratic) and not R.strict:
        return None
    z = resting.minimiser(R)
    Z = np.repeat(z[:, None], p.model.N, axis=1)
    size = max(1.0, euclidean(Z))
    # Least squares end at a fixed point; of a general solver it is looked at.
    if (
        not isinstance(R, Quadratic)
        and not np.linalg.norm(p.start.network.T(Z) - Z) <= SOLVED * size
    ):
        return None
    # A strictly convex R has one minimiser on a closed convex set.
    alone = R.strict or R.strong_convexity.low > 0
    spread = 0.0 if alone or not isinstance(R, Quadratic) else resting.spread(R, z)
    return Selected(Z, SOLVED * size, spread)


def tracked(p: Problem, sam: Sam, w: Weights, Z: np.ndarray) -> tuple[np.ndarray, float]:
    """The fixed point of z = beta S(z) + (1 - beta) T(z) by iteration, with its error.

    The map contracts by q = 1 - beta g lambda, up to what T may overshoot.
    """
    T = p.start.network.T
    gap = w.beta * sam.gamma * w.lambda_ - overshoot(p.start.network)
    rest = np.inf
    noise = _noise(p, sam, Z)
    with np.errstate(all="ignore"):
        for _ in range(FIXED_POINT_STEPS):
            moved = w.beta * sam.S(Z, w) + (1 - w.beta) * T(Z)
            rest = euclidean(moved - Z)
            Z = moved
            if rest <= noise or not np.isfinite(rest):
                break
    return Z, (rest + noise) / gap if gap > 0 else np.inf


def _noise(p: Problem, sam: Sam, Z: np.ndarray) -> float:
    size = euclidean(Z)
    return sam.noise(size, Z.shape[1]) + sum(work(layer, size) for layer in p.start.network.layers)
